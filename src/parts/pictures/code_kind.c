/* SPDX-License-Identifier: MIT */
#include "code_kind.h"

#include <string.h>

#include "poison.h"

static const char *const entries[] = {
#define AP_CODE_KIND(id, patterns) patterns,
#include "code_kind.def"
};
static const enum ap_code_kind entry_kinds[] = {
#define AP_CODE_KIND(id, patterns) AP_CODE_##id,
#include "code_kind.def"
};
#define ENTRY_COUNT AP_COUNT_OF(entries)

enum ap_status ap_code_kinds_init(struct ap_code_kinds *codes, const struct ap_trace *trace, struct ap_gate *gate,
                                  struct ap_error *reterr)
{
    *codes =
        (struct ap_code_kinds){ .gate = gate, .trace = trace, .frames = { .gate = gate }, .patterns = { .gate = gate } };
    size_t count = ap_trace_id_count(trace);
    AP_TRY(AP_ALLOC_CLEARED(gate, codes->kinds, count, reterr));
    codes->count = count;
    AP_TRY(ap_user_frames_init(&codes->frames, trace, gate, reterr));
    return ap_name_patterns_init(&codes->patterns, gate, entries, ENTRY_COUNT, reterr);
}

void ap_code_kinds_release(struct ap_code_kinds *codes)
{
    if (!codes->gate)
        return;
    ap_name_patterns_release(&codes->patterns);
    ap_user_frames_release(&codes->frames);
    AP_FREE(codes->gate, codes->kinds, codes->count);
}

/* Operators without a name space are torch's too: "AddmmBackward0". Ranges are marked by who wrote the code. */
static enum ap_code_kind by_name(struct ap_code_kinds *codes, uint32_t name, enum ap_event_kind kind)
{
    struct ap_text text = ap_trace_text(codes->trace, name);
    size_t entry = ap_name_patterns_first(&codes->patterns, text, ENTRY_COUNT);
    if (entry < ENTRY_COUNT)
        return entry_kinds[entry];
    if (kind == AP_KIND_annotation)
        return AP_CODE_user;
    if (kind == AP_KIND_python)
        return ap_is_user_frame(&codes->frames, name) ? AP_CODE_user : AP_CODE_library;
    for (size_t i = 0; i + 1 < text.bytes; i++)
        if (text.data[i] == ':' && text.data[i + 1] == ':')
            return AP_CODE_library;
    return AP_CODE_torch;
}

enum ap_code_kind ap_code_kind_of(struct ap_code_kinds *codes, uint32_t row)
{
    enum ap_event_kind kind = ap_row_kind(codes->trace->events.tag[row]);
    uint32_t name = codes->trace->events.name[row];
    if (kind == AP_KIND_runtime || kind == AP_KIND_os_call)
        return AP_CODE_runtime;
    if (codes->kinds[name] == AP_CODE_none)
        codes->kinds[name] = (uint8_t)by_name(codes, name, kind);
    return (enum ap_code_kind)codes->kinds[name];
}

const char *ap_code_kind_name(enum ap_code_kind kind)
{
    static const char *const names[] = { "none", "user", "torch", "library", "runtime", "waiting" };
    return names[kind];
}
