/* SPDX-License-Identifier: MIT */
#include "near_option.h"

#include <stdio.h>
#include <string.h>

#include "near_name.h"

#define MOST_NAMES 128
#define NAME_BYTES 40

void ap_cli_tell_near_option(const char *argument, char *to, size_t bytes)
{
    static char names[MOST_NAMES][NAME_BYTES];
    struct ap_near_names near = { .count = 0 };
    struct ap_text wanted = { argument, strcspn(argument, "=") };
    char told[160];
    for (size_t i = 0; i < MOST_NAMES && ap_cli_option_name(i); i++) {
        (void)snprintf(names[i], NAME_BYTES, "--%s", ap_cli_option_name(i));
        ap_near_names_offer(&near, wanted, ap_text_of(names[i]));
    }
    ap_near_names_write(&near, told, sizeof(told));
    (void)snprintf(to, bytes, "there is no option '%.120s'%s", argument, told);
}
