/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include "wrap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LEAST_ROOM 16 /* columns of text beside an indent; what is narrower is not indented */

void ap_wrap_init(struct ap_wrap *wrap, unsigned width, ap_write_fn *write, void *self)
{
    wrap->write = write;
    wrap->self = self;
    wrap->width = width;
    wrap->bytes = 0;
}

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* Where the text of a line begins: behind its blanks, "- ", and the name of an option that two blanks follow. */
static size_t indent_of(const char *line, size_t bytes, size_t width)
{
    size_t at = 0, text;
    while (at < bytes && line[at] == ' ')
        at++;
    text = at;
    if (at + 1 < bytes && line[at] == '-' && line[at + 1] == ' ')
        text = at + 2;
    for (; text > 0 && at + 2 < bytes && at < width / 2; at++)
        if (line[at] == ' ' && line[at + 1] == ' ') {
            while (at < bytes && line[at] == ' ')
                at++;
            text = at;
            break;
        }
    return text + LEAST_ROOM > width ? 0 : text;
}

/* How much of @line fits @columns: up to a blank, or to the end of a word that fits no line. */
static size_t fitting(const char *line, size_t bytes, size_t columns)
{
    size_t best = 0, used = 0;
    for (size_t at = 0; at < bytes; at++) {
        if (line[at] == ' ' && at && line[at - 1] != ' ') {
            best = at;
            if (used > columns)
                return best;
        }
        used += begins_character(line[at]);
        if (used > columns && best)
            return best;
    }
    return bytes;
}

static enum ap_status put(struct ap_wrap *wrap, const char *data, size_t bytes, struct ap_error *reterr)
{
    return bytes ? wrap->write(wrap->self, data, bytes, reterr) : AP_OK;
}

static enum ap_status put_line(struct ap_wrap *wrap, const char *line, size_t bytes, bool ends, struct ap_error *reterr)
{
    static const char blanks[] = "                                                                ";
    size_t indent = wrap->width ? indent_of(line, bytes, wrap->width) : 0, columns = wrap->width, lead = 0;
    indent = indent < sizeof(blanks) ? indent : sizeof(blanks) - 1;
    while (wrap->width && bytes) {
        /* the first line has its indent in it: that is no place to break */
        size_t taken = lead ? 0 : indent < bytes ? indent : 0;
        size_t fits = taken + fitting(line + taken, bytes - taken, columns - indent);
        if (fits == bytes)
            break;
        enum ap_status status = put(wrap, blanks, lead, reterr);
        status = status == AP_OK ? put(wrap, line, fits, reterr) : status;
        status = status == AP_OK ? put(wrap, "\n", 1, reterr) : status;
        if (status != AP_OK)
            return status;
        while (fits < bytes && line[fits] == ' ')
            fits++;
        line += fits;
        bytes -= fits;
        lead = indent;
        if (!lead)
            indent = 0;
    }
    enum ap_status status = put(wrap, blanks, bytes ? lead : 0, reterr);
    status = status == AP_OK ? put(wrap, line, bytes, reterr) : status;
    return status == AP_OK && ends ? put(wrap, "\n", 1, reterr) : status;
}

enum ap_status ap_wrap_write(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct ap_wrap *wrap = self;
    for (size_t at = 0; at < bytes; at++) {
        bool ends = data[at] == '\n';
        if (!ends)
            wrap->line[wrap->bytes++] = data[at];
        if (!ends && wrap->bytes < sizeof(wrap->line))
            continue;
        enum ap_status status = put_line(wrap, wrap->line, wrap->bytes, ends, reterr);
        wrap->bytes = 0;
        if (status != AP_OK)
            return status;
    }
    return AP_OK;
}

enum ap_status ap_wrap_end(struct ap_wrap *wrap, struct ap_error *reterr)
{
    size_t bytes = wrap->bytes;
    wrap->bytes = 0;
    return bytes ? put_line(wrap, wrap->line, bytes, false, reterr) : AP_OK;
}

static enum ap_status put_on_file(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    (void)reterr;
    (void)fwrite(data, 1, bytes, self);
    return AP_OK;
}

void ap_wrap_init_for(struct ap_wrap *wrap, FILE *to)
{
    struct winsize size;
    bool is_terminal = isatty(fileno(to)) && ioctl(fileno(to), TIOCGWINSZ, &size) == 0;
    ap_wrap_init(wrap, is_terminal ? size.ws_col : 0, put_on_file, to);
}

/* Lines that begin with as many blanks go on with the text of the one above: they are joined, to be broken anew. */
#define CONTINUES 20

static size_t join_lines(char *text, size_t bytes)
{
    size_t kept = 0;
    for (size_t at = 0; at < bytes; at++) {
        size_t blanks = 0;
        while (text[at] == '\n' && at + 1 + blanks < bytes && text[at + 1 + blanks] == ' ')
            blanks++;
        text[kept++] = blanks >= CONTINUES ? ' ' : text[at];
        at += blanks >= CONTINUES ? blanks : 0;
    }
    return kept;
}

static bool is_wider(const char *text, size_t bytes, size_t columns)
{
    for (size_t at = 0, used = 0; at < bytes; at++) {
        used = text[at] == '\n' ? 0 : used + begins_character(text[at]);
        if (used > columns)
            return true;
    }
    return false;
}

void ap_wrap_print(FILE *to, void (*print)(FILE *to))
{
    struct ap_wrap wrap;
    struct ap_error error;
    char *text = NULL;
    size_t bytes = 0;
    ap_wrap_init_for(&wrap, to);
    FILE *kept = wrap.width ? open_memstream(&text, &bytes) : NULL;
    if (!kept) {
        print(to);
        return;
    }
    print(kept);
    if (fclose(kept) == 0)
        (void)ap_wrap_write(&wrap, text, is_wider(text, bytes, wrap.width) ? join_lines(text, bytes) : bytes, &error);
    (void)ap_wrap_end(&wrap, &error);
    free(text);
}
