/* SPDX-License-Identifier: MIT
 * Any bytes as what a client sends, line by line. Claims: each line is answered by one line of strict JSON or by none, what
 * comes before it is strict JSON as well, and nothing is kept from one line to the next but the reports. One server answers
 * many inputs, since most of the time would go into reading the same trace anew: an input whose find needs a report that is
 * kept asks for it twice. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json_check.h"
#include "mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define TRACE                                                                                                           \
    "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5}," \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":4,\"dur\":9}]}"
#define INITIALIZE "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\"}}"

#define INPUTS_OF_A_SERVER 1024
#define PROGRESS "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\""

static char folder[] = "/tmp/fuzz_mcp_XXXXXX", file[64];

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void remove_root(void)
{
    (void)unlink(file);
    (void)rmdir(folder);
}

static void make_root(void)
{
    static bool made;
    if (made)
        return;
    made = true;
    require(mkdtemp(folder) != NULL && atexit(remove_root) == 0);
    memcpy(file, folder, sizeof(folder) - 1);
    memcpy(file + sizeof(folder) - 1, "/t", 3);
    int out = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
    require(out >= 0 && write(out, TRACE, sizeof(TRACE) - 1) == (ssize_t)sizeof(TRACE) - 1 && close(out) == 0);
}

struct answer {
    size_t bytes;
    char data[1 << 20];
};

static struct answer answer;

static enum ap_status take(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct answer *to = self;
    (void)reterr;
    require(bytes <= sizeof(to->data) - to->bytes);
    memcpy(to->data + to->bytes, data, bytes);
    to->bytes += bytes;
    return AP_OK;
}

static void ask(struct ap_mcp_server *server, const char *line, size_t bytes)
{
    struct ap_error error;
    uint64_t held_bytes = ap_mcp_server_held_bytes(server);
    answer.bytes = 0;
    require(ap_mcp_server_answer(server, line, bytes, take, &answer, &error) == AP_OK);
    require(ap_mcp_server_held_bytes(server) == held_bytes);
    if (!answer.bytes)
        return;
    require(answer.data[answer.bytes - 1] == '\n');
    for (const char *at = answer.data, *end = at + answer.bytes; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        require(json_is_valid(at, (size_t)(stop - at)));
        bool last = stop + 1 == end;
        require(last || strncmp(at, PROGRESS, sizeof(PROGRESS) - 1) == 0);
        at = stop + 1;
    }
}

static struct ap_mcp_server *server;

static void end_server(void)
{
    ap_mcp_server_free(server);
    server = NULL;
}

/* Only this request changes what later ones mean. */
static bool may_initialize(const char *data, size_t bytes)
{
    static const char name[] = "initialize";
    bool may = memchr(data, '\\', bytes) != NULL;
    for (size_t at = 0; at + sizeof(name) <= bytes && !may; at++)
        may = data[at] == name[0] && memcmp(data + at, name, sizeof(name) - 1) == 0;
    return may;
}

static void begin_server(bool is_changed)
{
    static unsigned answered;
    static const char *roots[] = { folder };
    const struct ap_mcp_options options = { .roots = roots, .root_count = 1, .threads = 1 };
    const char *path;
    struct ap_error error;
    if (!answered)
        require(atexit(end_server) == 0);
    if (answered++ % INPUTS_OF_A_SERVER == 0)
        end_server();
    if (!server)
        require(ap_mcp_server_new(&options, &server, &path, &error) == AP_OK);
    else if (!is_changed)
        return;
    ask(server, INITIALIZE, sizeof(INITIALIZE) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static bool is_changed;
    make_root();
    begin_server(is_changed);
    is_changed = may_initialize((const char *)data, bytes);
    const char *line = (const char *)data, *end = line + bytes;
    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);
        ask(server, line, length);
        line += stop ? length + 1 : length;
    }
    return 0;
}
