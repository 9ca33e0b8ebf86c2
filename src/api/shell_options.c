/* SPDX-License-Identifier: MIT */
#include "shell_options.h"

#include <string.h>

#include "option_names.h"

#include "poison.h"

#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=:,+-"

/* Counts with @to NULL. */
struct line {
    char *to;
    size_t used;
};

static void add(struct line *line, const char *text)
{
    size_t bytes = strlen(text);
    if (line->to)
        memcpy(line->to + line->used, text, bytes);
    line->used += bytes;
}

/* Within single quotes everything is itself but the single quote. */
static void add_quoted(struct line *line, const char *text)
{
    if (*text && text[strspn(text, PLAIN)] == '\0') {
        add(line, text);
        return;
    }
    add(line, "'");
    for (; *text; text++) {
        char one[2] = { *text, '\0' };
        add(line, *text == '\'' ? "'\\''" : one);
    }
    add(line, "'");
}

static void add_option(struct line *line, const char *option, const char *value)
{
    if (!value)
        return;
    add(line, option);
    add_quoted(line, value);
}

static void add_all(struct line *line, const struct ap_request *request)
{
    add_option(line, " " AP_OPTION_RUBRIC " ", request->redact && request->rubric_path ? "RUBRIC.md" : request->rubric_path);
    add_option(line, " " AP_OPTION_PEAKS " ", request->redact && request->peaks_path ? "PEAKS.md" : request->peaks_path);
    add_option(line, " " AP_OPTION_MAPPING_TRACE " ",
               request->redact && request->mapping_trace_path ? "CAPTURE.json" : request->mapping_trace_path);
    add_option(line, " " AP_OPTION_FOCUS " ", request->focus);
    add_option(line, " " AP_OPTION_PHASE " ", request->phase);
    for (size_t i = 0; i < request->context_count; i++)
        add_option(line, " " AP_OPTION_CONTEXT " ", request->context[i]);
}

enum ap_status ap_shell_options(const struct ap_request *request, struct ap_arena *arena, struct ap_text *ret_options,
                                struct ap_error *reterr)
{
    struct line line = { .to = NULL };
    add_all(&line, request);
    char *text = ap_arena_alloc(arena, line.used + 1);
    if (!text)
        return ap_fail_memory(arena->gate, reterr);
    line = (struct line){ .to = text };
    add_all(&line, request);
    *ret_options = (struct ap_text){ text, line.used };
    return AP_OK;
}
