/* SPDX-License-Identifier: MIT
 * write_summary.c - one screen for a terminal. */
#include <stdio.h>
#include <string.h>

#include "document.h"
#include "headline.h"
#include "option_names.h"
#include "report.h"
#include "finding_level.h"
#include "visible_text.h"

#include "poison.h"

#define MIN_WIDTH 40
#define MIN_LINES 10
#define TALL 40 /* lines: room for longer advice */
#define SHORT 20
#define MAX_ALERTS 2
#define MOST_ADVICE 3 /* lines of what to do, where there is room */
#define NARROW 60     /* columns */
#define MOST_CHANGES 5

struct screen {
    struct ap_out out;
    const struct ap_value *root;
    bool color;
    size_t width, lines, used;
};

static void set(struct screen *screen, const char *attributes)
{
    if (screen->color)
        ap_out_format(&screen->out, "\033[%sm", attributes);
}

static void end_line(struct screen *screen)
{
    ap_out_char(&screen->out, '\n');
    screen->used++;
}

/* A number stays on the line of its unit: 99.7 %, 156 ms. */
static bool may_break(struct ap_text text, size_t at)
{
    if (at == text.bytes || text.data[at] != ' ')
        return at == text.bytes;
    char before = at ? text.data[at - 1] : ' ', after = at + 1 < text.bytes ? text.data[at + 1] : ' ';
    return !(ap_is_digit(before) && (after == '%' || (after >= 'A' && after <= 'z')));
}

/* Of a word that is wider than @columns the longest front that ends behind a sign; all of it where there is none. */
static size_t fitting_front(struct ap_text word, size_t columns)
{
    size_t best = 0;
    for (size_t at = 1; at < word.bytes; at++) {
        if (!strchr("(.,/=#", word.data[at - 1]))
            continue;
        if (ap_visible_columns((struct ap_text){ word.data, at }) > columns)
            break;
        best = at;
    }
    return best ? best : word.bytes;
}

/* Length of the longest front of @text that fits @columns and ends at a space, or within a word that fits no line. */
static size_t fitting(struct ap_text text, size_t columns)
{
    size_t best = 0;
    for (size_t at = 0; at <= text.bytes; at++) {
        if (!may_break(text, at))
            continue;
        if (ap_visible_columns((struct ap_text){ text.data, at }) > columns)
            break;
        best = at;
    }
    const char *end = memchr(text.data, ' ', text.bytes);
    return best ? best : fitting_front((struct ap_text){ text.data, end ? (size_t)(end - text.data) : text.bytes }, columns);
}

/* ---- names ---- */

#define ELLIPSIS "..."

/* A path from its last folders on; empty where not even the file's name fits. */
static struct ap_text last_folders(struct ap_text name, size_t columns)
{
    for (size_t at = 0; at < name.bytes; at++) {
        struct ap_text tail = { name.data + at, name.bytes - at };
        if (name.data[at] == '/' && ap_visible_columns(tail) <= columns)
            return tail;
    }
    return AP_TEXT("");
}

/* The longest front that ends between words of the name: aten::convolution, sm80_xmma. */
static struct ap_text front_of(struct ap_text name, size_t columns)
{
    static const char between[] = "_:.(<,#/ ";
    size_t best = 0;
    for (size_t at = 1; at < name.bytes; at++) {
        if (!strchr(between, name.data[at]) || strchr(between, name.data[at - 1]))
            continue;
        if (ap_visible_columns((struct ap_text){ name.data, at }) > columns)
            break;
        best = at;
    }
    return (struct ap_text){ name.data, best ? best : name.bytes };
}

/* One line's worth of a name, cut between its words; returns its columns. */
static size_t write_name(struct screen *screen, struct ap_text name, size_t columns)
{
    const size_t room = columns > sizeof(ELLIPSIS) ? columns - strlen(ELLIPSIS) : columns;
    if (ap_visible_columns(name) <= columns)
        return ap_out_visible(&screen->out, name, columns);
    struct ap_text tail = last_folders(name, room);
    if (tail.bytes) {
        ap_out_string(&screen->out, ELLIPSIS);
        return strlen(ELLIPSIS) + ap_out_visible(&screen->out, tail, room);
    }
    if (ap_short_label(name).bytes < name.bytes)
        return write_name(screen, ap_short_label(name), columns);
    struct ap_text front = front_of(name, room);
    size_t used = ap_out_visible(&screen->out, front, front.bytes < name.bytes ? room : columns);
    if (front.bytes < name.bytes)
        ap_out_string(&screen->out, ELLIPSIS);
    return used;
}

/* ---- paragraphs ---- */

/* What fits one line: cut behind a whole word, where there is one. */
static void write_fitting(struct screen *screen, struct ap_text text, size_t columns)
{
    size_t bytes = text.bytes;
    if (ap_visible_columns(text) > columns)
        bytes = fitting(text, columns - 4);
    (void)write_name(screen, (struct ap_text){ text.data, bytes }, bytes < text.bytes ? columns - 4 : columns);
    if (bytes < text.bytes)
        ap_out_string(&screen->out, " ...");
}

/* A paragraph of at most @lines lines; what does not fit ends in dots. */
static void write_wrapped(struct screen *screen, struct ap_text text, size_t indent, size_t lines)
{
    size_t columns = screen->width - indent;
    while (text.bytes && lines--) {
        size_t bytes = lines ? fitting(text, columns) : text.bytes;
        for (size_t i = 0; i < indent; i++)
            ap_out_char(&screen->out, ' ');
        write_fitting(screen, (struct ap_text){ text.data, bytes }, columns);
        end_line(screen);
        while (bytes < text.bytes && text.data[bytes] == ' ')
            bytes++;
        text = (struct ap_text){ text.data + bytes, text.bytes - bytes };
    }
}

/* A line of few columns holds half as much. */
static size_t lines_for(const struct screen *screen, size_t lines)
{
    return screen->lines < SHORT ? (lines + 1) / 2 : screen->width < NARROW && screen->lines >= TALL ? 2 * lines : lines;
}

/* ---- head ---- */

/* What makes all that follows doubtful. */
static void write_alerts(struct screen *screen)
{
    const struct ap_value *warning = ap_value_first(ap_value_member(screen->root, "warnings"));
    for (size_t shown = 0; warning && shown < MAX_ALERTS; warning = warning->next) {
        char alert[AP_FACT_BYTES];
        struct ap_text input = ap_text_member(warning, "input"), message = ap_text_member(warning, "message");
        if (!ap_warning_is_alert(warning))
            continue;
        (void)snprintf(alert, sizeof(alert), "WARNING: %.*s: %.*s", (int)(input.bytes > 40 ? 40 : input.bytes), input.data,
                       (int)(message.bytes > 300 ? 300 : message.bytes), message.data);
        set(screen, "1;33");
        write_wrapped(screen, ap_text_of(alert), 0, lines_for(screen, 2));
        set(screen, "0");
        shown++;
    }
}

/* What was asked for leads: what the sizes tell, then as many of them, and of the remarks on them, as a third of the
 * screen holds. */
static void write_series(struct screen *screen)
{
    const struct ap_value *point = ap_value_first(ap_value_at(screen->root, "series.points"));
    const struct ap_value *note = ap_value_first(ap_value_at(screen->root, "series.notes"));
    char line[AP_FACT_BYTES];
    set(screen, "1");
    for (size_t i = 0; ap_headline_series(screen->root, i, line); i++)
        write_wrapped(screen, ap_text_of(line), 0, lines_for(screen, 2));
    set(screen, "0");
    bool any = point != NULL;
    for (; point && screen->used < screen->lines / 3; point = point->next) {
        ap_headline_series_point(point, line);
        write_wrapped(screen, ap_text_of(line), 2, 1);
    }
    for (; note && screen->used < screen->lines / 3; note = note->next)
        if (!ap_text_starts_with(ap_value_text(note), "Assumed:"))
            write_wrapped(screen, ap_value_text(note), 0, 1);
    if (any)
        write_wrapped(screen,
                      point ? AP_TEXT("More: " AP_OPTION_TABLE " series.points. What follows is about the largest batch.")
                            : AP_TEXT("What follows is about the largest batch."),
                      0, 1);
}

static void write_head(struct screen *screen)
{
    static const char *const paths[] = { "trace.path", "memory.path" };
    char fact[AP_FACT_BYTES];
    for (size_t i = 0; i < AP_COUNT_OF(paths); i++) {
        struct ap_text path = ap_text_at(screen->root, paths[i]);
        if (!path.bytes)
            continue;
        set(screen, "2");
        (void)write_name(screen, path, screen->width);
        set(screen, "0");
        end_line(screen);
    }
    write_alerts(screen);
    write_series(screen);
    ap_headline_verdict(screen->root, fact);
    set(screen, "1");
    write_wrapped(screen, ap_text_of(fact), 0, screen->lines < SHORT ? 3 : lines_for(screen, 3));
    set(screen, "0");
    struct ap_text compared = ap_text_at(screen->root, "comparison.verdict.sentence");
    (void)snprintf(fact, sizeof(fact), "Compared with the baseline: %.*s",
                   (int)(compared.bytes > 400 ? 400 : compared.bytes), compared.data);
    if (compared.bytes)
        write_wrapped(screen, ap_text_of(fact), 0, lines_for(screen, 3));
    for (size_t i = 0; i < MOST_CHANGES && ap_headline_what_if(screen->root, i, fact); i++)
        write_wrapped(screen, ap_text_of(fact), 0, lines_for(screen, 2));
    size_t facts = ap_value_first(ap_value_at(screen->root, "series.points")) ? 1 : 3;
    for (size_t i = 0; i < facts && ap_headline_fact(screen->root, i, fact); i++)
        write_wrapped(screen, ap_text_of(fact), 0, lines_for(screen, 2));
}

/* ---- findings ---- */

static const char *color_of(struct ap_text severity)
{
    static const char *const colors[AP_SEVERITY_COUNT_] = {
        [AP_SEVERITY_critical] = "1;31", [AP_SEVERITY_high] = "31", [AP_SEVERITY_medium] = "33",
        [AP_SEVERITY_low] = "36",        [AP_SEVERITY_info] = "2",
    };
    return colors[ap_severity_of(severity)];
}

enum { SEVERITY_COLUMNS = 8, FINDING_INDENT = 14, NARROW_INDENT = 5 };

/* Of what stands below a finding's title. */
static size_t indent_of(const struct screen *screen)
{
    return screen->width < NARROW ? NARROW_INDENT : FINDING_INDENT;
}

static bool titles_wrap(const struct screen *screen)
{
    return screen->width < NARROW && screen->lines >= TALL;
}

/* The line, operator, kernel or place that the finding is about. */
static void write_where(struct screen *screen, const struct ap_value *finding)
{
    const struct ap_value *cause = ap_value_first(ap_value_member(finding, "affected"));
    struct ap_text name = ap_finding_where(finding);
    char more[40] = "";
    size_t others = 0, room = screen->width - indent_of(screen) - strlen("in ");
    for (const struct ap_value *other = cause; other && other->next; other = other->next)
        others++;
    if (!name.bytes)
        return;
    if (others)
        (void)snprintf(more, sizeof(more), " and %zu more", others);
    ap_out_format(&screen->out, "%*sin ", (int)indent_of(screen), "");
    size_t used = write_name(screen, name, room);
    if (used + strlen(more) <= room)
        ap_out_string(&screen->out, more);
    end_line(screen);
}

static void write_finding(struct screen *screen, const struct ap_value *finding, size_t number, size_t advice_lines)
{
    char gain[AP_FACT_BYTES], advice[AP_FACT_BYTES + 400];
    struct ap_text action = ap_text_member(finding, "action"), severity = ap_text_member(finding, "severity"),
                   title = ap_text_member(finding, "title");
    ap_headline_gain(finding, gain);
    ap_out_format(&screen->out, "%3zu. ", number);
    set(screen, color_of(severity));
    size_t columns = ap_out_visible(&screen->out, severity, SEVERITY_COLUMNS);
    set(screen, "0");
    for (; columns <= SEVERITY_COLUMNS; columns++)
        ap_out_char(&screen->out, ' ');
    size_t first = screen->width - FINDING_INDENT,
           bytes = ap_visible_columns(title) > first && titles_wrap(screen) ? fitting(title, first) : title.bytes;
    write_fitting(screen, (struct ap_text){ title.data, bytes }, first);
    end_line(screen);
    if (bytes < title.bytes)
        write_wrapped(screen, (struct ap_text){ title.data + bytes + 1, title.bytes - bytes - 1 }, indent_of(screen), 2);
    if (screen->lines >= SHORT)
        write_where(screen, finding);
    (void)snprintf(advice, sizeof(advice), "%s%s%.*s", gain, gain[0] ? ": " : "",
                   (int)(action.bytes > 400 ? 400 : action.bytes), action.data);
    write_wrapped(screen, ap_text_of(advice), indent_of(screen), advice_lines);
}

/* What is no more than good to know, in one line: whole titles, as many as fit. @remarks: the first of @count. */
static void write_remarks(struct screen *screen, const struct ap_value *const *remarks, size_t count)
{
    size_t shown = 0, room = screen->width - strlen("     info     ") - strlen("; and 99 more");
    ap_out_string(&screen->out, "     info     ");
    for (size_t i = 0; i < count && i < AP_REMARKS_SHOWN; i++) {
        struct ap_text title = ap_text_member(remarks[i], "title");
        size_t columns = ap_visible_columns(title) + (shown ? strlen("; ") : 0);
        if (columns > room)
            continue;
        ap_out_string(&screen->out, shown ? "; " : "");
        (void)ap_out_visible(&screen->out, title, columns);
        room -= columns;
        shown++;
    }
    if (!shown)
        ap_out_format(&screen->out, "%zu remark%s", count, count == 1 ? "" : "s");
    else if (shown < count)
        ap_out_format(&screen->out, "; and %zu more", count - shown);
    end_line(screen);
}

/* Where, advice, and the title; the shorter the screen, the less of it. */
static size_t lines_of_one(const struct screen *screen, size_t advice_lines)
{
    return (screen->lines >= SHORT ? 2 : 1) + advice_lines + titles_wrap(screen);
}

static void write_findings(struct screen *screen, size_t lines)
{
    const struct ap_value *findings = ap_value_first(ap_value_member(screen->root, "findings"));
    size_t number = 0, end = screen->used + lines, left = 0, remarks = 0, count = 0;
    end_line(screen);
    if (!findings)
        write_wrapped(screen, AP_TEXT("No findings: nothing above its threshold."), 0, 1);
    for (const struct ap_value *finding = findings; finding; finding = finding->next) {
        remarks += ap_finding_is_remark(finding);
        count++;
    }
    const struct ap_value *told[AP_REMARKS_SHOWN];
    size_t told_count = ap_finding_remarks(screen->root, told);
    /* a line each is kept for the remarks and for those that are left out */
    const size_t kept = told_count ? 2 : 1;
    size_t advice_lines = MOST_ADVICE;
    while (advice_lines > (screen->lines >= TALL ? 2u : 1u) &&
           screen->used + (count - remarks) * lines_of_one(screen, advice_lines) + kept - 1 > end)
        advice_lines--;
    for (const struct ap_value *finding = findings; finding; finding = finding->next) {
        if (ap_finding_is_remark(finding))
            continue;
        if (screen->used + lines_of_one(screen, advice_lines) + kept <= end || !number)
            write_finding(screen, finding, ++number, advice_lines);
        else
            left++;
    }
    if (left) {
        ap_out_format(&screen->out, "     and %zu more: " AP_OPTION_TABLE " findings", left);
        end_line(screen);
    }
    if (count == remarks && count)
        write_wrapped(screen, AP_TEXT("No findings: nothing above its threshold."), 0, 1);
    if (told_count)
        write_remarks(screen, told, told_count);
}

/* ---- foot ---- */

static void write_next_steps(struct screen *screen)
{
    const struct ap_text all =
        AP_TEXT("Whole report, with pictures: " AP_OPTION_HTML_OUT " report.html   Rows: " AP_OPTION_TABLE " NAME");
    if (all.bytes <= screen->width) {
        write_wrapped(screen, all, 0, 1);
        return;
    }
    write_wrapped(screen, AP_TEXT("Pictures: " AP_OPTION_HTML_OUT " report.html"), 0, 1);
    write_wrapped(screen, AP_TEXT("Rows: " AP_OPTION_TABLE " NAME"), 0, 1);
}

static void write_foot(struct screen *screen, const struct ap_summary_options *options)
{
    end_line(screen);
    for (size_t i = 0; i < options->file_count; i++) {
        ap_out_string(&screen->out, "Written: ");
        (void)write_name(screen, ap_text_of(options->files[i]), screen->width - strlen("Written: "));
        end_line(screen);
    }
    set(screen, "2");
    if (options->file_count)
        write_wrapped(screen, AP_TEXT("Rows: " AP_OPTION_TABLE " NAME"), 0, 1);
    else
        write_next_steps(screen);
    const struct ap_value *finding = ap_value_first(ap_value_member(screen->root, "findings"));
    struct ap_text id = ap_text_member(finding, "rule_id");
    if (id.bytes) {
        ap_out_string(&screen->out, "Why: " AP_OPTION_EXPLAIN " ");
        (void)ap_out_visible(&screen->out, id, screen->width - 15);
        end_line(screen);
    }
    set(screen, "0");
}

enum ap_status ap_write_summary(const struct ap_model *model, const struct ap_summary_options *options, struct ap_sink sink,
                                struct ap_error *reterr)
{
    struct screen screen = { .root = &model->root, .color = options->color };
    screen.width = options->width ? options->width : 80;
    screen.width = screen.width < MIN_WIDTH ? MIN_WIDTH : screen.width;
    screen.lines = options->lines ? options->lines : 24;
    screen.lines = screen.lines < MIN_LINES ? MIN_LINES : screen.lines;
    ap_out_init(&screen.out, sink);
    write_head(&screen);
    /* what stands below the findings, and the line of the prompt */
    size_t foot = 5 + options->file_count;
    write_findings(&screen, screen.lines > screen.used + foot + 2 ? screen.lines - screen.used - foot : 3);
    write_foot(&screen, options);
    return ap_out_finish(&screen.out, reterr);
}
