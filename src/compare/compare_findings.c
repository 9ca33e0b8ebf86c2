/* SPDX-License-Identifier: MIT
 * compare_findings.c - findings that are new, gone, worse or better. */
#include <stdio.h>
#include <string.h>

#include "comparing.h"
#include "severity.h"

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

/* What another recording would tell more of is nothing that changed in the run. */
static bool is_about_the_run(const struct ap_value *finding)
{
    return ap_severity_rank(ap_text_member(finding, "severity")) >= AP_SEVERITY_medium &&
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

/* NULL = none that could save more than the noise. Rows are in the order of the findings of their side. */
static const struct ap_value *weightiest(const struct ap_comparing *comparing, const struct ap_value *side,
                                         const char *change, const char *saves_key)
{
    const struct ap_value *row = ap_value_first(ap_value_at(comparing->comparison, "findings.rows"));
    for (; row; row = row->next) {
        double saving;
        const struct ap_value *finding = find(side, "findings", ap_text_member(row, "rule_id"));
        if (ap_text_is(ap_text_member(row, "change"), change) && is_about_the_run(finding) &&
            !is_wait_for_device(comparing, finding) && saving_of(row, saves_key, 1, &saving) &&
            saving >= comparing->noise_ratio * comparing->whole_ns)
            return finding;
    }
    return NULL;
}

/* A finding may come and go by chance, or as its share of the time does. So of steps that got longer what is new is told, of
 * shorter ones what is gone; of runs without steps both. Two rules for one thing take turns: neither is news then. */
void ap_add_findings_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    static const char *const words[] = { "new", "gone" };
    static const enum ap_change fitting[] = { AP_CHANGE_worse, AP_CHANGE_better };
    const struct ap_value *told[] = { weightiest(comparing, comparing->after, "new", "after_saves_us"),
                                      weightiest(comparing, comparing->before, "gone", "before_saves_us") };
    enum ap_change change = comparing->behind ? comparing->longer_change : comparing->step_change;
    if (told[0] && told[1] && ap_text_equal(ap_text_member(told[0], "bottleneck"), ap_text_member(told[1], "bottleneck")))
        return;
    for (size_t i = 0; i < AP_COUNT_OF(told); i++) {
        struct ap_text title = ap_text_member(told[i], "title");
        size_t used = strlen(text);
        if (told[i] && (!comparing->per_step || change == fitting[i]))
            (void)snprintf(text + used, bytes - used, "; %s: %.*s", words[i], (int)title.bytes, title.data);
    }
}
