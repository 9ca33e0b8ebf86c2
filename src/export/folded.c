/* SPDX-License-Identifier: MIT */
#include "folded.h"

#include "code_point.h"
#include "stack_frames.h"

#include "poison.h"

static void write_name(struct ap_out *out, struct ap_text name)
{
    for (size_t at = 0; at < name.bytes;) {
        uint32_t code_point = ap_code_point_next(name, &at);
        char bytes[4];
        if (code_point == ';')
            ap_out_char(out, ',');
        else if (ap_code_point_is_hidden(code_point))
            ap_out_format(out, "\\u{%x}", (unsigned)code_point);
        else
            ap_out_text(out, (struct ap_text){ bytes, ap_code_point_encode(code_point, bytes) });
    }
}

struct folding {
    struct ap_out *out;
    const struct ap_snapshot *snapshot;
    struct ap_redaction *redaction;
    struct ap_arena *scratch;
};

/* As the reports have it: "file:line name". */
static enum ap_status write_frame(const struct folding *folding, uint32_t id, struct ap_error *reterr)
{
    struct ap_text text;
    AP_TRY(ap_memory_frame_text(folding->snapshot, folding->scratch, id, &text, reterr));
    if (folding->redaction)
        AP_TRY(ap_redact(folding->redaction, text, &text, reterr));
    write_name(folding->out, text.bytes ? text : AP_TEXT("(unnamed)"));
    return AP_OK;
}

static enum ap_status write_frames(const struct folding *folding, uint32_t stack, struct ap_error *reterr)
{
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&folding->snapshot->stacks, stack, &count);
    if (!count)
        ap_out_string(folding->out, "no stack recorded");
    for (uint32_t i = count; i > 0; i--) {
        AP_TRY(write_frame(folding, frames[i - 1], reterr));
        if (i > 1)
            ap_out_char(folding->out, ';');
    }
    return AP_OK;
}

static enum ap_status write_stack(struct folding *folding, const struct ap_peak_stacks *stacks,
                                  const struct ap_peak_stack *stack, struct ap_error *reterr)
{
    struct ap_arena scratch;
    if (stacks->several_devices && stack->device < 0)
        ap_out_string(folding->out, "device unknown;");
    else if (stacks->several_devices)
        ap_out_format(folding->out, "device %lld;", (long long)stack->device);
    ap_arena_init(&scratch, folding->snapshot->gate);
    folding->scratch = &scratch;
    enum ap_status status = write_frames(folding, stack->stack, reterr);
    ap_arena_release(&scratch);
    ap_out_format(folding->out, " %lld\n", (long long)stack->bytes);
    return status;
}

enum ap_status ap_write_folded(const struct ap_snapshot *snapshot, const struct ap_peak_stacks *stacks,
                               struct ap_redaction *redaction, struct ap_sink sink, struct ap_error *reterr)
{
    struct ap_out out;
    struct folding folding = { .out = &out, .snapshot = snapshot, .redaction = redaction };
    ap_out_init(&out, sink);
    for (size_t i = 0; i < stacks->count; i++)
        if (stacks->list[i].bytes > 0)
            AP_TRY(write_stack(&folding, stacks, &stacks->list[i], reterr));
    return ap_out_finish(&out, reterr);
}
