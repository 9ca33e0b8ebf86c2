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

/* Length of the longest front of @text that fits @columns and ends at a space; a longer word is cut. */
static size_t fitting(struct ap_text text, size_t columns)
{
    size_t best = 0;
    for (size_t at = 0; at <= text.bytes; at++) {
        if (at < text.bytes && text.data[at] != ' ')
            continue;
        if (ap_visible_columns((struct ap_text){ text.data, at }) > columns)
            break;
        best = at;
    }
    return best ? best : text.bytes;
}

/* What fits one line: cut behind a whole word, where there is one. */
static void write_fitting(struct screen *screen, struct ap_text text, size_t columns)
{
    size_t bytes = text.bytes;
    if (ap_visible_columns(text) > columns)
        bytes = fitting(text, columns - 4);
    (void)ap_out_visible(&screen->out, (struct ap_text){ text.data, bytes }, columns);
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
        write_wrapped(screen, ap_text_of(alert), 0, screen->lines < SHORT ? 1 : 2);
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
        write_wrapped(screen, ap_text_of(line), 0, screen->lines < SHORT ? 1 : 2);
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
        struct ap_text path = ap_value_text(ap_value_at(screen->root, paths[i]));
        if (!path.bytes)
            continue;
        set(screen, "2");
        (void)ap_out_visible(&screen->out, path, screen->width);
        set(screen, "0");
        end_line(screen);
    }
    write_alerts(screen);
    write_series(screen);
    ap_headline_verdict(screen->root, fact);
    set(screen, "1");
    write_wrapped(screen, ap_text_of(fact), 0, 3);
    set(screen, "0");
    size_t facts = ap_value_first(ap_value_at(screen->root, "series.points")) ? 1 : 3;
    for (size_t i = 0; i < facts && ap_headline_fact(screen->root, i, fact); i++)
        write_wrapped(screen, ap_text_of(fact), 0, screen->lines < SHORT ? 1 : 2);
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

enum { SEVERITY_COLUMNS = 8, FINDING_INDENT = 14 };

static bool is_info(const struct ap_value *finding)
{
    return ap_text_is(ap_text_member(finding, "severity"), "info");
}

/* The line, operator, kernel or place that the finding is about. */
static void write_where(struct screen *screen, const struct ap_value *finding)
{
    char where[AP_FACT_BYTES];
    const struct ap_value *cause = ap_value_first(ap_value_member(finding, "affected"));
    struct ap_text name = ap_finding_where(finding);
    size_t others = 0, columns = screen->width - FINDING_INDENT;
    for (const struct ap_value *other = cause; other && other->next; other = other->next)
        others++;
    if (!name.bytes)
        return;
    char more[40] = "";
    if (others)
        (void)snprintf(more, sizeof(more), " and %zu more", others);
    size_t room = columns > strlen(more) + 3 ? columns - strlen(more) - 3 : columns;
    (void)snprintf(where, sizeof(where), "%.*s", (int)(name.bytes > 200 ? 200 : name.bytes), name.data);
    ap_out_format(&screen->out, "%*sin ", FINDING_INDENT, "");
    (void)ap_out_visible(&screen->out, ap_text_of(where), room);
    ap_out_string(&screen->out, more);
    end_line(screen);
}

static void write_finding(struct screen *screen, const struct ap_value *finding, size_t number)
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
    write_fitting(screen, title, screen->width - FINDING_INDENT);
    end_line(screen);
    if (screen->lines >= SHORT)
        write_where(screen, finding);
    (void)snprintf(advice, sizeof(advice), "%s%s%.*s", gain, gain[0] ? ": " : "",
                   (int)(action.bytes > 400 ? 400 : action.bytes), action.data);
    write_wrapped(screen, ap_text_of(advice), FINDING_INDENT, screen->lines >= TALL ? 2 : 1);
}

/* What is no more than good to know, in one line. */
static void write_remarks(struct screen *screen, const struct ap_value *finding, size_t remarks)
{
    char titles[AP_FACT_BYTES];
    size_t used = 0;
    titles[0] = '\0';
    for (; finding; finding = finding->next) {
        struct ap_text title = ap_text_member(finding, "title");
        if (is_info(finding) && used + title.bytes + 3 < sizeof(titles))
            used += (size_t)snprintf(titles + used, sizeof(titles) - used, "%s%.*s", used ? "; " : "", (int)title.bytes,
                                     title.data);
    }
    ap_out_format(&screen->out, "     info     %zu: ", remarks);
    write_fitting(screen, ap_text_of(titles), screen->width - FINDING_INDENT - 6);
    end_line(screen);
}

static void write_findings(struct screen *screen, size_t lines)
{
    const struct ap_value *findings = ap_value_first(ap_value_member(screen->root, "findings"));
    size_t number = 0, end = screen->used + lines, left = 0, remarks = 0;
    end_line(screen);
    if (!findings)
        write_wrapped(screen, AP_TEXT("No findings: nothing above its threshold."), 0, 1);
    for (const struct ap_value *finding = findings; finding; finding = finding->next)
        remarks += is_info(finding);
    for (const struct ap_value *finding = findings; finding; finding = finding->next) {
        /* a line each is kept for the remarks and for those that are left out */
        size_t lines_of_one = screen->lines >= TALL ? 4 : screen->lines >= SHORT ? 3 : 2;
        size_t needs = lines_of_one + (remarks ? 2 : 1);
        if (is_info(finding))
            continue;
        if (screen->used + needs <= end || !number)
            write_finding(screen, finding, ++number);
        else
            left++;
    }
    if (left) {
        ap_out_format(&screen->out, "     and %zu more: " AP_OPTION_TABLE " findings", left);
        end_line(screen);
    }
    if (remarks)
        write_remarks(screen, findings, remarks);
}

/* ---- foot ---- */

static void write_foot(struct screen *screen, const struct ap_summary_options *options)
{
    end_line(screen);
    for (size_t i = 0; i < options->file_count; i++) {
        ap_out_string(&screen->out, "Written: ");
        (void)ap_out_visible(&screen->out, ap_text_of(options->files[i]), screen->width - 9);
        end_line(screen);
    }
    set(screen, "2");
    write_wrapped(screen,
                  options->file_count ? AP_TEXT("Rows: " AP_OPTION_TABLE " NAME.")
                                      : AP_TEXT("Whole report, with pictures: " AP_OPTION_OUTPUT
                                                " report.html. Rows: " AP_OPTION_TABLE " NAME."),
                  0, 2);
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
