/* SPDX-License-Identifier: MIT */
#include "stack_frames.h"

#include "frame_kind.h"

#include <stdio.h>
#include <string.h>

#include "poison.h"

/* Of a C++ function without its arguments; "(anonymous namespace)" is none of them. */
static struct ap_text without_arguments(struct ap_text name)
{
    for (size_t i = 1; i < name.bytes; i++)
        if (name.data[i] == '(' && name.data[i - 1] != ':' && name.data[i - 1] != ' ')
            return (struct ap_text){ name.data, i };
    return name;
}

enum ap_status ap_memory_frame_text(const struct ap_snapshot *snapshot, struct ap_arena *arena, uint32_t frame,
                                    struct ap_text *ret_text, struct ap_error *reterr)
{
    const struct ap_frame *of = &snapshot->stacks.frames[frame];
    struct ap_text file = ap_strpool_text(&snapshot->strings, of->filename);
    struct ap_text name = ap_strpool_text(&snapshot->strings, of->name);
    char line[16] = "";
    bool object = ap_frame_is_object(file);
    bool unknown = ap_text_is(file, "??") || (object && name.bytes && !ap_text_is(name, "??")); /* no debugging symbols */
    if (unknown) {
        file.bytes = 0;
        name = without_arguments(name);
    }
    int line_bytes = of->line > 0 && !unknown && !object ? snprintf(line, sizeof(line), ":%d", (int)of->line) : 0;
    bool both = file.bytes + (size_t)line_bytes > 0 && name.bytes > 0;
    size_t bytes = file.bytes + (size_t)line_bytes + both + name.bytes;
    char *text = ap_arena_alloc(arena, bytes + 1);
    if (!text)
        return ap_fail_memory(arena->gate, reterr);
    if (file.bytes)
        memcpy(text, file.data, file.bytes);
    memcpy(text + file.bytes, line, (size_t)line_bytes);
    if (both)
        text[file.bytes + (size_t)line_bytes] = ' ';
    if (name.bytes)
        memcpy(text + bytes - name.bytes, name.data, name.bytes);
    *ret_text = (struct ap_text){ text, bytes };
    return AP_OK;
}

/* A frame of Python code, by the name of its file. */
static bool frame_is_python(const struct ap_snapshot *snapshot, uint32_t frame)
{
    struct ap_text file = ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frame].filename);
    return file.bytes >= 3 && (file.data[0] == '<' || memcmp(file.data + file.bytes - 3, ".py", 3) == 0);
}

static bool has_python(const struct ap_snapshot *snapshot, uint32_t stack)
{
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    for (uint32_t i = 0; i < count; i++)
        if (frame_is_python(snapshot, frames[i]))
            return true;
    return false;
}

uint32_t ap_stack_shown(const struct ap_snapshot *snapshot, uint32_t stack, uint32_t *to)
{
    uint32_t count, shown = 0;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    bool python = has_python(snapshot, stack);
    for (uint32_t i = 0; i < count; i++) {
        if (python && !frame_is_python(snapshot, frames[i]))
            continue;
        if (to)
            to[shown] = frames[i];
        shown++;
    }
    return shown;
}
