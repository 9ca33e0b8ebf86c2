/* SPDX-License-Identifier: MIT
 * alone.c - the program as one process. */
#include "program.h"

int main(int argc, char **argv)
{
    return ap_program(argc, argv, NULL);
}
