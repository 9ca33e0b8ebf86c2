/* SPDX-License-Identifier: MIT */
#include "serve.h"

#include <string.h>
#include <unistd.h>

#include "mcp.h"

#define DEFAULT_MEMORY_BYTES (UINT64_C(4) << 30)

bool ap_serve_is_asked(int argc, char *const *argv)
{
    return argc > 1 && strcmp(argv[1], "mcp") == 0;
}

/* Of the options those that say what the server may do; what a report is about is for the client to ask. */
static bool is_for_server(const char *argument)
{
    static const char *const names[] = { "--root", "--max-memory", "--max-depth", "--threads" };
    size_t bytes = strcspn(argument, "=");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == bytes && memcmp(argument, names[i], bytes) == 0)
            return true;
    return false;
}

enum ap_status ap_serve(int argc, char *const *argv, const struct ap_cli_options *options, const char **ret_path,
                        struct ap_error *reterr)
{
    struct ap_mcp_options mcp = { .roots = options->roots,
                                  .root_count = options->root_count,
                                  .max_memory_bytes = options->request.max_memory_bytes,
                                  .max_depth = options->request.max_depth,
                                  .one_thread = options->request.one_thread };
    struct ap_mcp_server *server;
    bool fits = options->file_count == 1;
    for (int i = 2; i < argc; i++)
        fits = fits && (argv[i][0] != '-' || is_for_server(argv[i]));
    if (!fits)
        return ap_fail(reterr, AP_ERROR_USAGE, "mcp takes --root DIR, --max-memory, --max-depth and --threads alone");
    if (!mcp.max_memory_bytes)
        mcp.max_memory_bytes = DEFAULT_MEMORY_BYTES;
    enum ap_status status = ap_mcp_server_new(&mcp, &server, ret_path, reterr);
    if (status != AP_OK)
        return status;
    status = ap_mcp_server_run(server, STDIN_FILENO, STDOUT_FILENO, reterr);
    ap_mcp_server_free(server);
    return status;
}
