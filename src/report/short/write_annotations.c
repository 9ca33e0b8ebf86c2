/* SPDX-License-Identifier: MIT
 * write_annotations.c - workflow commands that GitHub Actions shows beside a run: ::error for conditions that hold,
 * ::warning for those that cannot be judged. Every finding that makes a severity of --fail-on hold is one, too: an error
 * from high on, else a warning. Of the others the two highest severities are warnings (with a baseline: those that are new
 * or worse). Where a finding names a line, it stands beside that. The runner takes ten of each kind from a step, so no more
 * are written; that there were more is told. */
#include <string.h>

#include "code_point.h"
#include "document.h"
#include "report.h"
#include "finding_level.h"

#include "poison.h"

#define MOST_OF_A_KIND 10

/* As the runner's toolkit escapes them: %, CR and LF in messages, the colon and comma in properties, too. What else would
 * move a terminal's cursor, hide or reorder is replaced. */
static void write_escaped(struct ap_out *out, struct ap_text text, bool in_property)
{
    for (size_t at = 0; at < text.bytes;) {
        uint32_t code_point = ap_code_point_next(text, &at);
        bool escaped = code_point == '%' || code_point == '\r' || code_point == '\n' ||
                       (in_property && (code_point == ':' || code_point == ','));
        char utf8[4];
        if (escaped)
            ap_out_format(out, "%%%02X", (unsigned)code_point);
        else if (ap_code_point_is_hidden(code_point))
            ap_out_char(out, '?');
        else
            ap_out_text(out, (struct ap_text){ utf8, ap_code_point_encode(code_point, utf8) });
    }
}

struct annotations {
    struct ap_out out;
    unsigned errors, warnings;
};

/* "model.py:48 forward" and "model.py(48): forward" name a file and a line; anything else names none. */
static bool find_line(struct ap_text where, struct ap_text *ret_file, struct ap_text *ret_line)
{
    size_t end = 0, digits = 0;
    while (end + 4 < where.bytes && memcmp(where.data + end, ".py", 3) != 0)
        end++;
    if (end + 4 >= where.bytes)
        return false;
    end += 3;
    if (where.data[end] != ':' && where.data[end] != '(')
        return false;
    const char *line = where.data + end + 1;
    while (end + 1 + digits < where.bytes && ap_is_digit(line[digits]))
        digits++;
    *ret_file = (struct ap_text){ where.data, end };
    *ret_line = (struct ap_text){ line, digits };
    return digits > 0;
}

static void annotate(struct annotations *to, bool error, struct ap_text title, struct ap_text message, struct ap_text where)
{
    unsigned *count = error ? &to->errors : &to->warnings;
    struct ap_text file, line;
    if (++*count > MOST_OF_A_KIND)
        return;
    ap_out_string(&to->out, error ? "::error " : "::warning ");
    if (find_line(where, &file, &line)) {
        ap_out_string(&to->out, "file=");
        write_escaped(&to->out, file, true);
        ap_out_string(&to->out, ",line=");
        write_escaped(&to->out, line, true);
        ap_out_string(&to->out, ",");
    }
    ap_out_string(&to->out, "title=");
    write_escaped(&to->out, title, true);
    ap_out_string(&to->out, "::");
    write_escaped(&to->out, message, false);
    ap_out_char(&to->out, '\n');
}

static void annotate_conditions(struct annotations *to, const struct ap_value *root)
{
    const struct ap_value *condition = ap_value_first(ap_value_member(root, "conditions"));
    for (; condition; condition = condition->next) {
        const struct ap_value *held = ap_value_member(condition, "held");
        bool known = held && held->type == AP_VALUE_BOOL;
        if (!known || held->as.integer)
            annotate(to, known, ap_text_member(condition, "condition"), ap_text_member(condition, "text"),
                     (struct ap_text){ NULL, 0 });
    }
}

/* ---- findings ---- */

/* From this severity on findings fail the run; AP_SEVERITY_COUNT_ where none does. */
static int failing_rank(const struct ap_value *root)
{
    int rank = AP_SEVERITY_COUNT_;
    const struct ap_value *condition = ap_value_first(ap_value_member(root, "conditions"));
    for (; condition; condition = condition->next) {
        struct ap_text words = ap_text_member(condition, "condition");
        int asked = (int)ap_severity_of(words);
        if (ap_text_starts_with(words, "new:")) /* what is new is told with a baseline anyway */
            continue;
        if (ap_text_is(ap_text_member(condition, "kind"), "severity") && ap_integer_member(condition, "held", 0) == 1 &&
            asked < rank)
            rank = asked;
    }
    return rank;
}

static void annotate_finding(struct annotations *to, const struct ap_value *finding, bool error)
{
    annotate(to, error, ap_text_member(finding, "title"), ap_text_member(finding, "observation"), ap_finding_where(finding));
}

/* All findings that fail the run, whatever the baseline had; without such those that matter most. */
static void annotate_findings(struct annotations *to, const struct ap_value *root, int failing, bool has_baseline)
{
    const struct ap_value *finding = ap_value_first(ap_value_member(root, "findings"));
    for (; finding; finding = finding->next) {
        int rank = (int)ap_severity_of(ap_text_member(finding, "severity"));
        if (rank >= failing)
            annotate_finding(to, finding, rank >= AP_SEVERITY_high);
        else if (!has_baseline && rank >= AP_SEVERITY_high)
            annotate_finding(to, finding, false);
    }
}

/* Those that fail the run stand there already. */
static void annotate_changes(struct annotations *to, const struct ap_value *root, int failing)
{
    const struct ap_value *row = ap_value_first(ap_value_at(root, "comparison.findings.rows"));
    for (; row; row = row->next) {
        struct ap_text change = ap_text_member(row, "change");
        int rank = (int)ap_severity_of(ap_text_member(row, "after_severity"));
        bool is_new = ap_text_is(change, "new");
        if ((is_new || ap_text_is(change, "worse")) && rank > AP_SEVERITY_info && rank < failing)
            annotate(to, false, is_new ? AP_TEXT("new finding") : AP_TEXT("finding is worse"), ap_text_member(row, "title"),
                     (struct ap_text){ NULL, 0 });
    }
}

static unsigned over(unsigned count)
{
    return count > MOST_OF_A_KIND ? count - MOST_OF_A_KIND : 0;
}

static void tell_the_rest(struct annotations *to)
{
    unsigned left = over(to->errors) + over(to->warnings);
    if (left)
        ap_out_format(&to->out, "::notice title=more annotations::%u more are left out; the report has all findings\n",
                      left);
}

enum ap_status ap_write_annotations(const struct ap_model *model, struct ap_sink sink, struct ap_error *reterr)
{
    struct annotations to = { .errors = 0 };
    int failing = failing_rank(&model->root);
    bool has_baseline = ap_value_first(ap_value_member(&model->root, "comparison")) != NULL;
    ap_out_init(&to.out, sink);
    annotate_conditions(&to, &model->root);
    annotate_findings(&to, &model->root, failing, has_baseline);
    annotate_changes(&to, &model->root, failing);
    tell_the_rest(&to);
    return ap_out_finish(&to.out, reterr);
}
