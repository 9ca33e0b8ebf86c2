/* SPDX-License-Identifier: MIT
 * cluster_parts.h - inside the room: what writes the keys of the report. */
#ifndef AP_CLUSTER_PARTS_H
#define AP_CLUSTER_PARTS_H

#include "cluster.h"

/** What each file of the run is used for: "files". */
void ap_cluster_add_files(const struct ap_run_files *files, struct ap_model *model, struct ap_value *to);

#endif
