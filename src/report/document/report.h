/* SPDX-License-Identifier: MIT
 * report.h - the writers: the model's tree as JSON, and as Markdown and HTML for people.
 * They know the model and nothing of traces or snapshots. All write the same bytes for the same tree on every
 * machine, and all take every text of the tree as hostile: what names look like is decided in json_text, md_text and
 * html_text, at one place for each writer. */
#ifndef AP_REPORT_H
#define AP_REPORT_H

#include "analyze_profile/analyze_profile.h"
#include "model_build.h"
#include "out.h"

/** The whole tree, keys in tree order, two spaces an indentation step, one final newline. Always valid UTF-8 and
 *  valid JSON. Times become microseconds with up to three exact decimals, ratios and numbers at most nine digits,
 *  what is not finite null. AP_ERROR_LIMIT for a tree deeper than the model ever is; else what the sink says. */
AP_MUST_CHECK enum ap_status ap_write_json(const struct ap_model *model, struct ap_sink sink, struct ap_error *reterr);

/** A value and all below it, the same way; @one_line: without line breaks. */
AP_MUST_CHECK enum ap_status ap_json_write_value(struct ap_out *out, const struct ap_value *root, bool one_line,
                                                 struct ap_error *reterr);

/** The report for people, in CommonMark with GitHub's tables. The short one has at most 250 lines where what was
 *  asked for (conditions, labels) leaves room, and says what the whole one adds. Every figure in a table stands in the
 *  JSON at the path that the table names: exact, or rounded where it carries "%", "x", "/s" or "/step". Needs no memory;
 *  fails as the sink does. */
AP_MUST_CHECK enum ap_status ap_write_markdown(const struct ap_model *model, enum ap_extent extent, struct ap_sink sink,
                                               struct ap_error *reterr);

/** One screen for a terminal, and a digest of at most so many tokens. */
AP_MUST_CHECK enum ap_status ap_write_summary(const struct ap_model *model, const struct ap_summary_options *options,
                                              struct ap_sink sink, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_write_digest(const struct ap_model *model, uint64_t tokens, enum ap_words words,
                                             struct ap_sink sink, struct ap_error *reterr);

/** The conditions of --fail-on for build servers: JUnit XML, and the workflow commands of GitHub Actions. */
AP_MUST_CHECK enum ap_status ap_write_junit(const struct ap_model *model, struct ap_sink sink, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_write_annotations(const struct ap_model *model, struct ap_sink sink,
                                                  struct ap_error *reterr);
/** The report as one file of HTML that needs nothing else: below 1.5 MB for any model, lists cut where they must be.
 *  Needs some memory; fails as the sink does, too. */
AP_MUST_CHECK enum ap_status ap_write_html(const struct ap_model *model, struct ap_sink sink, struct ap_error *reterr);
/** Its pictures, each as a file of SVG. */
AP_MUST_CHECK enum ap_status ap_write_pictures(const struct ap_model *model, const struct ap_picture_taker *taker,
                                               struct ap_error *reterr);

#endif
