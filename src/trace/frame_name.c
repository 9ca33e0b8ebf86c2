/* SPDX-License-Identifier: MIT
 * frame_name.c - frames of Python as other tracers name them, in the words of PyTorch's profiler: "train.py(12): main", by
 * which the lines of the user are told from those of libraries. */
#include <stdio.h>
#include <string.h>

#include "trace_internal.h"

#include "poison.h"

#define FRAME_BYTES 1024 /* longer ones stay as they are */

/* Categories of Chromium (base/trace_event/builtin_categories.h), alone or first of several with commas between. */
static bool is_of_browser(struct ap_text category)
{
    static const char *const begins[] = { "devtools.timeline", "disabled-by-default-devtools", "disabled-by-default-v8",
                                          "blink.user_timing", "toplevel" };
    for (size_t i = 0; i < AP_COUNT_OF(begins); i++)
        if (ap_text_starts_with(category, begins[i]))
            return true;
    return false;
}

/* VizTracer wrote "FEE" in some versions. */
enum ap_frame_writer ap_frame_writer_of(struct ap_text category)
{
    if (category.bytes == 3 && ap_text_contains_folded(category, "fee"))
        return AP_FRAMES_VIZTRACER;
    if (ap_text_is(category, "py-spy") || ap_text_is(category, "speedscope"))
        return AP_FRAMES_PY_SPY;
    return is_of_browser(category) ? AP_FRAMES_BROWSER : AP_FRAMES_PLAIN;
}

static enum ap_status join(struct ap_trace_reading *reading, struct ap_text file, struct ap_text line, struct ap_text call,
                           struct ap_str *name, struct ap_error *reterr)
{
    char text[FRAME_BYTES];
    if (file.bytes + line.bytes + call.bytes + 5 > sizeof(text))
        return AP_OK;
    int bytes = snprintf(text, sizeof(text), "%.*s(%.*s): %.*s", (int)file.bytes, file.data, (int)line.bytes, line.data,
                         (int)call.bytes, call.data);
    return ap_strpool_intern(&reading->trace->strings, text, (size_t)bytes, name, reterr);
}

/* "main (/home/me/train.py:12)"; "builtins.len" has no file. */
static enum ap_status from_viztracer(struct ap_trace_reading *reading, struct ap_str *name, struct ap_error *reterr)
{
    struct ap_text text = ap_strpool_text(&reading->trace->strings, *name);
    size_t end = text.bytes, colon, open = 0;
    if (!end || text.data[--end] != ')')
        return AP_OK;
    for (colon = end; colon && ap_is_digit(text.data[colon - 1]);)
        colon--;
    while (open + 2 < text.bytes && !(text.data[open] == ' ' && text.data[open + 1] == '('))
        open++;
    if (colon == end || colon < open + 4 || text.data[colon - 1] != ':')
        return AP_OK;
    struct ap_text file = { text.data + open + 2, colon - 1 - (open + 2) }, line = { text.data + colon, end - colon };
    return join(reading, file, line, (struct ap_text){ text.data, open }, name, reterr);
}

/* File and line stand in the arguments; the line is the one that was at work. */
static enum ap_status from_py_spy(struct ap_trace_reading *reading, struct ap_str *name, struct ap_error *reterr)
{
    const struct ap_json_span *file = &reading->spans[AP_FIELD_ARGS_FILE_NAME], *line = &reading->spans[AP_FIELD_ARGS_LINE];
    struct ap_text path, call = ap_strpool_text(&reading->trace->strings, *name);
    if (file->kind != AP_JSON_STRING || line->kind != AP_JSON_NUMBER)
        return AP_OK;
    AP_TRY(ap_element_text(reading->elements, file, &path, reterr));
    return join(reading, path, (struct ap_text){ line->text, line->bytes }, call, name, reterr);
}

enum ap_status ap_trace_frame_name(struct ap_trace_reading *reading, enum ap_frame_writer writer, struct ap_str *name,
                                   struct ap_error *reterr)
{
    switch (writer) {
    case AP_FRAMES_VIZTRACER: return from_viztracer(reading, name, reterr);
    case AP_FRAMES_PY_SPY: return from_py_spy(reading, name, reterr);
    case AP_FRAMES_BROWSER:
    case AP_FRAMES_PLAIN: break;
    }
    return AP_OK;
}
