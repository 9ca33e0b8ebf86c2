/* SPDX-License-Identifier: MIT
 * program.h - the program but for its main(). */
#ifndef AP_PROGRAM_H
#define AP_PROGRAM_H

/** Runs the command line and returns the exit code. */
int ap_program(int argc, char **argv);

#endif
