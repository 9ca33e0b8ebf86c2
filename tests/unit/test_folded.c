/* SPDX-License-Identifier: MIT
 * Folded stacks through the library: every allocation in use at the peak, one line a stack, nothing that breaks a line. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze_profile/analyze_profile.h"
#include "tap.h"

struct text {
    char data[4096];
    size_t bytes;
};

static enum ap_status take(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct text *text = self;
    (void)reterr;
    if (bytes < sizeof(text->data) - text->bytes) {
        memcpy(text->data + text->bytes, data, bytes);
        text->bytes += bytes;
    }
    text->data[text->bytes] = '\0';
    return AP_OK;
}

static enum ap_status fold(const char *json, bool with_folded, struct text *ret_text)
{
    char path[] = "/tmp/folded_XXXXXX";
    struct ap_report *report;
    struct ap_error error;
    int file = mkstemp(path);
    size_t bytes = strlen(json);
    if (file < 0)
        return AP_ERROR_OUTPUT;
    bool written = write(file, json, bytes) == (ssize_t)bytes;
    (void)close(file);
    struct ap_request request = { .memory_json_path = path, .with_folded = with_folded, .top_n = 1 };
    enum ap_status status = written ? ap_report_new(&request, &report, NULL, &error) : AP_ERROR_OUTPUT;
    (void)unlink(path);
    *ret_text = (struct text){ .bytes = 0 };
    if (status != AP_OK)
        return status;
    status = ap_report_write_folded(report, take, ret_text, &error);
    ap_report_free(report);
    return status;
}

#define BLOCK(address, bytes, frames)                                                                                       \
    "{\"address\":" address ",\"size\":512,\"requested_size\":" bytes ",\"state\":\"active_allocated\",\"frames\":[" frames \
    "]}"
#define FRAME(file, line, name) "{\"filename\":\"" file "\",\"line\":" line ",\"name\":\"" name "\"}"
#define SEGMENT(device, blocks)                                                                                 \
    "{\"device\":" device ",\"address\":4096,\"total_size\":2048,\"allocated_size\":1024,\"active_size\":1024," \
    "\"requested_size\":1000,\"stream\":0,\"segment_type\":\"small\",\"blocks\":[" blocks "]}"

static void one_device(void)
{
    struct text text;
    is_int(
        fold("{\"segments\":[" SEGMENT(
                 "0", BLOCK("4096", "300", FRAME("b.py", "2", "g") "," FRAME("a.py", "1", "f")) "," BLOCK(
                          "4608", "200",
                          FRAME("b.py", "2", "g") "," FRAME(
                              "a.py", "1", "f")) "," BLOCK("5120", "500",
                                                           "") "," BLOCK("5632", "7",
                                                                         FRAME("x;y\\nz.py", "0",
                                                                               "\\u202ename") "," FRAME("", "0", ""))) "]}",
             true, &text),
        AP_OK, "a snapshot is folded");
    is_str(text.data,
           "no stack recorded 500\n"
           "a.py:1 f;b.py:2 g 500\n"
           "(unnamed);x,y\\u{a}z.py \\u{202e}name 7\n",
           "outermost first, equal stacks together, nothing breaks a line");
}

static void two_devices(void)
{
    struct text text;
    is_int(fold("{\"segments\":[" SEGMENT("1", BLOCK("4096", "5", FRAME("b.py", "2", "g"))) "," SEGMENT(
                    "0", BLOCK("4096", "3", "")) "]}",
                true, &text),
           AP_OK, "two devices are folded");
    is_str(text.data, "device 0;no stack recorded 3\ndevice 1;b.py:2 g 5\n", "each under its name");
}

static void nothing_kept(void)
{
    struct text text;
    is_int(fold("{\"segments\":[]}", false, &text), AP_ERROR_USAGE, "what was not kept cannot be written");
    is_int(fold("{\"segments\":[]}", true, &text), AP_OK, "an empty snapshot is fine");
    is_int((long long)text.bytes, 0, "and empty");
}

int main(void)
{
    one_device();
    two_devices();
    nothing_kept();
    return done();
}
