/* SPDX-License-Identifier: MIT
 * mpi_main.c - analyze_profile-mpi: the program on many places at once, under mpirun or srun. On each place it is two
 * processes. MPI opens connections and maps memory of others when it likes, which the sandbox forbids; so the process that
 * parses is made first, and knows nothing of MPI. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "mpi_relay.h"
#include "piped_team.h"

#include "poison.h"

enum { EXIT_NO_PROCESS = 5, EXIT_BY_SIGNAL = 128 };

/* What a helper would print, the one that reports prints too. */
static void be_silent(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0)
        return;
    (void)dup2(nowhere, STDOUT_FILENO);
    (void)dup2(nowhere, STDERR_FILENO);
    (void)close(nowhere);
}

static int run_program(struct ap_process_pipe pipe, int argc, char **argv)
{
    static struct ap_piped_team team;
    if (!ap_piped_team_init(&team, pipe))
        return EXIT_NO_PROCESS;
    if (!team.reports)
        be_silent();
    int code = ap_program(argc, argv, &team.team);
    if (code == 0)
        ap_piped_team_finish(&team);
    return code;
}

/* Whoever ends the other process ends this one. */
static void end_with(pid_t parent)
{
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    if (getppid() != parent)
        _exit(EXIT_NO_PROCESS);
}

static int exit_code_of(pid_t program)
{
    int status = 0;
    if (waitpid(program, &status, 0) != program)
        return EXIT_NO_PROCESS;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BY_SIGNAL + WTERMSIG(status);
}

static int relay(struct ap_process_pipe pipe, pid_t program)
{
    int place = 0;
    (void)signal(SIGPIPE, SIG_IGN); /* a program that has ended is no end of ours */
    (void)MPI_Init(NULL, NULL);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &place);
    ap_mpi_relay(&pipe);
    int code = exit_code_of(program);
    (void)MPI_Finalize();
    return place == 0 ? code : 0; /* what became of a helper is told by the report */
}

int main(int argc, char **argv)
{
    int down[2], up[2];
    const pid_t self = getpid();
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) {
        perror("analyze_profile-mpi");
        return EXIT_NO_PROCESS;
    }
    pid_t program = fork();
    if (program < 0) {
        perror("analyze_profile-mpi");
        return EXIT_NO_PROCESS;
    }
    if (program == 0) {
        end_with(self);
        (void)close(down[1]);
        (void)close(up[0]);
        return run_program((struct ap_process_pipe){ .in = down[0], .out = up[1] }, argc, argv);
    }
    (void)close(down[0]);
    (void)close(up[1]);
    return relay((struct ap_process_pipe){ .in = up[0], .out = down[1] }, program);
}
