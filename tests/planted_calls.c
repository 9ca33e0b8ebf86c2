/* SPDX-License-Identifier: MIT
 * planted_calls.c - what a mistake in a parser could be used for: preloaded, it asks the kernel for what AP_PLANT names as
 * soon as the program has read the first bytes of an input. Where the kernel does it, the program ends with exit code 77,
 * where it says no, with 78. Into a program that loads nothing it is linked: with AP_WRAPS_READ and --wrap=read. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORKED = 77, REFUSED = 78 };

/* What nobody here may ask for with whatever arguments: refused before the kernel looks at them. */
static const struct {
    const char *name;
    long number;
} never[] = {
#define CALL(name)        \
    {                     \
#name, SYS_##name \
    }
    CALL(accept4),        CALL(bind),       CALL(bpf),      CALL(connect),      CALL(execveat),
    CALL(fchmodat),       CALL(fchownat),   CALL(keyctl),   CALL(kill),         CALL(linkat),
    CALL(listen),         CALL(mkdirat),    CALL(mount),    CALL(memfd_create), CALL(open_by_handle_at),
    CALL(ptrace),         CALL(sendto),     CALL(sendmsg),  CALL(setns),        CALL(perf_event_open),
    CALL(setuid),         CALL(socketpair), CALL(truncate), CALL(symlinkat),    CALL(process_vm_writev),
    CALL(userfaultfd),    CALL(unshare),
#ifdef SYS_io_uring_setup
    CALL(io_uring_setup),
#endif
#ifdef SYS_fork
    CALL(fork),
#endif
#undef CALL
};

/* Whether it was done does not matter, only whether the kernel looked at it. */
static long ask_for(const char *plant)
{
    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
        if (strcmp(plant, never[i].name) == 0)
            return syscall(never[i].number, -1L, -1L, -1L, -1L, -1L, -1L) < 0 && errno == ENOSYS ? -1 : 0;
    return -1;
}

static long ask(const char *plant)
{
    char *const none[] = { NULL };
#ifdef SYS_open
    if (strcmp(plant, "old open") == 0) /* as musl opens */
        return syscall(SYS_open, "/etc/passwd", O_RDONLY);
#endif
    if (strcmp(plant, "open") == 0 || strcmp(plant, "old open") == 0)
        return syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
    if (strcmp(plant, "create") == 0)
        return syscall(SYS_openat, AT_FDCWD, "planted", O_WRONLY | O_CREAT, 0600);
    if (strcmp(plant, "socket") == 0)
        return syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
    if (strcmp(plant, "execve") == 0)
        return syscall(SYS_execve, "/bin/true", none, none);
    if (strcmp(plant, "code") == 0)
        return syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) < 0 ? -1
                                                                                                                         : 0;
    if (strcmp(plant, "limits") == 0) /* of another process */
        return syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, NULL, &(struct rlimit){ .rlim_cur = 0 });
    if (strcmp(plant, "owner") == 0) /* whom the kernel signals */
        return syscall(SYS_fcntl, STDIN_FILENO, F_SETOWN, getppid());
    if (strcmp(plant, "process") == 0)
        return syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    if (strcmp(plant, "new process") == 0)
        return syscall(SYS_clone3, &(struct clone_args){ 0 }, sizeof(struct clone_args));
    if (strcmp(plant, "written code") == 0)
        return syscall(SYS_mprotect, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096,
                       PROT_READ | PROT_EXEC);
    if (strcmp(plant, "signal") == 0) /* to another process; this one is never sent, only asked for */
        return syscall(SYS_tgkill, getppid(), getppid(), 0);
    if (strcmp(plant, "terminal") == 0) /* in place of who types there */
        return syscall(SYS_ioctl, STDIN_FILENO, TIOCSTI, "x") < 0 && errno == ENOSYS ? -1 : 0;
    if (strcmp(plant, "remove") == 0)
        return syscall(SYS_unlinkat, AT_FDCWD, "kept", 0);
    return ask_for(plant);
}

static void use(ssize_t got)
{
    const char *plant = getenv("AP_PLANT");
    if (plant && got > 0)
        _exit(ask(plant) >= 0 ? WORKED : REFUSED);
}

#ifdef AP_WRAPS_READ
ssize_t __real_read(int file, void *to, size_t bytes);
ssize_t __wrap_read(int file, void *to, size_t bytes);

ssize_t __wrap_read(int file, void *to, size_t bytes)
{
    ssize_t got = __real_read(file, to, bytes);
    use(got);
    return got;
}
#else
/* AP_FAIL: what fails, as on a disk in a network that goes away. */
static bool fails(const char *call)
{
    const char *failing = getenv("AP_FAIL");
    errno = EIO;
    return failing && strcmp(failing, call) == 0;
}

__attribute__((visibility("default"))) int close(int file)
{
    bool is_output = (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDWR;
    int result = (int)syscall(SYS_close, file);
    return is_output && fails("close") ? -1 : result;
}

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
    return fails("rename") ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* A folder whose second name cannot be read: those behind it are unknown. */
__attribute__((visibility("default"))) struct dirent64 *readdir64(DIR *folder)
{
    static struct dirent64 *(*real)(DIR *);
    static int names;
    if (!real)
        real = (struct dirent64 * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir64");
    errno = 0;
    struct dirent64 *entry = real(folder);
    int why = errno;
    names += entry && entry->d_name[0] != '.';
    if (names >= 2 && fails("readdir"))
        return NULL;
    errno = why;
    return entry;
}

__attribute__((visibility("default"))) ssize_t read(int file, void *to, size_t bytes)
{
    static ssize_t (*real)(int, void *, size_t);
    if (!real)
        real = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    ssize_t got = real(file, to, bytes);
    use(got);
    return got;
}
#endif
