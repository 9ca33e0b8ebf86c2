/* SPDX-License-Identifier: MIT
 * mcp_message.h - one line of the client as a tree. */
#ifndef AP_MCP_MESSAGE_H
#define AP_MCP_MESSAGE_H

#include "model_build.h"

enum { AP_MCP_MAX_DEPTH = 32, AP_MCP_MAX_VALUES = 20000 };

/** Strict JSON alone. The value becomes the only child of the root of @model, which the caller has initialized. Numbers are
 *  literals, as they were written; texts have a NUL behind them. */
AP_MUST_CHECK enum ap_status ap_mcp_message_read(const char *line, size_t bytes, struct ap_model *model,
                                                 struct ap_error *reterr);

#endif
