/* SPDX-License-Identifier: MIT */
#include "written.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "base.h"
#include "deflate.h"

#define STEP_SUMMARY_TOKENS 2000 /* a page, beside the summaries of other steps */

struct ap_cli_run {
    const struct ap_cli_options *options;
    struct ap_report *report;
};

static enum ap_status write_json(const struct ap_cli_run *run, ap_write_fn *write, void *write_self, struct ap_error *reterr)
{
    return ap_report_write_json(run->report, write, write_self, reterr);
}

static enum ap_status write_markdown(const struct ap_cli_run *run, ap_write_fn *write, void *write_self,
                                     struct ap_error *reterr)
{
    return ap_report_write_markdown(run->report, run->options->full ? AP_EXTENT_WHOLE : AP_EXTENT_SHORT, write, write_self,
                                    reterr);
}

static enum ap_status write_digest(const struct ap_cli_run *run, ap_write_fn *write, void *write_self,
                                   struct ap_error *reterr)
{
    return ap_report_write_digest(run->report, STEP_SUMMARY_TOKENS, write, write_self, reterr);
}

static enum ap_status write_html(const struct ap_cli_run *run, ap_write_fn *write, void *write_self, struct ap_error *reterr)
{
    return ap_report_write_html(run->report, write, write_self, reterr);
}

static enum ap_status write_trace(const struct ap_cli_run *run, ap_write_fn *write, void *write_self,
                                  struct ap_error *reterr)
{
    return ap_report_write_trace(run->report, &run->options->request, write, write_self, reterr);
}

static enum ap_status write_slice(const struct ap_cli_run *run, ap_write_fn *write, void *write_self,
                                  struct ap_error *reterr)
{
    return ap_report_write_slice(run->report, &run->options->request, write, write_self, reterr);
}

static enum ap_status write_ranks(const struct ap_cli_run *run, ap_write_fn *write, void *write_self,
                                  struct ap_error *reterr)
{
    return ap_report_write_ranks(run->report, write, write_self, reterr);
}

static enum ap_status write_folded(const struct ap_cli_run *run, ap_write_fn *write, void *write_self,
                                   struct ap_error *reterr)
{
    return ap_report_write_folded(run->report, write, write_self, reterr);
}

static enum ap_status write_junit(const struct ap_cli_run *run, ap_write_fn *write, void *write_self,
                                  struct ap_error *reterr)
{
    return ap_report_write_junit(run->report, write, write_self, reterr);
}

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

static enum ap_status write_first_picture(const struct ap_cli_run *run, ap_write_fn *write, void *write_self,
                                          struct ap_error *reterr)
{
    struct first_picture first = { write, write_self, 0 };
    const struct ap_picture_taker taker = { begin_picture, take_picture, end_picture, &first };
    AP_TRY(ap_report_write_pictures(run->report, &taker, reterr));
    if (first.begun)
        return AP_OK;
    return ap_fail(reterr, AP_ERROR_OUTPUT, "%.120s: there is no picture in this report", run->options->svg_out);
}

static enum ap_status write_stdout(const struct ap_cli_run *run, ap_write_fn *write, void *write_self,
                                   struct ap_error *reterr)
{
    return ap_cli_write_stdout(run->options, run->report, write, write_self, reterr);
}

void ap_cli_written_begin(struct ap_cli_written *written, const struct ap_cli_options *options)
{
    const struct {
        const char *path;
        ap_cli_write_fn *write;
        bool at_end;
    } all[AP_CLI_MAX_WRITINGS] = {
        { .path = options->json_out, .write = write_json },
        { .path = options->html_out, .write = write_html },
        { .path = options->trace_out, .write = write_trace },
        { .path = options->folded_out, .write = write_folded },
        { .path = options->junit_out, .write = write_junit },
        { .path = options->slice_out, .write = write_slice },
        { .path = options->summary_out, .write = write_ranks },
        { .path = options->md_out, .write = write_markdown },
        { .path = options->svg_out, .write = write_first_picture },
        { .path = options->step_summary ? getenv(AP_CLI_STEP_SUMMARY) : NULL, .write = write_digest, .at_end = true },
        { .path = ap_cli_uses_stdout(options) ? "-" : NULL, .write = write_stdout },
    };
    written->count = 0;
    for (size_t i = 0; i < AP_COUNT_OF(all); i++) {
        struct ap_cli_writing *writing = &written->writings[written->count];
        if (!all[i].path)
            continue;
        writing->path = all[i].path;
        writing->write = all[i].write;
        writing->at_end = all[i].at_end;
        writing->output.file = -1;
        written->count++;
    }
    written->pictures = (struct ap_cli_pictures){ .folder = options->pictures_out, .options = options };
}

enum ap_status ap_cli_written_open(struct ap_cli_written *written, struct ap_error *reterr)
{
    enum ap_status status = ap_cli_pictures_open(&written->pictures, reterr);
    for (size_t i = 0; i < written->count && status == AP_OK; i++)
        status = (written->writings[i].at_end ? ap_output_open_end : ap_output_open)(&written->writings[i].output,
                                                                                     written->writings[i].path, reterr);
    return status;
}

/* Compressed where the name says so. */
static enum ap_status write_named(const struct ap_cli_run *run, struct ap_cli_writing *writing, struct ap_error *reterr)
{
    size_t bytes = strlen(writing->path);
    if (bytes < 3 || strcmp(writing->path + bytes - 3, ".gz") != 0)
        return writing->write(run, ap_output_write, &writing->output, reterr);
    struct ap_deflate deflate;
    AP_TRY(ap_deflate_init(&deflate, ap_output_write, &writing->output, reterr));
    enum ap_status status = writing->write(run, ap_deflate_write, &deflate, reterr);
    if (status == AP_OK)
        status = ap_deflate_finish(&deflate, reterr);
    ap_deflate_release(&deflate);
    return status;
}

static enum ap_status write_one(const struct ap_cli_run *run, struct ap_cli_writing *writing, struct ap_error *reterr)
{
    enum ap_status status = write_named(run, writing, reterr);
    return status == AP_OK ? ap_output_close(&writing->output, reterr) : status;
}

enum ap_status ap_cli_written_write(struct ap_cli_written *written, const struct ap_cli_options *options,
                                    struct ap_report *report, struct ap_error *reterr)
{
    const struct ap_cli_run run = { options, report };
    enum ap_status status = ap_cli_pictures_write(&written->pictures, report, reterr);
    for (size_t i = 0; i < written->count && status == AP_OK; i++)
        status = write_one(&run, &written->writings[i], reterr);
    if (status == AP_OK)
        status = ap_cli_pictures_commit(&written->pictures, reterr);
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
