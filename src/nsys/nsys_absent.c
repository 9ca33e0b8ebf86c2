/* SPDX-License-Identifier: MIT
 * nsys_absent.c - in place of the reader where SQLite was not there when the program was built. */
#include <string.h>

#include "nsys.h"

#include "poison.h"

bool ap_nsys_begins(const uint8_t *head, size_t bytes)
{
    static const char magic[16] = "SQLite format 3";
    return bytes >= sizeof(magic) && memcmp(head, magic, sizeof(magic)) == 0;
}

enum ap_status ap_nsys_open(struct ap_gate *gate, const struct ap_nsys_pages *pages, struct ap_nsys **ret_nsys,
                            struct ap_error *reterr)
{
    (void)gate;
    (void)pages;
    (void)ret_nsys;
    return ap_fail(reterr, AP_ERROR_INPUT,
                   "this is an SQLite database, perhaps an export of Nsight Systems, and this program was built without "
                   "SQLite: build it again where libsqlite3 is installed (Debian: libsqlite3-dev), with -Dnsys=enabled");
}

void ap_nsys_free(struct ap_nsys *nsys)
{
    (void)nsys;
}

enum ap_status ap_nsys_read(struct ap_nsys *nsys, uint8_t *to, size_t cap_bytes, size_t *ret_bytes, struct ap_error *reterr)
{
    (void)nsys;
    (void)to;
    (void)cap_bytes;
    (void)ret_bytes;
    (void)reterr;
    return AP_END;
}

void ap_nsys_note(const struct ap_nsys *nsys, struct ap_notes *notes)
{
    (void)nsys;
    (void)notes;
}
