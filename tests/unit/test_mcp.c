/* SPDX-License-Identifier: MIT
 * The server of the Model Context Protocol without its process: what may be opened, what is answered to what, nothing kept
 * from one request to the next, and every allocation that can fail. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json_check.h"
#include "mcp.h"
#include "mcp_roots.h"
#include "mcp_text.h"
#include "tap.h"

#define TRACE                                                                                                           \
    "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5}," \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":4,\"dur\":9,\"args\":{\"device\":0," \
    "\"stream\":7}}]}"

static char folder[] = "/tmp/test_mcp_XXXXXX";

static void make_path(char path[256], const char *name)
{
    (void)snprintf(path, 256, "%s/%s", folder, name);
}

static void write_file(const char *name, const char *text)
{
    char path[256];
    make_path(path, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text) || close(file) != 0)
        abort();
}

static void link_to(const char *target, const char *name)
{
    char path[256];
    make_path(path, name);
    if (symlink(target, path) != 0)
        abort();
}

static void make_tree(void)
{
    char path[256], target[256];
    if (!mkdtemp(folder))
        abort();
    const char *const folders[] = { "root", "root/deep", "rootless", "outside" };
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        make_path(path, folders[i]);
        if (mkdir(path, 0700) != 0)
            abort();
    }
    write_file("root/t.json", TRACE);
    write_file("root/deep/t.json", TRACE);
    write_file("root/-", TRACE);
    write_file("outside/t.json", TRACE);
    write_file("rootless/t.json", TRACE);
    link_to("deep/t.json", "root/inner");
    link_to("../outside/t.json", "root/escape");
    make_path(target, "outside/t.json");
    link_to(target, "root/absolute");
    make_path(target, "root/t.json");
    link_to(target, "root/absolute_inner");
    link_to("../outside", "root/folder");
    link_to("loop", "root/loop");
    link_to("root", "alias");
    make_path(path, "root/fifo");
    if (mkfifo(path, 0600) != 0)
        abort();
}

/* ---- roots ---- */

static bool opens(struct ap_mcp_roots *roots, const char *path)
{
    struct ap_error error;
    int fd = -1;
    if (ap_mcp_roots_open(roots, path, &fd, &error) != AP_OK)
        return false;
    return close(fd) == 0;
}

static void roots_hold(void)
{
    struct ap_gate gate;
    struct ap_mcp_roots roots;
    struct ap_error error;
    char root[256], alias[256], path[256];
    const char *failed = NULL, *paths[2] = { root, alias };
    ap_gate_init(&gate, 0);
    make_path(root, "root");
    make_path(alias, "alias");
    is_int(ap_mcp_roots_init(&roots, &gate, paths, 2, &failed, &error), AP_OK, "a directory and a link to one are roots");
    const char *const good[] = { "t.json",         "./t.json", "deep/t.json", "deep/../t.json", "inner",
                                 "absolute_inner", "-",        "fifo",        "deep//t.json" };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        ok(opens(&roots, good[i]), good[i]);
    const char *const bad[] = { "escape",
                                "absolute",
                                "folder/t.json",
                                "../outside/t.json",
                                "../rootless/t.json",
                                "deep/../../outside/t.json",
                                "/etc/passwd",
                                "/proc/self/environ",
                                "/dev/stdin",
                                "loop",
                                "",
                                ".",
                                "..",
                                "/",
                                "none",
                                "t.json/x",
                                "../root",
                                "../alias" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ok(!opens(&roots, bad[i]), bad[i]);
    make_path(path, "root/t.json");
    ok(opens(&roots, path), "an absolute path below a root");
    make_path(path, "alias/t.json");
    ok(opens(&roots, path), "an absolute path through a link that leads there");
    make_path(path, "rootless/t.json");
    ok(!opens(&roots, path), "a directory whose name begins as that of the root does");
    make_path(path, "root");
    ok(!opens(&roots, path), "the root itself");
    struct ap_error outside, absent;
    int fd;
    (void)!ap_mcp_roots_open(&roots, "/etc/passwd", &fd, &outside);
    (void)!ap_mcp_roots_open(&roots, "/etc/no-such-file", &fd, &absent);
    is_str(outside.message, absent.message, "what is elsewhere and what is nowhere are told in the same words");
    ap_mcp_roots_release(&roots);
    is_int((int64_t)gate.used_bytes, 0, "nothing is kept");
    paths[1] = "/no/such/folder";
    is_int(ap_mcp_roots_init(&roots, &gate, paths, 2, &failed, &error), AP_ERROR_USAGE, "a root that is not there");
    is_str(failed, "/no/such/folder", "is named");
    make_path(path, "root/t.json");
    paths[1] = path;
    is_int(ap_mcp_roots_init(&roots, &gate, paths, 2, &failed, &error), AP_ERROR_USAGE, "a file is no root");
    is_int((int64_t)gate.used_bytes, 0, "and nothing is kept");
    paths[1] = "/";
    is_int(ap_mcp_roots_init(&roots, &gate, paths + 1, 1, &failed, &error), AP_OK,
           "everything can be a root, if that is what is said");
    ok(opens(&roots, "/etc/passwd") && !opens(&roots, "/"), "then all can be opened");
    ap_mcp_roots_release(&roots);
}

/* ---- text ---- */

static void text_is_bounded(void)
{
    struct ap_gate gate;
    struct ap_mcp_text text;
    struct ap_error error;
    ap_gate_init(&gate, 0);
    ap_mcp_text_init(&text, &gate, 10);
    ok(ap_mcp_text_add(&text, "one\ntwo\nthree\n", &error) == AP_OK && text.cut, "more than fits is no failure");
    ok(ap_mcp_text_end(&text, "cut\n", &error) == AP_OK, "ended");
    is_text(((struct ap_text){ text.data, text.bytes }), "one\ntwo\ncut\n", "whole lines are kept");
    ap_mcp_text_release(&text);
    ap_mcp_text_init(&text, &gate, 4);
    ok(ap_mcp_text_add(&text, "abc\xe2\x82\xac", &error) == AP_OK && ap_mcp_text_end(&text, "!", &error) == AP_OK,
       "one long line");
    is_text(((struct ap_text){ text.data, text.bytes }), "abc!", "no half characters");
    ap_mcp_text_release(&text);
    ap_mcp_text_init(&text, &gate, 100);
    const char *json = "{\n  \"a b\\\" c\": [ 1, \"\\\\\" ,\n\t\"x y\" ]\r\n}\n";
    for (const char *at = json; *at; at++) /* a byte at a time */
        if (ap_mcp_text_write_json(&text, at, 1, &error) != AP_OK)
            abort();
    is_text(((struct ap_text){ text.data, text.bytes }), "{\"a b\\\" c\":[1,\"\\\\\",\"x y\"]}",
            "JSON on one line, texts as they are");
    ap_mcp_text_release(&text);
    is_int((int64_t)gate.used_bytes, 0, "nothing is kept");
}

/* ---- answers ---- */

struct answer {
    char data[1 << 20];
    size_t bytes;
};

static struct answer answer;

static enum ap_status take(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct answer *to = self;
    (void)reterr;
    if (bytes >= sizeof(to->data) - to->bytes)
        return AP_ERROR_OUTPUT;
    memcpy(to->data + to->bytes, data, bytes);
    to->bytes += bytes;
    to->data[to->bytes] = '\0';
    return AP_OK;
}

static struct ap_mcp_server *new_server(int64_t fail_after)
{
    static char root[256];
    static const char *roots[1] = { root };
    struct ap_mcp_options options = { .roots = roots, .root_count = 1, .fail_after = fail_after };
    struct ap_mcp_server *server;
    const char *path;
    struct ap_error error;
    make_path(root, "root");
    return ap_mcp_server_new(&options, &server, &path, &error) == AP_OK ? server : NULL;
}

static const char *ask(struct ap_mcp_server *server, const char *line)
{
    struct ap_error error;
    answer.bytes = 0;
    answer.data[0] = '\0';
    if (ap_mcp_server_answer(server, line, strlen(line), take, &answer, &error) != AP_OK)
        return "(failed)";
    return answer.data;
}

#define REQUEST(id, method, params) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define INITIALIZE(version) REQUEST("0", "initialize", "{\"protocolVersion\":\"" version "\",\"capabilities\":{}}")
#define CALL(name, arguments) REQUEST("7", "tools/call", "{\"name\":\"" name "\",\"arguments\":" arguments "}")

static void error_code_is(struct ap_mcp_server *server, const char *line, const char *code, const char *claim)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof(wanted), "\"error\":{\"code\":%s,", code);
    if (!ok(strstr(ask(server, line), wanted) != NULL, claim))
        tap_show("answer", answer.data, answer.bytes);
}

static void protocol(void)
{
    struct ap_mcp_server *server = new_server(0);
    error_code_is(server, REQUEST("1", "tools/list", "{}"), "-32600", "nothing before initialize");
    is_str(ask(server, REQUEST("\"a\\u0000b\"", "ping", "{}")), "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0000b\",\"result\":{}}\n",
           "but ping");
    ok(strstr(ask(server, INITIALIZE("1999-01-01")), "\"protocolVersion\":\"2025-11-25\"") != NULL,
       "an unknown version: the newest");
    error_code_is(server, "[" REQUEST("1", "ping", "{}") "]", "-32600", "lists are not of this version");
    ok(strstr(ask(server, INITIALIZE("2024-11-05")), "\"protocolVersion\":\"2024-11-05\"") != NULL, "an old version");
    ok(strstr(ask(server, INITIALIZE("2025-03-26")), "\"protocolVersion\":\"2025-03-26\"") != NULL, "the one with lists");
    is_str(ask(server, "[" REQUEST("1", "ping", "{}") "," REQUEST("2", "ping", "{}") "]"),
           "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]\n",
           "has a list of answers");
    is_str(ask(server, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]"), "",
           "and no answer to notifications");
    error_code_is(server, "[]", "-32600", "an empty list");
    const char *const silent[] = {
        "",
        " \r\t",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":1,\"message\":\"\"}}"
    };
    for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
        is_str(ask(server, silent[i]), "", "no answer is due");
    const struct {
        const char *line, *code;
    } wrong[] = {
        { "{", "-32700" },
        { "nonsense", "-32700" },
        { "{} {}", "-32700" },
        { "{\"jsonrpc\":\"2.0\",\"id\":NaN,\"method\":\"ping\"}", "-32700" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xff\"}", "-32700" },
        { "1", "-32600" },
        { "null", "-32600" },
        { "{}", "-32600" },
        { "{\"id\":1,\"method\":\"ping\"}", "-32600" },
        { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "-32600" },
        { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "-32600" },
        { "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"ping\"}", "-32600" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", "-32600" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1}", "-32600" },
        { REQUEST("1", "resources/list", "{}"), "-32601" },
        { REQUEST("1", "ping", "[]"), "-32602" },
        { REQUEST("1", "initialize", "{}"), "-32602" },
        { REQUEST("1", "tools/list", "{\"cursor\":\"x\"}"), "-32602" },
        { REQUEST("1", "tools/call", "{}"), "-32602" },
        { REQUEST("1", "tools/call", "{\"name\":\"rm\"}"), "-32602" },
        { REQUEST("1", "tools/call", "{\"name\":\"analyze\",\"arguments\":[]}"), "-32602" },
        { CALL("analyze", "{}"), "-32602" },
        { CALL("analyze", "{\"paths\":\"t.json\"}"), "-32602" },
        { CALL("analyze", "{\"paths\":[]}"), "-32602" },
        { CALL("analyze", "{\"paths\":[7]}"), "-32602" },
        { CALL("analyze", "{\"paths\":[\"\"]}"), "-32602" },
        { CALL("analyze", "{\"paths\":[\"t.json\\u0000x\"]}"), "-32602" },
        { CALL("analyze", "{\"paths\":[\"t.json\"],\"rubric\":\"x\"}"), "-32602" },
        { CALL("analyze", "{\"paths\":[\"t.json\"],\"focus\":\"cp\"}"), "-32602" },
        { CALL("analyze", "{\"paths\":[\"t.json\"],\"max_tokens\":199}"), "-32602" },
        { CALL("analyze", "{\"paths\":[\"t.json\"],\"max_tokens\":1e99}"), "-32602" },
        { CALL("analyze", "{\"paths\":[\"t.json\"],\"max_tokens\":\"400\"}"), "-32602" },
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        error_code_is(server, wrong[i].line, wrong[i].code, wrong[i].line);
    ap_mcp_server_free(server);
}

static bool is_one_line_of_json(void)
{
    return answer.bytes && memchr(answer.data, '\n', answer.bytes) == answer.data + answer.bytes - 1 &&
           json_is_valid(answer.data, answer.bytes - 1);
}

/* The first ones read no file. */
static const char *const calls[] = {
    REQUEST("1", "tools/list", "{}"),
    CALL("analyze", "{\"paths\":[\"fifo\"]}"),
    CALL("analyze", "{\"paths\":[\"none\"]}"),
    CALL("compare", "{\"paths\":[\"t.json\"],\"baseline\":\"escape\"}"),
    CALL("analyze", "{\"paths\":[\"t.json\",\"deep/t.json\"]}"),
    CALL("analyze", "{\"paths\":[\"t.json\"]}"),
    CALL("analyze", "{\"paths\":[\"t.json\"],\"focus\":\"gpu\",\"phase\":\"forward\",\"max_tokens\":200}"),
    CALL("compare",
         "{\"paths\":[\"t.json\"],\"baseline\":\"deep/t.json\",\"conditions\":[\"high\",\"steps.p50_us > +5%\"]}"),
    CALL("compare", "{\"paths\":[\"t.json\"],\"baseline\":\"deep/t.json\",\"conditions\":[\"nonsense > 5\"]}"),
    CALL("explain", "{\"id\":\"steps.p50_us\"}"),
    CALL("explain", "{\"id\":\"dataloader-in-process\",\"paths\":[\"t.json\"]}"),
    CALL("list_metrics", "{\"contains\":\"GPU\",\"limit\":5}"),
    CALL("list_metrics", "{\"of\":\"rules\",\"max_tokens\":200}"),
    CALL("table", "{\"paths\":[\"t.json\"],\"name\":\"kernels\",\"where\":\"dur_us > 1us\",\"sort\":\"dur_us\"}"),
    CALL("around", "{\"paths\":[\"t.json\"],\"id\":\"row:1\"}"),
    CALL("list_inputs", "{}"),
    CALL("list_inputs", "{\"under\":\"deep\",\"limit\":1}"),
    CALL("table", "{\"paths\":[\"t.json\"],\"name\":\"kernels\",\"form\":\"compact\"}"),
    CALL("capture", "{}"),
    CALL("capture", "{\"paths\":[\"t.json\"]}"),
    CALL("what_if", "{\"paths\":[\"t.json\"],\"changes\":[\"kernel like * speedup 2\",\"op ~ mm gone\"]}"),
    CALL("what_if", "{\"paths\":[\"t.json\"],\"changes\":[\"color = red gone\"]}"),
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
};
#define CHEAP_COUNT 3
#define CALL_COUNT (sizeof(calls) / sizeof(calls[0]))

static void phases_are_those_of_the_library(void)
{
    struct ap_mcp_server *server = new_server(0);
    char wanted[512] = "\"enum\":[\"";
    size_t bytes = strlen(wanted);
    for (const char *at = ap_phase_names(); *at && bytes < sizeof(wanted) - 8; at++) {
        bool next = *at == ',';
        memcpy(wanted + bytes, next ? "\",\"" : at, next ? 3 : 1);
        bytes += next ? 3 : 1;
        at += next; /* the blank */
    }
    memcpy(wanted + bytes, "\"]", 3);
    (void)ask(server, INITIALIZE("2025-06-18"));
    if (!ok(strstr(ask(server, calls[0]), wanted) != NULL, "the phases are those that the library knows"))
        note(wanted);
    ap_mcp_server_free(server);
}

#define CALL_WITH(name, arguments, token) \
    REQUEST("7", "tools/call", "{\"name\":\"" name "\",\"arguments\":" arguments ",\"_meta\":{\"progressToken\":" token "}}")

/* The notifications before the answer: how many there are; -1 where one is none, or does not tell more than the one before.
 */
static int count_progress(const char *token)
{
    char begin[256];
    int count = 0;
    long long before = 0, now, total;
    (void)snprintf(
        begin, sizeof(begin),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":", token);
    const char *line = answer.data;
    for (const char *end; (end = strchr(line, '\n')) != NULL && end[1]; line = end + 1, count++) {
        if (strncmp(line, begin, strlen(begin)) != 0 || !json_is_valid(line, (size_t)(end - line)) ||
            sscanf(line + strlen(begin), "%lld,\"total\":%lld}}", &now, &total) != 2 || now <= before || now > total)
            return -1;
        before = now;
    }
    return strncmp(line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\"", 32) == 0 ? count : -1;
}

static void progress_is_told(void)
{
    struct ap_mcp_server *server = new_server(0);
    (void)ask(server, INITIALIZE("2025-06-18"));
    (void)ask(server, CALL_WITH("analyze", "{\"paths\":[\"t.json\"]}", "\"a\\\"b\""));
    ok(count_progress("\"a\\\"b\"") > 0, "a client that gives a token hears of progress before the answer");
    (void)ask(server, CALL_WITH("compare", "{\"paths\":[\"t.json\"],\"baseline\":\"deep/t.json\"}", "12"));
    ok(count_progress("12") > 0, "of two inputs it grows, too");
    (void)ask(server, CALL_WITH("explain", "{\"id\":\"steps.p50_us\"}", "12"));
    is_int(count_progress("12"), 0, "nothing is told where nothing is read");
    (void)ask(server, CALL_WITH("analyze", "{\"paths\":[\"none\"]}", "12"));
    is_int(count_progress("12"), 0, "nor where it cannot be");
    (void)ask(server, CALL_WITH("analyze", "{\"paths\":[\"t.json\"]}", "[1]"));
    ok(is_one_line_of_json(), "a token that is neither text nor number is none");
    (void)ask(server, INITIALIZE("2025-03-26"));
    (void)ask(server, "[" CALL_WITH("analyze", "{\"paths\":[\"t.json\"]}", "1") "," REQUEST("2", "ping", "{}") "]");
    ok(is_one_line_of_json(), "a list of answers is one line");
    ap_mcp_server_free(server);
}

static void nothing_is_kept(void)
{
    struct ap_mcp_server *server = new_server(0);
    bool kept = false, valid = true;
    (void)ask(server, INITIALIZE("2025-06-18"));
    uint64_t held_bytes = ap_mcp_server_held_bytes(server);
    for (size_t i = 0; i < 3000; i++) {
        (void)ask(server, calls[i % (i < 10 * CALL_COUNT ? CALL_COUNT : CHEAP_COUNT)]);
        kept |= ap_mcp_server_held_bytes(server) != held_bytes;
        if (i < CALL_COUNT)
            valid &= is_one_line_of_json();
    }
    ok(valid, "each answer is one line of JSON");
    ok(!kept, "3,000 requests later the server holds what it held");
    ap_mcp_server_free(server);
}

/* Whatever fails for want of memory, there is one answer, or none where the request cannot even be read. */
static void memory_ends_anywhere(void)
{
    bool valid = true, refused = false, all_served = true;
    const size_t tried[] = { CHEAP_COUNT + 4, CHEAP_COUNT + 8, CHEAP_COUNT + 10, CHEAP_COUNT + 13 };
    for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
        bool served = false;
        for (int64_t fail_after = 1; fail_after < 2000 && !served; fail_after++) {
            struct ap_mcp_server *server = new_server(fail_after);
            refused |= !server;
            if (!server)
                continue;
            uint64_t held_bytes = ap_mcp_server_held_bytes(server);
            (void)ask(server, INITIALIZE("2025-06-18"));
            valid &= is_one_line_of_json();
            (void)ask(server, calls[tried[i]]);
            valid &= is_one_line_of_json() && ap_mcp_server_held_bytes(server) == held_bytes;
            served = strstr(answer.data, "\"isError\":false") != NULL;
            ap_mcp_server_free(server);
        }
        all_served &= served;
    }
    ok(refused && all_served, "some allocations are those of the start, and in the end all succeed");
    ok(valid, "each answer is one line of JSON, and nothing is kept");
}

static void remove_tree(void)
{
    static const char *const paths[] = { "root/t.json",    "root/deep/t.json", "root/-",
                                         "outside/t.json", "rootless/t.json",  "root/inner",
                                         "root/escape",    "root/absolute",    "root/absolute_inner",
                                         "root/folder",    "root/loop",        "alias",
                                         "root/fifo",      "root/deep",        "root",
                                         "rootless",       "outside" };
    char path[256];
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        make_path(path, paths[i]);
        (void)remove(path);
    }
    (void)rmdir(folder);
}

/* ---- a report outlives its request ---- */

static const char *no_time(void *self)
{
    (void)self;
    return "there is no time";
}

static enum ap_status drop(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    (void)self, (void)data, (void)bytes, (void)reterr;
    return AP_OK;
}

static void a_report_asks_who_asks_it(void)
{
    char path[256];
    struct ap_report *report;
    struct ap_error error;
    const struct ap_table_query query = { .name = "operators", .format = AP_FORMAT_TEXT };
    make_path(path, "root/t.json");
    struct ap_request request = { .cpu_trace_path = path, .with_rows = true, .top_n = 1 };
    is_int(ap_report_new(&request, &report, NULL, &error), AP_OK, "a report that nobody gives up");
    ap_report_set_stop(report, no_time, NULL);
    is_int(ap_report_write_table(report, &query, drop, NULL, &error), AP_ERROR_LIMIT, "a question that is given up");
    ap_report_set_stop(report, NULL, NULL);
    is_int(ap_report_write_table(report, &query, drop, NULL, &error), AP_OK, "and the next one, which is not");
    ap_report_free(report);
}

int main(void)
{
    make_tree();
    roots_hold();
    text_is_bounded();
    protocol();
    phases_are_those_of_the_library();
    progress_is_told();
    nothing_is_kept();
    memory_ends_anywhere();
    a_report_asks_who_asks_it();
    remove_tree();
    return done();
}
