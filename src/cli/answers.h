/* SPDX-License-Identifier: MIT
 * answers.h - what goes to standard output: the report, one screen of it, or the answer to a question. */
#ifndef AP_ANSWERS_H
#define AP_ANSWERS_H

#include "options.h"
#include "terminal.h"

/** Does the command line ask something that needs no input? Then *@ret_status is how answering it through @write ended. */
bool ap_cli_answer_alone(const struct ap_cli_options *options, ap_write_fn *write, void *write_self,
                         enum ap_status *ret_status, struct ap_error *reterr);

/** What is wrong with the questions that are asked, or NULL. */
const char *ap_cli_check_questions(const struct ap_cli_options *options);
/** Say in the request what the questions need. */
void ap_cli_prepare_questions(struct ap_cli_options *options);

/** Is something written to standard output? */
bool ap_cli_uses_stdout(const struct ap_cli_options *options);
/** Write it. */
enum ap_status ap_cli_write_stdout(const struct ap_cli_options *options, struct ap_report *report, ap_write_fn *write,
                                   void *write_self, struct ap_error *reterr);

#endif
