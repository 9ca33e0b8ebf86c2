/* SPDX-License-Identifier: MIT
 * mpi_relay.h - the side of MPI: brings frames of the program on this place to those on others. It looks into none, and
 * sleeps while it waits: the processor is the program's. */
#ifndef AP_MPI_RELAY_H
#define AP_MPI_RELAY_H

#include "process_pipe.h"

/** Between MPI_Init and MPI_Finalize: greets the program behind @pipe and serves it until it has closed its end. On place 0
 *  it then lets all others end, whatever became of the report. Closes both pipes. */
void ap_mpi_relay(struct ap_process_pipe *pipe);

#endif
