/* SPDX-License-Identifier: MIT
 * mangled_name.h - names of functions as C++ compilers write them for linkers (Itanium ABI): _ZN2at6native4reluIfEEvPT_. */
#ifndef AP_MANGLED_NAME_H
#define AP_MANGLED_NAME_H

#include "base.h"

typedef bool ap_is_known_fn(void *self, struct ap_text name);

/** Is @text a mangled name of which @is_known knows every name within, each as a whole, and whose rest tells types,
 *  templates and small numbers only? What is spelled in any other way is none. */
bool ap_mangled_name_is_known(struct ap_text text, ap_is_known_fn *is_known, void *is_known_self);

#endif
