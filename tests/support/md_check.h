/* SPDX-License-Identifier: MIT
 * md_check.h - is a Markdown report inert, whatever names it holds? Parsed with libcmark for CommonMark; for GitHub's
 * dialect the rows are split as its table extension does, and what its filters look for in text may not be there. */
#ifndef AP_MD_CHECK_H
#define AP_MD_CHECK_H

#include <cmark.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory for one document, which goes back as a whole: with a sanitizer the C library's takes longer than all parsing. What
 * does not fit comes from there. */
static struct md_pool {
    size_t used_bytes;
    alignas(max_align_t) unsigned char data[1 << 20];
} md_pool;

struct md_block {
    alignas(max_align_t) size_t bytes;
};

static inline bool md_pool_has(const void *memory)
{
    return (uintptr_t)memory - (uintptr_t)md_pool.data < sizeof(md_pool.data);
}

static inline void *md_take(size_t count, size_t size)
{
    size_t bytes = count * size, room = sizeof(md_pool.data) - md_pool.used_bytes;
    if (bytes > room || room - bytes < 2 * sizeof(struct md_block)) {
        void *memory = calloc(count, size);
        if (!memory)
            abort();
        return memory;
    }
    struct md_block *block = (void *)(md_pool.data + md_pool.used_bytes);
    block->bytes = bytes;
    md_pool.used_bytes += sizeof(*block) + (bytes + sizeof(*block) - 1) / sizeof(*block) * sizeof(*block);
    return memset(block + 1, 0, bytes);
}

static inline void *md_resize(void *memory, size_t bytes)
{
    if (memory && !md_pool_has(memory)) {
        memory = realloc(memory, bytes);
        if (!memory)
            abort();
        return memory;
    }
    void *resized = md_take(1, bytes);
    if (memory) {
        size_t old_bytes = ((struct md_block *)memory - 1)->bytes;
        memcpy(resized, memory, old_bytes < bytes ? old_bytes : bytes);
    }
    return resized;
}

static inline void md_give(void *memory)
{
    if (!md_pool_has(memory))
        free(memory);
}

/** The pool's last document must have been freed. */
static inline cmark_node *md_parse(const char *text, size_t bytes)
{
    static cmark_mem memory = { md_take, md_resize, md_give };
    md_pool.used_bytes = 0;
    cmark_parser *parser = cmark_parser_new_with_mem(CMARK_OPT_DEFAULT, &memory);
    cmark_parser_feed(parser, text, bytes);
    cmark_node *document = cmark_parser_finish(parser);
    cmark_parser_free(parser);
    return document;
}

/* What the writer itself uses. No HTML, no image, no code block, no rule. */
static inline bool md_node_is_ours(cmark_node *node)
{
    switch (cmark_node_get_type(node)) {
    case CMARK_NODE_DOCUMENT:
    case CMARK_NODE_BLOCK_QUOTE:
    case CMARK_NODE_LIST:
    case CMARK_NODE_ITEM:
    case CMARK_NODE_PARAGRAPH:
    case CMARK_NODE_HEADING:
    case CMARK_NODE_TEXT:
    case CMARK_NODE_SOFTBREAK:
    case CMARK_NODE_CODE:
    case CMARK_NODE_EMPH:
    case CMARK_NODE_STRONG: return true;
    case CMARK_NODE_LINK: return strcmp(cmark_node_get_url(node), "#data-quality") == 0;
    default: return false;
    }
}

/* GitHub makes links, mentions and formulas from what is plain text for CommonMark. */
static inline bool md_text_is_plain(const char *text)
{
    static const char *const signs[] = { "@", "#", "$", "://", "www.", "\\" };
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        if (strstr(text, signs[i]))
            return false;
    return true;
}

/* Cells of a row for GitHub: bars split, wherever they stand, unless a backslash is before them. */
static inline size_t md_count_cells(const char *line, size_t bytes)
{
    size_t bars = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (line[i] == '\\' && i + 1 < bytes && line[i + 1] == '|')
            return 0; /* read differently by different versions: must not occur */
        bars += line[i] == '|';
    }
    return bars;
}

static inline bool md_tables_are_whole(const char *text, size_t bytes)
{
    size_t columns = 0;
    for (size_t at = 0; at < bytes;) {
        const char *line = text + at, *end = memchr(line, '\n', bytes - at);
        size_t length = end ? (size_t)(end - line) : bytes - at;
        size_t bars = md_count_cells(line, length);
        if (!length || line[0] != '|') {
            if (bars) /* a bar outside of tables could begin one */
                return false;
            columns = 0;
        } else if (line[length - 1] != '|' || (columns && bars != columns)) {
            return false;
        } else {
            columns = bars;
        }
        at += length + 1;
    }
    return true;
}

struct md_counts {
    size_t headings, lists, items, quotes, codes;
};

/** False and a message in @why (of @why_bytes) where a name took effect. */
static inline bool md_is_inert(const char *text, size_t bytes, struct md_counts *ret_counts, char *why, size_t why_bytes)
{
    *ret_counts = (struct md_counts){ 0 };
    why[0] = '\0';
    if (!md_tables_are_whole(text, bytes)) {
        (void)snprintf(why, why_bytes, "a table row has more or fewer cells than its head");
        return false;
    }
    cmark_node *document = md_parse(text, bytes);
    cmark_iter *iter = cmark_iter_new(document);
    bool inert = true;
    cmark_event_type event;
    while (inert && (event = cmark_iter_next(iter)) != CMARK_EVENT_DONE) {
        cmark_node *node = cmark_iter_get_node(iter);
        if (event != CMARK_EVENT_ENTER)
            continue;
        cmark_node_type type = cmark_node_get_type(node);
        ret_counts->headings += type == CMARK_NODE_HEADING;
        ret_counts->lists += type == CMARK_NODE_LIST;
        ret_counts->items += type == CMARK_NODE_ITEM;
        ret_counts->quotes += type == CMARK_NODE_BLOCK_QUOTE;
        ret_counts->codes += type == CMARK_NODE_CODE;
        inert = md_node_is_ours(node) && (type != CMARK_NODE_TEXT || md_text_is_plain(cmark_node_get_literal(node)));
        if (!inert)
            (void)snprintf(why, why_bytes, "line %d: %s \"%.200s\"", cmark_node_get_start_line(node),
                           cmark_node_get_type_string(node),
                           cmark_node_get_literal(node) ? cmark_node_get_literal(node) : "");
    }
    cmark_iter_free(iter);
    cmark_node_free(document);
    return inert;
}

#endif
