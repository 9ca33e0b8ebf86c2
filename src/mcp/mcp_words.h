/* SPDX-License-Identifier: MIT
 * mcp_words.h - the library speaks of options of the command line; a client has tools and arguments. */
#ifndef AP_MCP_WORDS_H
#define AP_MCP_WORDS_H

#include "mcp_text.h"

/** Append the message of a failure, in the words of the tools. */
AP_MUST_CHECK enum ap_status ap_mcp_words_add(struct ap_mcp_text *text, const char *message, struct ap_error *reterr);
/** In an answer, which never grows by this: only words of ours, as names of the input may look like options. */
void ap_mcp_words_in_answer(struct ap_mcp_text *text);

#endif
