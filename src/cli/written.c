/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "written.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "answers.h"
#include "base.h"
#include "deflate.h"
#include "places.h"

#define STEP_SUMMARY_TOKENS 2000 /* a page, beside the summaries of other steps */

/* Of all pictures the first passes. */
struct first_picture {
    ap_write_fn *write;
    void *write_self;
    size_t begun;
};

static enum ap_status begin_picture(void *self, const char *name, struct ap_error *reterr)
{
    struct first_picture *first = self;
    (void)name;
    (void)reterr;
    first->begun++;
    return AP_OK;
}

static enum ap_status take_picture(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct first_picture *first = self;
    return first->begun == 1 ? first->write(first->write_self, data, bytes, reterr) : AP_OK;
}

static enum ap_status end_picture(void *self, struct ap_error *reterr)
{
    (void)self;
    (void)reterr;
    return AP_OK;
}

static enum ap_status write_first_picture(const struct ap_cli_options *options, const struct ap_report *report,
                                          ap_write_fn *write, void *write_self, struct ap_error *reterr)
{
    struct first_picture first = { write, write_self, 0 };
    const struct ap_picture_taker taker = { begin_picture, take_picture, end_picture, &first };
    AP_TRY(ap_report_write_pictures(report, &taker, reterr));
    if (first.begun)
        return AP_OK;
    return ap_fail(reterr, AP_ERROR_OUTPUT, "%.120s: there is no picture in this report", options->svg_out);
}

/* In the order in which they are written. */
enum form { JSON, HTML, TRACE, FOLDED, JUNIT, SLICE, RANKS, MARKDOWN, PICTURE, STEP_SUMMARY, STDOUT };
_Static_assert(STDOUT + 1 == AP_CLI_MAX_WRITINGS, "a writing of each form");

static enum ap_status write_form(enum form form, const struct ap_cli_options *options, struct ap_report *report,
                                 ap_write_fn *write, void *self, struct ap_error *reterr)
{
    switch (form) {
    case JSON: return ap_report_write_json(report, write, self, reterr);
    case HTML: return ap_report_write_html(report, write, self, reterr);
    case TRACE: return ap_report_write_trace(report, &options->request, write, self, reterr);
    case FOLDED: return ap_report_write_folded(report, write, self, reterr);
    case JUNIT: return ap_report_write_junit(report, write, self, reterr);
    case SLICE: return ap_report_write_slice(report, &options->request, write, self, reterr);
    case RANKS: return ap_report_write_ranks(report, write, self, reterr);
    case MARKDOWN:
        return ap_report_write_markdown(report, options->full ? AP_EXTENT_WHOLE : AP_EXTENT_SHORT, write, self, reterr);
    case PICTURE: return write_first_picture(options, report, write, self, reterr);
    case STEP_SUMMARY: return ap_report_write_digest(report, STEP_SUMMARY_TOKENS, write, self, reterr);
    case STDOUT: return ap_cli_write_stdout(options, report, write, self, reterr);
    }
    return AP_OK;
}

void ap_cli_written_begin(struct ap_cli_written *written, const struct ap_cli_options *options)
{
    const char *const paths[] = {
        [JSON] = options->json_out,
        [HTML] = options->html_out,
        [TRACE] = options->trace_out,
        [FOLDED] = options->folded_out,
        [JUNIT] = options->junit_out,
        [SLICE] = options->slice_out,
        [RANKS] = options->summary_out,
        [MARKDOWN] = options->md_out,
        [PICTURE] = options->svg_out,
        [STEP_SUMMARY] = options->step_summary ? getenv(AP_CLI_STEP_SUMMARY) : NULL,
        [STDOUT] = ap_cli_uses_stdout(options) ? "-" : NULL,
    };
    written->count = 0;
    for (unsigned form = 0; form < AP_COUNT_OF(paths); form++)
        if (paths[form])
            written->writings[written->count++] =
                (struct ap_cli_writing){ .output.file = -1, .path = paths[form], .form = form };
    written->pictures = (struct ap_cli_pictures){ .folder = options->pictures_out, .options = options };
}

enum ap_status ap_cli_written_open(struct ap_cli_written *written, struct ap_error *reterr)
{
    enum ap_status status = ap_cli_pictures_open(&written->pictures, reterr);
    for (size_t i = 0; i < written->count && status == AP_OK; i++)
        status = (written->writings[i].form == STEP_SUMMARY
                      ? ap_output_open_end /* behind what the file holds */
                      : ap_output_open)(&written->writings[i].output, written->writings[i].path, reterr);
    return status;
}

/* Compressed where the name says so. */
static enum ap_status write_named(const struct ap_cli_options *options, struct ap_report *report,
                                  struct ap_cli_writing *writing, struct ap_error *reterr)
{
    enum form form = (enum form)writing->form;
    if (!ap_text_ends_with(ap_text_of(writing->path), ".gz"))
        return write_form(form, options, report, ap_output_write, &writing->output, reterr);
    struct ap_deflate deflate;
    AP_TRY(ap_deflate_init(&deflate, ap_output_write, &writing->output, reterr));
    enum ap_status status = write_form(form, options, report, ap_deflate_write, &deflate, reterr);
    AP_AND_THEN(status, ap_deflate_finish(&deflate, reterr));
    ap_deflate_release(&deflate);
    return status;
}

/* The file that it replaces, or goes on. */
static bool find_place(const struct ap_output *output, struct stat *ret_status)
{
    bool known = *output->target ? stat(output->target, ret_status) == 0 : fstat(output->file, ret_status) == 0;
    return known && S_ISREG(ret_status->st_mode);
}

/* Found in a folder, so that nothing but the report knows of it. */
static enum ap_status spare_inputs(const struct ap_cli_written *written, const struct ap_report *report,
                                   struct ap_error *reterr)
{
    struct stat status;
    for (size_t i = 0; i < written->count; i++)
        if (find_place(&written->writings[i].output, &status) && ap_report_has_read(report, status.st_dev, status.st_ino))
            return ap_fail(reterr, AP_ERROR_USAGE, AP_CLI_OVER_INPUT);
    return AP_OK;
}

enum ap_status ap_cli_written_write(struct ap_cli_written *written, const struct ap_cli_options *options,
                                    struct ap_report *report, struct ap_error *reterr)
{
    enum ap_status status = spare_inputs(written, report, reterr);
    AP_AND_THEN(status, ap_cli_pictures_write(&written->pictures, report, reterr));
    struct ap_cli_options done = *options;
    if (!written->pictures.first) /* a screen tells what was written beside it */
        done.pictures_out = NULL;
    for (size_t i = 0; i < written->count && status == AP_OK; i++) {
        status = write_named(&done, report, &written->writings[i], reterr);
        AP_AND_THEN(status, ap_output_close(&written->writings[i].output, reterr));
    }
    AP_AND_THEN(status, ap_cli_pictures_commit(&written->pictures, reterr));
    for (size_t i = 0; i < written->count && status == AP_OK; i++)
        status = ap_output_commit(&written->writings[i].output, reterr);
    return status;
}

void ap_cli_written_release(struct ap_cli_written *written)
{
    ap_cli_pictures_release(&written->pictures);
    for (size_t i = 0; i < written->count; i++)
        ap_output_discard(&written->writings[i].output);
}
