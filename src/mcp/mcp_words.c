/* SPDX-License-Identifier: MIT */
#include "mcp_words.h"

#include <string.h>

#include "poison.h"

struct word {
    const char *option, *tool;
};

/* The longer ones first. */
static const struct word of_failures[] = {
    { "--list-rules and --list-metrics name them all", "list_metrics names them all" },
    { "--list-metrics names them all", "list_metrics names them all" },
    { "--table tables names all tables", "table with the name \"tables\" lists all tables" },
    { "; to read a pipe, give it as standard input with -", "" },
    { "give the input as well", "give paths as well" },
    { "give --memory-json FILE", "add one to paths" },
    { "give --cpu-trace FILE", "add one to paths" },
    { "give --baseline FILE as well", "use compare, with a baseline" },
    { "give it as --memory-json", "give it in paths" },
    { "give it as --cpu-trace", "give it in paths" },
    { "--salvage", "--salvage, which the program has and this server has not" },
    { "--baseline", "baseline" },
    { "--fail-on", "conditions" },
    { "--columns", "columns" },
    { "--explain", "explain" },
    { "--around", "around" },
    { "--limit", "limit" },
    { "--table", "table" },
    { "--where", "where" },
    { "--sort", "sort" },
};

/* None becomes longer. */
static const struct word of_answers[] = {
    { "`--explain ID`", "`explain`" },
    { "`--around ID`", "`around`" },
    { "`--table NAME`", "`table`" },
    { "(`--table ", "(`table " },
    { " that --where keeps of ", " that where keeps of " },
};

static const struct word *word_at(const char *text, size_t bytes, const struct word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(words[i].option);
        if (length <= bytes && memcmp(text, words[i].option, length) == 0)
            return &words[i];
    }
    return NULL;
}

enum ap_status ap_mcp_words_add(struct ap_mcp_text *text, const char *message, struct ap_error *reterr)
{
    size_t bytes = strlen(message);
    for (size_t at = 0; at < bytes;) {
        const struct word *word = word_at(message + at, bytes - at, of_failures, AP_COUNT_OF(of_failures));
        if (word)
            AP_TRY(ap_mcp_text_add(text, word->tool, reterr));
        else
            AP_TRY(ap_mcp_text_write(text, message + at, 1, reterr));
        at += word ? strlen(word->option) : 1;
    }
    return AP_OK;
}

void ap_mcp_words_in_answer(struct ap_mcp_text *text)
{
    size_t kept = 0;
    for (size_t at = 0; at < text->bytes;) {
        char c = text->data[at];
        bool begins = c == '`' || c == '(' || c == ' ';
        const struct word *word = begins ? word_at(text->data + at, text->bytes - at, of_answers, AP_COUNT_OF(of_answers)) : NULL;
        if (!word) {
            text->data[kept++] = text->data[at++];
            continue;
        }
        memcpy(text->data + kept, word->tool, strlen(word->tool));
        kept += strlen(word->tool);
        at += strlen(word->option);
    }
    text->bytes = kept;
}
