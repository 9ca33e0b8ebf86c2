/* SPDX-License-Identifier: MIT
 * compare_findings.c - findings that are new, gone, worse or better. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comparing.h"
#include "severity.h"
#include "value_text.h"

#include "poison.h"

static const struct ap_value *find(const struct ap_value *root, const char *list, struct ap_text rule)
{
    const struct ap_value *entry = ap_value_first(ap_value_at(root, list));
    while (entry && !ap_text_equal(ap_text_member(entry, "rule_id"), rule))
        entry = entry->next;
    return entry;
}

static bool saving_of(const struct ap_value *finding, const char *key, double parts, double *ret_saving)
{
    double saving;
    bool known = ap_value_number(ap_value_member(finding, key), &saving);
    *ret_saving = known ? saving / parts : 0;
    return known;
}

/* A later severity is worse, whatever it costs; at the same one what it costs decides. */
static enum ap_change plain_change_of(const struct ap_comparing *comparing, const struct ap_value *before,
                                      const struct ap_value *after)
{
    int from = ap_severity_rank(ap_text_member(before, "severity")),
        to = ap_severity_rank(ap_text_member(after, "severity"));
    double was, is;
    if (from != to)
        return to > from ? AP_CHANGE_worse : AP_CHANGE_better;
    if (saving_of(before, "saves_us", comparing->before_parts, &was) &&
        saving_of(after, "saves_us", comparing->after_parts, &is)) {
        double size = was > is ? was - is : is - was;
        if (ap_relative_difference(was, is) >= comparing->noise_ratio && size >= AP_ROW_LEAST_RATIO * comparing->whole_ns)
            return ap_change_of(is - was, AP_BETTER_lower);
    }
    if (saving_of(before, "saves_bytes", 1, &was) && saving_of(after, "saves_bytes", 1, &is)) {
        double size = was > is ? was - is : is - was;
        if (ap_relative_difference(was, is) >= AP_SIZE_LEAST_RATIO && size >= AP_SIZE_LEAST_BYTES)
            return ap_change_of(is - was, AP_BETTER_lower);
    }
    return AP_CHANGE_none;
}

/* What saves no time of kernels saves time in which the device waits. */
static bool is_about_waiting(const struct ap_value *finding)
{
    const struct ap_value *saving = ap_value_member(finding, "saves_us");
    return saving && saving->type == AP_VALUE_TIME_NS && !ap_text_is(ap_text_member(finding, "domain"), "gpu");
}

static enum ap_change change_of(const struct ap_comparing *comparing, const struct ap_value *before,
                                const struct ap_value *after)
{
    enum ap_change change = plain_change_of(comparing, before, after);
    return is_about_waiting(after) ? ap_change_of_share(comparing, change) : change;
}

/* Sizes repeat from run to run, times do not. */
static enum ap_change said_of(const struct ap_comparing *comparing, const struct ap_value *finding, enum ap_change change)
{
    const struct ap_value *bytes = ap_value_member(finding, "saves_bytes");
    return bytes && bytes->type == AP_VALUE_BYTES ? change : ap_change_said(comparing, change);
}

/* One side of a finding that is on both or on one. */
static void add_side(struct ap_comparing *comparing, struct ap_value *row, const struct ap_value *finding, bool before)
{
    static const char *const severity[] = { "after_severity", "before_severity" };
    static const char *const saves_us[] = { "after_saves_us", "before_saves_us" };
    static const char *const saves_bytes[] = { "after_saves_bytes", "before_saves_bytes" };
    const struct ap_value *time = ap_value_member(finding, "saves_us"), *bytes = ap_value_member(finding, "saves_bytes");
    struct ap_model *model = comparing->model;
    double parts = before ? comparing->before_parts : comparing->after_parts;
    ap_add_known_text(model, row, severity[before], finding != NULL, ap_text_member(finding, "severity"));
    ap_add_known_time(model, row, saves_us[before], time && time->type == AP_VALUE_TIME_NS,
                      ap_share_of(ap_value_integer(time, 0), 1 / parts));
    ap_add_known_bytes(model, row, saves_bytes[before], bytes && bytes->type == AP_VALUE_BYTES, ap_value_integer(bytes, 0));
}

static void add_finding(struct ap_comparing *comparing, struct ap_value *list, const struct ap_value *before,
                        const struct ap_value *after, const char *change)
{
    const struct ap_value *told = after ? after : before;
    struct ap_value *row = ap_add_object(comparing->model, list, NULL);
    ap_add_text(comparing->model, row, "rule_id", ap_text_member(told, "rule_id"));
    ap_add_text(comparing->model, row, "title", ap_text_member(told, "title"));
    ap_add_string(comparing->model, row, "change", change);
    add_side(comparing, row, before, true);
    add_side(comparing, row, after, false);
}

/* A finding that is there no more is gone only where its rule could be judged. */
static const char *gone_or_not_judged(const struct ap_value *root, struct ap_text rule, const char *gone)
{
    return find(root, "not_evaluated", rule) ? "not judged" : gone;
}

void ap_compare_findings(struct ap_comparing *comparing)
{
    struct ap_value *findings = ap_add_object(comparing->model, comparing->comparison, "findings");
    struct ap_value *list = ap_add_list(comparing->model, findings, "rows");
    int64_t same = 0;
    const struct ap_value *after = ap_value_first(ap_value_at(comparing->after, "findings"));
    for (; after; after = after->next) {
        struct ap_text rule = ap_text_member(after, "rule_id");
        const struct ap_value *before = find(comparing->before, "findings", rule);
        enum ap_change change = before ? change_of(comparing, before, after) : AP_CHANGE_none;
        if (!before)
            add_finding(comparing, list, NULL, after, gone_or_not_judged(comparing->before, rule, "new"));
        else if (change != AP_CHANGE_none)
            add_finding(comparing, list, before, after, ap_change_name(said_of(comparing, after, change)));
        else
            same++;
    }
    const struct ap_value *before = ap_value_first(ap_value_at(comparing->before, "findings"));
    for (; before; before = before->next) {
        struct ap_text rule = ap_text_member(before, "rule_id");
        if (!find(comparing->after, "findings", rule))
            add_finding(comparing, list, before, NULL, gone_or_not_judged(comparing->after, rule, "gone"));
    }
    ap_add_count(comparing->model, findings, "same_count", same);
}

/* What another recording would tell more of is nothing that changed in the run. A low one is news where it is most of what
 * changed. */
static bool is_about_the_run(const struct ap_value *finding, bool explains)
{
    return ap_severity_rank(ap_text_member(finding, "severity")) >= (explains ? AP_SEVERITY_low : AP_SEVERITY_medium) &&
           !ap_text_is(ap_text_member(finding, "domain"), "quality");
}

/* Where kernels that take longer are why steps do, the host waits longer in whatever call it waits in: no news of the
 * host. */
static bool is_wait_for_device(const struct ap_comparing *comparing, const struct ap_value *finding)
{
    const struct ap_value *device = ap_value_member(comparing->comparison, "device");
    return comparing->device_change == AP_CHANGE_worse && ap_text_is(ap_text_member(finding, "domain"), "cpu") &&
           ap_explains_step(comparing, (double)ap_integer_member(device, "delta_us", 0));
}

/* Of work that takes longer, cores are taken away for longer: where the work is another one, that is no news of the
 * machine. */
static bool is_load_of_more_work(const struct ap_comparing *comparing, const struct ap_value *finding)
{
    return ap_text_is(ap_text_member(finding, "rule_id"), "threads-off-core") && ap_is_other_work(comparing);
}

static bool is_of_other_cause(const struct ap_comparing *comparing, const struct ap_value *finding)
{
    return is_wait_for_device(comparing, finding) || is_load_of_more_work(comparing, finding);
}

/* By how much steps are longer in the mean, where few of them are why: their median does not show it. */
static double longer_in_mean_ns(const struct ap_comparing *comparing)
{
    const struct ap_value *steps = ap_value_member(comparing->comparison, "steps");
    return ap_integer_member(steps, "long_count", 0) <= 0 ? 0
                                                          : (double)ap_integer_member(steps, "after_mean_us", 0) -
                                                                (double)ap_integer_member(steps, "before_mean_us", 0);
}

/* Of what steps changed by, in the median or in the mean. */
static bool is_most_of_it(const struct ap_comparing *comparing, double delta_ns)
{
    double mean_ns = longer_in_mean_ns(comparing);
    return ap_explains_step(comparing, delta_ns) ||
           (mean_ns > 0 ? delta_ns >= mean_ns / 2 : mean_ns < 0 && delta_ns <= mean_ns / 2);
}

struct news {
    const struct ap_value *finding; /* NULL = none that could save more than the noise, or most of what steps changed by */
    double saves_ns;
};

/* Rows are in the order of the findings of their side. */
static struct news weightiest(const struct ap_comparing *comparing, bool is_new)
{
    const char *change = is_new ? "new" : "gone", *saves_key = is_new ? "after_saves_us" : "before_saves_us";
    const struct ap_value *row = ap_value_first(ap_value_at(comparing->comparison, "findings.rows"));
    for (; row; row = row->next) {
        struct news news;
        news.finding = find(is_new ? comparing->after : comparing->before, "findings", ap_text_member(row, "rule_id"));
        if (!ap_text_is(ap_text_member(row, "change"), change) || is_of_other_cause(comparing, news.finding) ||
            !saving_of(row, saves_key, 1, &news.saves_ns))
            continue;
        bool explains = is_most_of_it(comparing, is_new ? news.saves_ns : -news.saves_ns);
        if (is_about_the_run(news.finding, explains) &&
            (explains || news.saves_ns >= comparing->noise_ratio * comparing->whole_ns))
            return news;
    }
    return (struct news){ NULL, 0 };
}

/* Findings of both sides, of which one tells of so much more, or less, that this is most of what changed. */
static void add_grown_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    const struct ap_value *row = ap_value_first(ap_value_at(comparing->comparison, "findings.rows"));
    for (; row; row = row->next) {
        double before_ns, after_ns;
        char before[AP_VALUE_TEXT_BYTES], after[AP_VALUE_TEXT_BYTES];
        const struct ap_value *finding = find(comparing->after, "findings", ap_text_member(row, "rule_id"));
        struct ap_text title = ap_text_member(row, "title");
        if (!saving_of(row, "before_saves_us", 1, &before_ns) || !saving_of(row, "after_saves_us", 1, &after_ns) ||
            !is_most_of_it(comparing, after_ns - before_ns) || !is_about_the_run(finding, true) ||
            is_of_other_cause(comparing, finding))
            continue;
        (void)ap_format_value(ap_value_member(row, "before_saves_us"), before, sizeof(before));
        (void)ap_format_value(ap_value_member(row, "after_saves_us"), after, sizeof(after));
        size_t used = strlen(text);
        (void)snprintf(text + used, bytes - used, "; %s than before: %.*s (at most %s a step, %s before)",
                       after_ns > before_ns ? "more" : "less", (int)title.bytes, title.data, after, before);
        return;
    }
}

/* Two rules for one thing, of which one tells of about as much as the other did. */
static bool take_turns(const struct ap_comparing *comparing, const struct news told[2])
{
    return told[0].finding && told[1].finding &&
           ap_text_equal(ap_text_member(told[0].finding, "bottleneck"), ap_text_member(told[1].finding, "bottleneck")) &&
           fabs(told[0].saves_ns - told[1].saves_ns) < comparing->noise_ratio * comparing->whole_ns;
}

/* A finding may come and go by chance, or as its share of the time does. So of steps that got longer what is new is told, of
 * shorter ones what is gone; of runs without steps both. */
void ap_add_findings_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    static const char *const words[] = { "new", "gone" };
    static const enum ap_change fitting[] = { AP_CHANGE_worse, AP_CHANGE_better };
    const struct news told[] = { weightiest(comparing, true), weightiest(comparing, false) };
    bool has_steps = comparing->per_step || ap_are_runs_of_ranks(comparing);
    enum ap_change change = comparing->behind     ? comparing->longer_change
                            : comparing->per_step ? comparing->step_change
                            : has_steps           ? ap_compare_cluster(comparing)
                                                  : AP_CHANGE_none;
    double mean_ns = longer_in_mean_ns(comparing);
    size_t start = strlen(text);
    for (size_t i = 0; i < AP_COUNT_OF(told) && !take_turns(comparing, told); i++) {
        struct ap_text title = ap_text_member(told[i].finding, "title");
        size_t used = strlen(text);
        if (told[i].finding && (!has_steps || change == fitting[i] || (i == 0 ? mean_ns > 0 : mean_ns < 0)))
            (void)snprintf(text + used, bytes - used, "; %s: %.*s", words[i], (int)title.bytes, title.data);
    }
    if (strlen(text) == start)
        add_grown_sentence(comparing, text, bytes);
}
