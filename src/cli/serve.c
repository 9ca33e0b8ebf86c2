/* SPDX-License-Identifier: MIT */
#include "serve.h"

#include <string.h>
#include <unistd.h>

#include "mcp.h"
#include "memory_limit.h"
#include "sandbox.h"

#define MOST_MEMORY_BYTES (UINT64_C(4) << 30)

/* A server stays: it takes no more than this, however much there is. */
static uint64_t default_memory_bytes(void)
{
    struct ap_memory_limit limit = ap_cli_memory_limit();
    return limit.bytes >= AP_MIN_MAX_MEMORY_BYTES && limit.bytes < MOST_MEMORY_BYTES ? limit.bytes : MOST_MEMORY_BYTES;
}

bool ap_serve_is_asked(int argc, char *const *argv)
{
    return argc > 1 && strcmp(argv[1], "mcp") == 0;
}

bool ap_serve_takes(const char *name, size_t bytes)
{
    static const char *const names[] = { "root",    "max-memory", "max-seconds", "max-depth",
                                         "threads", "redact",     "redact-key",  "no-sandbox" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == bytes && memcmp(name, names[i], bytes) == 0)
            return true;
    return false;
}

static bool is_for_server(const char *argument)
{
    return argument[0] == '-' && argument[1] == '-' && ap_serve_takes(argument + 2, strcspn(argument + 2, "="));
}

/* The roots are open; files below them are opened when a client asks for them. */
static void enter_sandbox(const struct ap_cli_options *options)
{
    const struct ap_cli_sandbox sandbox = { .may_read = true,
                                            .readable = options->roots,
                                            .readable_count = options->root_count };
    if (!options->no_sandbox)
        (void)ap_cli_sandbox_enter(&sandbox);
}

enum ap_status ap_serve(int argc, char *const *argv, const struct ap_cli_options *options, const char **ret_path,
                        struct ap_error *reterr)
{
    struct ap_mcp_options mcp = { .roots = options->roots,
                                  .root_count = options->root_count,
                                  .max_memory_bytes = options->request.max_memory_bytes,
                                  .max_depth = options->request.max_depth,
                                  .max_seconds = options->max_seconds,
                                  .threads = options->request.threads,
                                  .redact = options->request.redact,
                                  .redact_key = options->request.redact_key,
                                  .redact_key_bytes = options->request.redact_key_bytes,
                                  .sandbox = ap_cli_sandbox_state };
    struct ap_mcp_server *server;
    bool fits = options->file_count == 1;
    for (int i = 2; i < argc; i++)
        fits = fits && (argv[i][0] != '-' || is_for_server(argv[i]));
    if (!fits)
        return ap_fail(reterr, AP_ERROR_USAGE,
                       "mcp takes --root DIR, --redact, --redact-key, --max-memory, --max-seconds, --max-depth, --threads "
                       "and --no-sandbox "
                       "alone");
    if (!options->root_count)
        return ap_refuse(reterr, AP_SETTING_NONE, "mcp needs a directory that it may read: --root DIR");
    if (!mcp.max_memory_bytes)
        mcp.max_memory_bytes = default_memory_bytes();
    enum ap_status status = ap_mcp_server_new(&mcp, &server, ret_path, reterr);
    if (status != AP_OK)
        return status;
    enter_sandbox(options);
    status = ap_mcp_server_run(server, STDIN_FILENO, STDOUT_FILENO, reterr);
    ap_mcp_server_free(server);
    return status;
}
