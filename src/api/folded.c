/* SPDX-License-Identifier: MIT */
#include "folded.h"

#include "code_point.h"

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

static void write_frame(struct ap_out *out, const struct ap_snapshot *snapshot, uint32_t id)
{
    const struct ap_frame *frame = &snapshot->stacks.frames[id];
    struct ap_text name = ap_strpool_text(&snapshot->strings, frame->name);
    struct ap_text file = ap_strpool_text(&snapshot->strings, frame->filename);
    write_name(out, file);
    if (frame->line > 0)
        ap_out_format(out, ":%d", (int)frame->line);
    if (name.bytes && (file.bytes || frame->line > 0))
        ap_out_char(out, ' ');
    write_name(out, name);
    if (!name.bytes && !file.bytes && frame->line <= 0)
        ap_out_string(out, "(unnamed)");
}

static void write_stack(struct ap_out *out, const struct ap_snapshot *snapshot, const struct ap_peak_stacks *stacks,
                        const struct ap_peak_stack *stack)
{
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack->stack, &count);
    if (stacks->several_devices && stack->device < 0)
        ap_out_string(out, "device unknown;");
    else if (stacks->several_devices)
        ap_out_format(out, "device %lld;", (long long)stack->device);
    if (!count)
        ap_out_string(out, "no stack recorded");
    for (uint32_t i = count; i > 0; i--) {
        write_frame(out, snapshot, frames[i - 1]);
        if (i > 1)
            ap_out_char(out, ';');
    }
    ap_out_format(out, " %lld\n", (long long)stack->bytes);
}

enum ap_status ap_write_folded(const struct ap_snapshot *snapshot, const struct ap_peak_stacks *stacks,
                               struct ap_sink sink, struct ap_error *reterr)
{
    struct ap_out out;
    ap_out_init(&out, sink);
    for (size_t i = 0; i < stacks->count; i++)
        if (stacks->list[i].bytes > 0)
            write_stack(&out, snapshot, stacks, &stacks->list[i]);
    return ap_out_finish(&out, reterr);
}
