/* SPDX-License-Identifier: MIT
 * xla_names.c - names of XLA's profiler in the words of PyTorch's, by which all parts know them. Calls of the driver are
 * named by what they launch ("loop_add_fusion", "MemcpyD2H"), frames "$train.py:12 main", copies "MemcpyD2H" with what they
 * read and write beside it. */
#include <stdio.h>
#include <string.h>

#include "trace_internal.h"

#include "poison.h"

#define NAME_BYTES 1024 /* longer ones stay as they are */

static const struct {
    const char *xla, *torch;
} memories[] = { { "pageable", "Pageable" }, { "pinned", "Pinned" },   { "device", "Device" },
                 { "array", "Array" },       { "managed", "Managed" }, { "unified", "Managed" } };

static const struct {
    const char *xla, *copy, *call;
} copies[] = {
    { "MemcpyH2D", "Memcpy HtoD", "MemcpyHtoDAsync" }, { "MemcpyD2H", "Memcpy DtoH", "MemcpyDtoHAsync" },
    { "MemcpyD2D", "Memcpy DtoD", "MemcpyDtoDAsync" }, { "MemcpyP2P", "Memcpy PtoP", "MemcpyPeerAsync" },
    { "MemcpyH2H", "Memcpy HtoH", "MemcpyAsync" },
};

unsigned ap_xla_memory(struct ap_text word)
{
    for (size_t i = 0; i < AP_COUNT_OF(memories); i++)
        if (ap_text_is(word, memories[i].xla))
            return (unsigned)i + 1;
    return 0;
}

bool ap_xla_is_call(struct ap_text name)
{
    static const char *const prefixes[] = { "cu", "cuda", "hip" };
    for (size_t i = 0; i < AP_COUNT_OF(prefixes); i++) {
        size_t bytes = strlen(prefixes[i]);
        if (ap_text_starts_with(name, prefixes[i]) && name.bytes > bytes && name.data[bytes] >= 'A' &&
            name.data[bytes] <= 'Z')
            return true;
    }
    return false;
}

static const char *memory_word(ap_link_key marks, unsigned place)
{
    ap_link_key number = marks >> place * AP_MARK_BITS & ((1u << AP_MARK_BITS) - 1);
    return number && number <= AP_COUNT_OF(memories) ? memories[number - 1].torch : NULL;
}

/* "Memcpy DtoH (Device -> Pinned)", or without the memories where one is not told. */
static int name_copy(char text[static NAME_BYTES], struct ap_text name, ap_link_key marks)
{
    const char *from = memory_word(marks, 1), *to = memory_word(marks, 2);
    for (size_t i = 0; i < AP_COUNT_OF(copies); i++) {
        if (!ap_text_is(name, copies[i].xla))
            continue;
        return from && to ? snprintf(text, NAME_BYTES, "%s (%s -> %s)", copies[i].copy, from, to)
                          : snprintf(text, NAME_BYTES, "%s", copies[i].copy);
    }
    return 0;
}

/* "cuGraphLaunch (CudaGraph:4)" has a name of its own; what has none is named by the work that it is for. */
static int name_call(char text[static NAME_BYTES], struct ap_text name, bool hip)
{
    const char *prefix = hip ? "hip" : "cu";
    const char *space = name.bytes ? memchr(name.data, ' ', name.bytes) : NULL;
    if (ap_xla_is_call(name))
        return space && space - name.data < NAME_BYTES
                   ? snprintf(text, NAME_BYTES, "%.*s", (int)(space - name.data), name.data)
                   : 0;
    for (size_t i = 0; i < AP_COUNT_OF(copies); i++)
        if (ap_text_is(name, copies[i].xla))
            return snprintf(text, NAME_BYTES, "%s%s", prefix, copies[i].call);
    if (ap_text_starts_with(name, "Memcpy"))
        return snprintf(text, NAME_BYTES, "%sMemcpyAsync", prefix);
    if (ap_text_starts_with(name, "Memset"))
        return snprintf(text, NAME_BYTES, "%sMemsetAsync", prefix);
    return snprintf(text, NAME_BYTES, "%sLaunchKernel", prefix);
}

/* "$train.py:12 main"; functions that are not written in Python have no file: "$numpy asarray", "$<unknown> argmax". */
static int name_frame(char text[static NAME_BYTES], struct ap_text name)
{
    struct ap_text rest = { name.data + 1, name.bytes - 1 }, place, file;
    if (name.bytes < 2 || name.bytes >= NAME_BYTES - 4 || !ap_text_next_part(&rest, ' ', &place))
        return 0;
    size_t digits = 0;
    while (digits < place.bytes && ap_is_digit(place.data[place.bytes - 1 - digits]))
        digits++;
    file = (struct ap_text){ place.data, place.bytes - digits };
    if (!rest.bytes)
        return 0;
    if (!digits || file.bytes < 2 || file.data[file.bytes - 1] != ':')
        return snprintf(text, NAME_BYTES, "<built-in function %.*s>", (int)rest.bytes, rest.data);
    return snprintf(text, NAME_BYTES, "%.*s(%.*s): %.*s", (int)file.bytes - 1, file.data, (int)digits,
                    place.data + file.bytes, (int)rest.bytes, rest.data);
}

enum ap_status ap_xla_name(struct ap_trace *trace, const struct ap_xla_naming *row, struct ap_str *name,
                           struct ap_error *reterr)
{
    char text[NAME_BYTES];
    struct ap_text old = ap_strpool_text(&trace->strings, *name);
    int bytes = row->kind == AP_KIND_memcpy    ? name_copy(text, old, row->marks)
                : row->kind == AP_KIND_runtime ? name_call(text, old, row->hip)
                : row->kind == AP_KIND_python  ? name_frame(text, old)
                                               : 0;
    if (bytes <= 0 || bytes >= NAME_BYTES)
        return AP_OK;
    return ap_strpool_intern(&trace->strings, text, (size_t)bytes, name, reterr);
}
