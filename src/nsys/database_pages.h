/* SPDX-License-Identifier: MIT
 * database_pages.h - lets SQLite read from the caller's pages: no file is opened, locked, made or changed. */
#ifndef AP_DATABASE_PAGES_H
#define AP_DATABASE_PAGES_H

#include "guarded_database.h"

/** Makes @database->vfs known to SQLite under @database->vfs_name. */
AP_MUST_CHECK bool ap_database_pages_register(struct ap_guarded_database *database);
void ap_database_pages_unregister(struct ap_guarded_database *database);

#endif
