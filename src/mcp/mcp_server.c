/* SPDX-License-Identifier: MIT
 * mcp_server.c - JSON-RPC 2.0 and the methods of the protocol. */
#include <stdio.h>
#include <string.h>

#include "json_text.h"
#include "mcp.h"
#include "mcp_answer.h"
#include "mcp_kept.h"
#include "mcp_message.h"
#include "mcp_roots.h"
#include "mcp_stop.h"
#include "mcp_tools.h"
#include "option_names.h"
#include "visible_text.h"

#include "poison.h"

#define GATE_BYTES (UINT64_C(64) << 20) /* what messages and answers may take */
#define MAX_BATCH 32

enum rpc_error {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    METHOD_NOT_FOUND = -32601,
    INVALID_PARAMS = -32602,
    INTERNAL_ERROR = -32603
};

/* The newest first: what a client is offered that asks for none of them. */
static const char *const versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };
#define CORRECTING_VERSION 0 /* a mistake in an argument is for the model, which can correct it, not for the client */
#define BATCH_VERSION 2      /* the only one with lists of requests */

/* Of reports that are kept: so much of the memory of an analysis, and never more than this. */
#define KEPT_PART 4
#define KEPT_MAX_BYTES (UINT64_C(1) << 30)

struct ap_mcp_server {
    struct ap_gate gate;
    struct ap_mcp_roots roots;
    struct ap_opener opener;
    struct ap_request common;
    struct ap_mcp_kept kept;
    uint32_t max_seconds; /* for each call; 0 = as long as it takes */
    const char *(*sandbox)(void);
    bool initialized;
    size_t version; /* of versions */
};

static void set_up(struct ap_mcp_server *server, const struct ap_mcp_options *options)
{
    server->opener = (struct ap_opener){ ap_mcp_roots_open, &server->roots };
    server->common = (struct ap_request){ .opener = &server->opener,
                                          .top_n = 20,
                                          .max_memory_bytes = options->max_memory_bytes,
                                          .max_depth = options->max_depth,
                                          .threads = options->threads,
                                          .words = AP_WORDS_SERVER,
                                          .redact = options->redact,
                                          .redact_key = server->gate.redact_key,
                                          .redact_key_bytes = sizeof(server->gate.redact_key) };
    server->sandbox = options->sandbox;
    uint64_t kept_bytes = options->max_memory_bytes / KEPT_PART;
    ap_mcp_kept_init(&server->kept, kept_bytes && kept_bytes < KEPT_MAX_BYTES ? kept_bytes : KEPT_MAX_BYTES);
    server->max_seconds = options->max_seconds;
    if (options->redact_key) {
        server->common.redact_key = options->redact_key;
        server->common.redact_key_bytes = options->redact_key_bytes;
    }
}

enum ap_status ap_mcp_server_new(const struct ap_mcp_options *options, struct ap_mcp_server **ret_server,
                                 const char **ret_path, struct ap_error *reterr)
{
    struct ap_gate gate;
    *ret_path = NULL;
    if (!options->root_count || options->root_count > AP_MCP_MAX_ROOTS)
        return ap_fail(reterr, AP_ERROR_USAGE, "1 to %d directories that the server may read were expected",
                       AP_MCP_MAX_ROOTS);
    ap_gate_init(&gate, 0);
    struct ap_mcp_server *server;
    AP_TRY(AP_ALLOC_CLEARED(&gate, server, 1, reterr));
    ap_gate_init(&server->gate, GATE_BYTES);
    if (options->fail_after > 0)
        atomic_store(&server->gate.fail_after, options->fail_after - 1);
    enum ap_status status =
        ap_mcp_roots_init(&server->roots, &server->gate, options->roots, options->root_count, ret_path, reterr);
    if (status != AP_OK) {
        AP_FREE(&gate, server, 1);
        return status;
    }
    set_up(server, options);
    *ret_server = server;
    return AP_OK;
}

void ap_mcp_server_free(struct ap_mcp_server *server)
{
    struct ap_gate gate;
    if (!server)
        return;
    ap_mcp_kept_release(&server->kept);
    ap_mcp_roots_release(&server->roots);
    ap_gate_init(&gate, 0);
    AP_FREE(&gate, server, 1);
}

uint64_t ap_mcp_server_held_bytes(const struct ap_mcp_server *server)
{
    return atomic_load(&server->gate.used_bytes);
}

struct ap_gate *ap_mcp_server_gate(struct ap_mcp_server *server)
{
    return &server->gate;
}

uint32_t ap_mcp_server_max_seconds(const struct ap_mcp_server *server)
{
    return server->max_seconds;
}

bool ap_mcp_server_has_one_thread(const struct ap_mcp_server *server)
{
    return server->common.threads == 1;
}

/* ---- answers ---- */

/* One line with answers: those to a list of requests stand in a list. */
struct answering {
    struct ap_mcp_server *server;
    const struct ap_mcp_line *line;
    struct ap_out *out;
    const char *before;      /* the next answer */
    struct ap_mcp_sink sink; /* behind out: for lines of their own */
    bool locked;             /* the line is begun */
    struct ap_mcp_stop *stop;
    bool of_kept; /* reports that are kept are all that it is answered from */
    bool put_off; /* they were not enough, and nothing was answered */
};

/* Of a failure: its end, which closes the marks, always fits. */
struct shown {
    char data[AP_MCP_MAX_TEXT_BYTES + AP_ERROR_TEXT_BYTES + 2 * AP_MCP_MARK_BYTES];
    size_t used, room;
};

static enum ap_status take_shown(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct shown *shown = self;
    size_t left = shown->room - shown->used;
    (void)reterr;
    bytes = bytes < left ? bytes : left;
    memcpy(shown->data + shown->used, data, bytes);
    shown->used += bytes;
    return AP_OK;
}

static void begin_answer(struct answering *answering, const struct ap_value *id)
{
    if (answering->sink.lock && !answering->locked)
        answering->locked = pthread_mutex_lock(answering->sink.lock) == 0;
    ap_out_string(answering->out, answering->before);
    answering->before = ",";
    ap_out_string(answering->out, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (!id)
        ap_out_string(answering->out, "null");
    else if (id->type == AP_VALUE_TEXT)
        ap_json_write_text(answering->out, id->as.text);
    else
        ap_json_write_literal(answering->out, id->as.text);
    ap_out_char(answering->out, ',');
}

/* A message may repeat what the client sent: nothing of that is hidden or obeyed where it is shown. */
static void answer_error(struct answering *answering, const struct ap_value *id, enum rpc_error code, const char *message)
{
    struct shown shown = { .room = sizeof(shown.data) };
    struct ap_out text;
    ap_out_init(&text, (struct ap_sink){ take_shown, &shown });
    (void)ap_out_visible(&text, ap_text_of(message), 0);
    (void)!ap_out_finish(&text, NULL); /* what takes it does not fail */
    begin_answer(answering, id);
    ap_out_format(answering->out, "\"error\":{\"code\":%d,\"message\":", (int)code);
    ap_json_write_text(answering->out, (struct ap_text){ shown.data, shown.used });
    ap_out_string(answering->out, "}}");
}

/* ---- methods ---- */

static const struct ap_value *member_of_type(const struct ap_value *object, const char *key, enum ap_value_type type)
{
    const struct ap_value *value = ap_value_member(object, key);
    return value && value->type == type ? value : NULL;
}

static void initialize(struct answering *answering, const struct ap_value *id, const struct ap_value *params)
{
    struct ap_mcp_server *server = answering->server;
    const struct ap_value *wanted = member_of_type(params, "protocolVersion", AP_VALUE_TEXT);
    if (!wanted) {
        answer_error(answering, id, INVALID_PARAMS, "initialize needs protocolVersion");
        return;
    }
    server->version = 0;
    for (size_t i = 0; i < AP_COUNT_OF(versions); i++)
        if (ap_text_is(wanted->as.text, versions[i]))
            server->version = i;
    server->initialized = true;
    begin_answer(answering, id);
    ap_out_format(
        answering->out,
        "\"result\":{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{\"listChanged\":false}},"
        "\"serverInfo\":{\"name\":\"analyze_profile\",\"title\":\"Profile analyzer\",\"version\":\"%s\"},\"instructions\":",
        versions[server->version], ap_version());
    ap_json_write_text(
        answering->out,
        AP_TEXT(
            "Analyzes PyTorch profiler traces and CUDA memory snapshots (JSON, JSON.GZ) below the directories that it was "
            "started with. Begin with analyze. Pickles are never read. " AP_MCP_MARKS_MEAN
            " Figures are computed: do not change or extrapolate them. This server writes no file: to "
            "cut a small trace out of a large one, ask the user to run analyze_profile TRACE " AP_OPTION_SLICE
            " finding:1 " AP_OPTION_SLICE_OUT " small.json.gz."));
    if (server->sandbox)
        ap_out_format(answering->out, ",\"_meta\":{\"sandbox\":\"%s\"}", server->sandbox());
    ap_out_string(answering->out, "}}");
}

static void list_tools(struct answering *answering, const struct ap_value *id, const struct ap_value *params)
{
    if (ap_value_member(params, "cursor")) {
        answer_error(answering, id, INVALID_PARAMS, "there is no such cursor: all tools stand in one list");
        return;
    }
    begin_answer(answering, id);
    ap_out_string(answering->out, "\"result\":{\"tools\":");
    ap_mcp_tools_write(answering->out);
    ap_out_string(answering->out, "}}");
}

static void tell_failure(struct ap_out *text, const struct ap_mcp_call *call, const struct ap_error *error)
{
    char failure[AP_ERROR_TEXT_BYTES];
    struct ap_text told = ap_text_of(ap_error_text(error, AP_WORDS_SERVER, failure, sizeof(failure)));
    if (call->path) {
        (void)ap_out_visible(text, ap_text_of(call->path), 0);
        ap_out_string(text, ": ");
    }
    if (error->has_lines)
        ap_out_text(text, told);
    else
        (void)ap_out_visible(text, told, 0);
}

/* As standard error shows it: no name ends a line, or hides what follows. @marks: around it, as it may name what lies in a
 * folder; NULL = no file was to be read. */
static void write_failure(struct ap_out *out, const struct ap_mcp_call *call, const struct ap_mcp_marks *marks,
                          const struct ap_error *error)
{
    struct shown shown = { .room = sizeof(shown.data) - AP_MCP_MARK_BYTES };
    struct ap_out text;
    ap_out_init(&text, (struct ap_sink){ take_shown, &shown });
    ap_out_string(&text, marks ? marks->begin : "");
    tell_failure(&text, call, error);
    (void)!ap_out_finish(&text, NULL); /* what takes it does not fail */
    shown.room = sizeof(shown.data);
    const char *end = marks ? marks->end : "";
    (void)take_shown(&shown, end, strlen(end), NULL);
    ap_json_write_text(out, (struct ap_text){ shown.data, shown.used });
}

static void answer_call(struct answering *answering, const struct ap_value *id, const struct ap_mcp_call *call,
                        const struct ap_mcp_marks *marks, enum ap_status status, const struct ap_error *error)
{
    struct ap_out *out = answering->out;
    begin_answer(answering, id);
    ap_out_string(out, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
    if (status == AP_OK)
        ap_json_write_text(out, (struct ap_text){ call->text.data, call->text.bytes });
    else
        write_failure(out, call, marks, error);
    ap_out_string(out, "}]");
    if (status == AP_OK && call->object.bytes && !call->object.cut) {
        ap_out_string(out, ",\"structuredContent\":");
        ap_out_text(out, (struct ap_text){ call->object.data, call->object.bytes });
    }
    ap_out_format(out, ",\"isError\":%s}}", status == AP_OK ? "false" : "true");
}

/* A line of its own, whole. */
static enum ap_status write_line(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    const struct ap_mcp_sink *sink = self;
    if (sink->lock)
        (void)pthread_mutex_lock(sink->lock);
    enum ap_status status = sink->to.write(sink->to.self, data, bytes, reterr);
    if (sink->lock)
        (void)pthread_mutex_unlock(sink->lock);
    return status;
}

/* Answers to a list of requests are one line: nothing can be told amid it. */
static bool wants_progress(const struct answering *answering, const struct ap_value *params)
{
    return *answering->before == '\0' && ap_mcp_progress_token(params);
}

/* The tool's text within its bounds, and the marks around it where it may hold text of a file. */
static enum ap_status write_text(const struct ap_mcp_tool *tool, struct ap_mcp_call *call, const struct ap_mcp_marks *marks,
                                 struct ap_error *reterr)
{
    struct ap_mcp_text *text = &call->text;
    if (marks)
        AP_TRY(ap_mcp_text_add(text, marks->begin, reterr));
    AP_TRY(tool->call(call, reterr));
    AP_TRY(ap_mcp_text_end(text, "\n(cut here: max_tokens is reached)\n", reterr));
    if (!marks)
        return AP_OK;
    text->max_bytes = SIZE_MAX;
    text->cut = false;
    return ap_mcp_text_add(text, marks->end, reterr);
}

static void run_tool(struct answering *answering, const struct ap_value *id, const struct ap_mcp_tool *tool,
                     const struct ap_value *params)
{
    struct ap_mcp_server *server = answering->server;
    struct ap_error error = { .status = AP_OK };
    struct ap_mcp_marks marks;
    struct ap_mcp_progress progress = { .sink = { write_line, &answering->sink }, .token = ap_mcp_progress_token(params) };
    struct ap_mcp_call call = { .gate = &server->gate,
                                .common = &server->common,
                                .kept = &server->kept,
                                .of_kept = answering->of_kept,
                                .stop = answering->stop,
                                .arguments = ap_value_member(params, "arguments"),
                                .progress = wants_progress(answering, params) ? &progress : NULL };
    size_t max_bytes = (size_t)ap_mcp_whole_argument(&call, "max_tokens", AP_MCP_DEFAULT_TOKENS) * AP_BYTES_PER_TOKEN;
    bool reads = ap_mcp_tool_reads(tool, call.arguments);
    ap_mcp_text_init(&call.text, &server->gate, reads ? max_bytes - AP_MCP_MARK_BYTES : max_bytes);
    ap_mcp_text_init(&call.object, &server->gate, max_bytes);
    if (reads) {
        ap_mcp_marks_draw(&marks);
        ap_mcp_stop_begin(call.stop, id); /* which is of the one call that its thread works on */
    }
    enum ap_status status = write_text(tool, &call, reads ? &marks : NULL, &error);
    bool is_canceled = reads && ap_mcp_stop_end(call.stop); /* and so has no answer */
    answering->put_off = call.of_kept && status == AP_END && !is_canceled;
    if (!is_canceled && !answering->put_off)
        answer_call(answering, id, &call, reads ? &marks : NULL, status, &error);
    ap_mcp_text_release(&call.object);
    ap_mcp_text_release(&call.text);
}

static void refuse_arguments(struct answering *answering, const struct ap_value *id, const struct ap_error *error)
{
    const struct ap_mcp_call call = { .path = NULL };
    if (answering->line->version == CORRECTING_VERSION)
        answer_call(answering, id, &call, NULL, AP_ERROR_USAGE, error);
    else
        answer_error(answering, id, INVALID_PARAMS, error->message);
}

#define TOLD_BYTES 400

static const char *unknown_tool(struct ap_text name, char told[TOLD_BYTES])
{
    size_t bytes = (size_t)snprintf(told, TOLD_BYTES, "unknown tool");
    ap_mcp_tools_name(name, told + bytes, TOLD_BYTES - bytes);
    return told;
}

static void call_tool(struct answering *answering, const struct ap_value *id, const struct ap_value *params)
{
    struct ap_error error;
    char told[TOLD_BYTES];
    const struct ap_value *name = member_of_type(params, "name", AP_VALUE_TEXT),
                          *arguments = ap_value_member(params, "arguments");
    const struct ap_mcp_tool *tool = name ? ap_mcp_tool_named(name->as.text) : NULL;
    if (!name)
        answer_error(answering, id, INVALID_PARAMS, "tools/call needs the name of a tool");
    else if (!tool)
        answer_error(answering, id, INVALID_PARAMS, unknown_tool(name->as.text, told));
    else if (arguments && arguments->type != AP_VALUE_OBJECT && arguments->type != AP_VALUE_NULL)
        answer_error(answering, id, INVALID_PARAMS, "arguments are an object");
    else if (ap_mcp_tool_check(tool, arguments, &error) != AP_OK)
        refuse_arguments(answering, id, &error);
    else
        run_tool(answering, id, tool, params);
}

static const struct method {
    const char *name;
    void (*answer)(struct answering *answering, const struct ap_value *id, const struct ap_value *params);
} methods[] = {
    { "initialize", initialize },
    { "tools/list", list_tools },
    { "tools/call", call_tool },
};

static void answer_method(struct answering *answering, const struct ap_value *id, struct ap_text name,
                          const struct ap_value *params)
{
    if (ap_text_is(name, "ping")) {
        begin_answer(answering, id);
        ap_out_string(answering->out, "\"result\":{}}");
        return;
    }
    for (size_t i = 0; i < AP_COUNT_OF(methods); i++) {
        if (!ap_text_is(name, methods[i].name))
            continue;
        if (i > 0 && !answering->line->initialized)
            answer_error(answering, id, INVALID_REQUEST, "initialize comes first");
        else if (i == 0 && answering->line->message->type == AP_VALUE_LIST)
            answer_error(answering, id, INVALID_REQUEST, "initialize stands alone");
        else
            methods[i].answer(answering, id, params);
        return;
    }
    answer_error(answering, id, METHOD_NOT_FOUND, "there is no such method");
}

/* ---- messages ---- */

static bool is_id(const struct ap_value *id)
{
    return id && (id->type == AP_VALUE_TEXT || id->type == AP_VALUE_LITERAL);
}

/* Requests are answered, notifications and answers to requests (which this server never sends) are not. */
static void answer_message(struct answering *answering, const struct ap_value *message)
{
    const struct ap_value *id = ap_value_member(message, "id"), *method = member_of_type(message, "method", AP_VALUE_TEXT),
                          *version = member_of_type(message, "jsonrpc", AP_VALUE_TEXT),
                          *params = ap_value_member(message, "params");
    bool answer =
        !ap_value_member(message, "method") && (ap_value_member(message, "result") || ap_value_member(message, "error"));
    if (message->type != AP_VALUE_OBJECT)
        answer_error(answering, NULL, INVALID_REQUEST, "a request is an object");
    else if (!version || !ap_text_is(version->as.text, "2.0"))
        answer_error(answering, is_id(id) ? id : NULL, INVALID_REQUEST, "jsonrpc must be \"2.0\"");
    else if (answer)
        return;
    else if (!method || (id && !is_id(id)))
        answer_error(answering, is_id(id) ? id : NULL, INVALID_REQUEST,
                     method ? "an id is a string or a number" : "a request has a method");
    else if (id && params && params->type != AP_VALUE_OBJECT)
        answer_error(answering, id, INVALID_PARAMS, "params are an object");
    else if (id)
        answer_method(answering, id, method->as.text, params);
}

static void answer_list(struct answering *answering, const struct ap_value *list)
{
    size_t count = ap_value_count(list);
    if (!answering->line->initialized || answering->line->version != BATCH_VERSION || !count || count > MAX_BATCH) {
        answer_error(answering, NULL, INVALID_REQUEST, "one request at a time: no list of them");
        return;
    }
    answering->before = "[";
    for (const struct ap_value *message = ap_value_first(list); message; message = message->next)
        answer_message(answering, message);
    if (*answering->before == ',')
        ap_out_char(answering->out, ']');
}

static bool is_blank(const char *line, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!ap_is_space(line[i]))
            return false;
    return true;
}

/* ---- lines ---- */

void ap_mcp_line_read(struct ap_mcp_server *server, const char *text, size_t bytes, struct ap_mcp_line *line)
{
    *line = (struct ap_mcp_line){ .initialized = server->initialized, .version = server->version };
    ap_model_init(&line->model, &server->gate);
    if (is_blank(text, bytes))
        return;
    line->status = ap_mcp_message_read(text, bytes, &line->model, &line->error);
    line->message = line->status == AP_OK ? ap_value_first(&line->model.root) : NULL;
}

void ap_mcp_line_release(struct ap_mcp_line *line)
{
    ap_model_release(&line->model);
}

/* What is refused reads nothing. */
static bool calls_reader(const struct ap_value *message)
{
    const struct ap_value *method = member_of_type(message, "method", AP_VALUE_TEXT),
                          *params = ap_value_member(message, "params"),
                          *name = member_of_type(params, "name", AP_VALUE_TEXT);
    const struct ap_mcp_tool *tool = name ? ap_mcp_tool_named(name->as.text) : NULL;
    return method && ap_text_is(method->as.text, "tools/call") && ap_value_member(message, "id") && tool &&
           ap_mcp_tool_reads(tool, ap_value_member(params, "arguments"));
}

/* One call that is answered from a report on the files that it names. */
static bool asks_of_report(const struct ap_value *message)
{
    const struct ap_value *params = ap_value_member(message, "params");
    return message->type == AP_VALUE_OBJECT && calls_reader(message) &&
           ap_value_member(ap_value_member(params, "arguments"), "paths");
}

bool ap_mcp_line_is_work(const struct ap_mcp_line *line)
{
    if (!line->message || line->message->type != AP_VALUE_LIST)
        return line->message && calls_reader(line->message);
    for (const struct ap_value *message = ap_value_first(line->message); message; message = message->next)
        if (calls_reader(message))
            return true;
    return false;
}

const struct ap_value *ap_mcp_line_id(const struct ap_mcp_line *line)
{
    return line->message && line->message->type == AP_VALUE_OBJECT ? ap_value_member(line->message, "id") : NULL;
}

const struct ap_value *ap_mcp_line_cancels(const struct ap_mcp_line *line)
{
    const struct ap_value *method = line->message ? member_of_type(line->message, "method", AP_VALUE_TEXT) : NULL;
    bool cancels = method && ap_text_is(method->as.text, "notifications/cancelled") && !ap_mcp_line_id(line);
    return cancels ? ap_value_member(ap_value_member(line->message, "params"), "requestId") : NULL;
}

static enum ap_status answer_line(struct answering *answering, struct ap_error *reterr)
{
    const struct ap_mcp_line *line = answering->line;
    struct ap_out out;
    bool memory = line->status == AP_ERROR_MEMORY;
    ap_out_init(&out, answering->sink.to);
    answering->out = &out;
    if (line->status != AP_OK)
        answer_error(answering, NULL, memory ? INTERNAL_ERROR : PARSE_ERROR,
                     memory ? line->error.message : "the line is no JSON, or deeper or of more values than is taken");
    else if (line->message && line->message->type == AP_VALUE_LIST)
        answer_list(answering, line->message);
    else if (line->message)
        answer_message(answering, line->message);
    if (*answering->before == ',')
        ap_out_char(&out, '\n');
    enum ap_status status = ap_out_finish(&out, reterr);
    if (answering->locked)
        (void)pthread_mutex_unlock(answering->sink.lock);
    return status;
}

enum ap_status ap_mcp_line_answer(struct ap_mcp_server *server, const struct ap_mcp_line *line, struct ap_mcp_stop *stop,
                                  struct ap_mcp_sink sink, struct ap_error *reterr)
{
    struct answering answering = { .server = server, .line = line, .before = "", .sink = sink, .stop = stop };
    return answer_line(&answering, reterr);
}

enum ap_status ap_mcp_line_answer_from_kept(struct ap_mcp_server *server, const struct ap_mcp_line *line,
                                            struct ap_mcp_stop *stop, struct ap_mcp_sink sink, bool *ret_answered,
                                            struct ap_error *reterr)
{
    struct answering answering = {
        .server = server, .line = line, .before = "", .sink = sink, .stop = stop, .of_kept = true
    };
    *ret_answered = false;
    if (!line->message || !asks_of_report(line->message))
        return AP_OK;
    enum ap_status status = answer_line(&answering, reterr);
    *ret_answered = !answering.put_off;
    return status;
}

enum ap_status ap_mcp_server_answer(struct ap_mcp_server *server, const char *text, size_t bytes, ap_write_fn *write,
                                    void *write_self, struct ap_error *reterr)
{
    struct ap_mcp_line line;
    struct ap_mcp_stop stop;
    ap_mcp_line_read(server, text, bytes, &line);
    ap_mcp_stop_init(&stop, server->max_seconds);
    enum ap_status status =
        ap_mcp_line_answer(server, &line, &stop, (struct ap_mcp_sink){ { write, write_self }, NULL }, reterr);
    ap_mcp_stop_release(&stop);
    ap_mcp_line_release(&line);
    return status;
}
