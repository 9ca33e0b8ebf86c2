/* SPDX-License-Identifier: MIT
 * mcp_tools.h - the tools that a client can call: one table, from which the list for the client is written and what it sends
 * is checked. */
#ifndef AP_MCP_TOOLS_H
#define AP_MCP_TOOLS_H

#include "mcp_kept.h"
#include "mcp_progress.h"
#include "mcp_stop.h"
#include "mcp_text.h"
#include "out.h"

enum ap_mcp_kind { AP_MCP_TEXT, AP_MCP_TEXTS, AP_MCP_WHOLE };

enum { AP_MCP_MAX_TEXT_BYTES = 4096, AP_MCP_MAX_ARGUMENTS = 9 };
/* What an answer holds where the client does not say. */
enum { AP_MCP_DEFAULT_TOKENS = 4000, AP_MCP_DEFAULT_LIST = 50, AP_MCP_DEFAULT_ROWS = 20, AP_MCP_DEFAULT_AROUND = 10 };
/** Files and folders of one call. */
enum { AP_MCP_MOST_PATHS = 32 };
/** Inputs that are listed. */
enum { AP_MCP_MOST_INPUTS = 500 };
/* Changes of one prediction. */
enum { AP_MCP_MOST_CHANGES = 16 };

struct ap_mcp_argument {
    const char *name; /* NULL ends a list of them */
    const char *about;
    enum ap_mcp_kind kind;
    bool required;
    const char *choices;            /* of a text: "cpu gpu"; NULL = any */
    int64_t least, most, otherwise; /* of a whole number; of texts: how many */
};

/** A tool at work. Its answer is text for the model that asked, and the same as an object where that is not NULL. */
struct ap_mcp_call {
    struct ap_gate *gate;
    const struct ap_request *common; /* what all requests to the library have */
    const struct ap_value *arguments;
    struct ap_mcp_text text, object;
    struct ap_mcp_kept *kept;         /* reports of earlier calls */
    bool of_kept;                     /* answer from these or not at all: read nothing */
    struct ap_mcp_stop *stop;         /* of this call */
    const char *path;                 /* that a failure is about; NULL = none */
    struct ap_mcp_progress *progress; /* NULL = the client does not ask for it */
};

struct ap_mcp_tool {
    const char *name, *title, *about;
    struct ap_mcp_argument arguments[AP_MCP_MAX_ARGUMENTS];
    enum ap_status (*call)(struct ap_mcp_call *call, struct ap_error *reterr);
    bool names_files; /* its answer has names of files also where none was named to it */
};

/** NULL where there is none. */
const struct ap_mcp_tool *ap_mcp_tool_named(struct ap_text name);
/** The list for tools/list, as a JSON array. */
void ap_mcp_tools_write(struct ap_out *out);
/** AP_ERROR_USAGE where an argument is unknown, missing, or of another kind or size. */
AP_MUST_CHECK enum ap_status ap_mcp_tool_check(const struct ap_mcp_tool *tool, const struct ap_value *arguments,
                                               struct ap_error *reterr);

/** Does a call read a file or folder? It may take long, and is worked on alone; any other is answered at once. */
bool ap_mcp_tool_reads(const struct ap_mcp_tool *tool, const struct ap_value *arguments);

/* Arguments that were checked. */
const char *ap_mcp_text_argument(const struct ap_mcp_call *call, const char *name); /* NULL = not given */
int64_t ap_mcp_whole_argument(const struct ap_mcp_call *call, const char *name, int64_t otherwise);

/** "; did you mean a?" for a tool that does not exist, and all that do. */
void ap_mcp_tools_name(struct ap_text wanted, char *to, size_t bytes);

/** The tools; each fills the answer of @call, and on failure sets path where the failure is about a file. */
enum ap_status ap_mcp_analyze(struct ap_mcp_call *call, struct ap_error *reterr);
enum ap_status ap_mcp_capture(struct ap_mcp_call *call, struct ap_error *reterr);
enum ap_status ap_mcp_compare(struct ap_mcp_call *call, struct ap_error *reterr);
enum ap_status ap_mcp_explain(struct ap_mcp_call *call, struct ap_error *reterr);
enum ap_status ap_mcp_list_inputs(struct ap_mcp_call *call, struct ap_error *reterr);
enum ap_status ap_mcp_list_metrics(struct ap_mcp_call *call, struct ap_error *reterr);
enum ap_status ap_mcp_table(struct ap_mcp_call *call, struct ap_error *reterr);
enum ap_status ap_mcp_what_if(struct ap_mcp_call *call, struct ap_error *reterr);
enum ap_status ap_mcp_around(struct ap_mcp_call *call, struct ap_error *reterr);

#endif
