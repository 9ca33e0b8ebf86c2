/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define AP_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define AP_SANITIZED 1
#endif

static const char *state = "none";

const char *ap_cli_sandbox_state(void)
{
    return state;
}

/* Sanitizers look at their own process when it ends, by ways that are closed here. */
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(AP_SANITIZED)

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#define FIRST_OTHER_CALL 0x40000000u /* those of x32 */
#else
#define MACHINE AUDIT_ARCH_AARCH64
#define FIRST_OTHER_CALL UINT32_MAX
#endif

#define MOST_INSTRUCTIONS 300

/* ---- seccomp ---- */

/* Whatever they are given. Paths can be asked about, moved and removed, where Landlock lets them; none can be opened. */
static const int allowed[] = {
    SYS_read,
    SYS_readv,
    SYS_pread64,
    SYS_write,
    SYS_writev,
    SYS_pwrite64,
    SYS_lseek,
    SYS_close,
    SYS_dup,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_fadvise64,
    SYS_fchmod,
    SYS_umask,
    SYS_ppoll,
    SYS_readlinkat,
    SYS_faccessat,
#ifdef SYS_faccessat2
    SYS_faccessat2,
#endif
    SYS_getcwd,
    SYS_renameat2,
    SYS_renameat,
    SYS_unlinkat,
    SYS_ftruncate,
    SYS_pipe2,
#ifdef __x86_64__
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_poll,
    SYS_rename,
    SYS_unlink,
    SYS_rmdir,
    SYS_readlink,
    SYS_time,
    SYS_getrlimit,
    SYS_pipe,
    SYS_dup2,
#endif
    SYS_brk,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_futex,
    SYS_rt_sigprocmask,
    SYS_rt_sigaction,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_exit,
    SYS_exit_group,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_getrandom,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_getpid,
    SYS_gettid,
    SYS_set_robust_list,
    SYS_set_tid_address,
    SYS_rseq,
    SYS_sysinfo,
    SYS_restart_syscall,
    SYS_membarrier,
};

/* The end of the program at once: nothing in it asks for these, so that whoever does has taken it over. Of mmap, mprotect
 * and clone what is left by the time this is looked at: memory that can run, processes. */
static const int deadly[] = {
    SYS_execve,   SYS_execveat, SYS_socket,           SYS_socketpair,        SYS_connect,
    SYS_bind,     SYS_ptrace,   SYS_process_vm_readv, SYS_process_vm_writev, SYS_mmap,
    SYS_mprotect, SYS_clone,
#ifdef __x86_64__
    SYS_fork,     SYS_vfork,
#endif
};

struct program {
    struct sock_filter code[MOST_INSTRUCTIONS];
    unsigned short count;
};

static void add(struct program *program, uint16_t code, uint32_t k, uint8_t jump_true, uint8_t jump_false)
{
    program->code[program->count++] = (struct sock_filter){ code, jump_true, jump_false, k };
}

static void give(struct program *program, uint32_t answer)
{
    add(program, BPF_RET | BPF_K, answer, 0, 0);
}

/* What follows until the answer is for this call alone: @length instructions. */
static void for_call(struct program *program, int call, uint8_t length)
{
    add(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, length);
}

/* The lower half; both machines are little-endian. */
static void load_argument(struct program *program, unsigned index)
{
    add(program, BPF_LD | BPF_W | BPF_ABS,
        (uint32_t)(offsetof(struct seccomp_data, args) + index * sizeof(((struct seccomp_data *)NULL)->args[0])), 0, 0);
}

/* Allowed where the argument has of @mask exactly @wanted. */
static void allow_where(struct program *program, int call, unsigned argument, uint32_t mask, uint32_t wanted)
{
    for_call(program, call, 5);
    load_argument(program, argument);
    add(program, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, wanted, 0, 1);
    give(program, SECCOMP_RET_ALLOW);
    add(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
}

/* @flags: the argument. Refused beyond that, and not the end: the C library has files of its own that it can do without. */
static void allow_opening(struct program *program, const struct ap_cli_sandbox *sandbox, int call, unsigned flags)
{
    if (sandbox->may_read)
        allow_where(program, call, flags, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (uint32_t)(O_TMPFILE & ~O_DIRECTORY),
                    0);
    if (sandbox->may_make_files)
        allow_where(program, call, flags, O_CREAT | O_EXCL, O_CREAT | O_EXCL);
    for_call(program, call, 1);
    give(program, SECCOMP_RET_ERRNO | EACCES);
}

/* Limits and signals of this process, none of others; musl names its first thread, the one that takes signals. */
static void allow_for_itself(struct program *program)
{
    allow_where(program, SYS_prlimit64, 0, UINT32_MAX, 0);
    allow_where(program, SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid());
    allow_where(program, SYS_tkill, 0, UINT32_MAX, (uint32_t)getpid());
}

static void write_program(struct program *program, const struct ap_cli_sandbox *sandbox)
{
    const uint32_t thread = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
    add(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
    give(program, SECCOMP_RET_KILL_PROCESS);
    add(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    add(program, BPF_JMP | BPF_JGE | BPF_K, FIRST_OTHER_CALL, 0, 1);
    give(program, SECCOMP_RET_KILL_PROCESS);
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        for_call(program, allowed[i], 1);
        give(program, SECCOMP_RET_ALLOW);
    }
    allow_where(program, SYS_mmap, 2, PROT_EXEC, 0);
    allow_where(program, SYS_mprotect, 2, PROT_EXEC, 0);
    allow_for_itself(program);
    /* Flags, copies and locks, 0 to 7: not whom to signal, and with what. */
    allow_where(program, SYS_fcntl, 1, ~UINT32_C(7), 0);
    allow_where(program, SYS_fcntl, 1, UINT32_MAX, F_DUPFD_CLOEXEC);
    allow_where(program, SYS_ioctl, 1, UINT32_MAX, TCGETS);
    allow_where(program, SYS_ioctl, 1, UINT32_MAX, TIOCGWINSZ);
    /* Threads, never processes. The flags of clone3 cannot be seen: glibc then takes clone. */
    allow_where(program, SYS_clone, 0, thread, thread);
    for_call(program, SYS_clone3, 1);
    give(program, SECCOMP_RET_ERRNO | ENOSYS);
    allow_opening(program, sandbox, SYS_openat, 2);
#ifdef __x86_64__
    allow_opening(program, sandbox, SYS_open, 1); /* musl */
#endif
    if (sandbox->may_read) {
        for_call(program, SYS_getdents64, 1);
        give(program, SECCOMP_RET_ALLOW);
    }
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
        for_call(program, deadly[i], 1);
        give(program, SECCOMP_RET_KILL_PROCESS);
    }
    /* What another C library or a later one asks for is refused, not the end of a run. */
    give(program, SECCOMP_RET_ERRNO | ENOSYS);
}

static bool filter_calls(const struct ap_cli_sandbox *sandbox)
{
    static struct program program;
    program.count = 0;
    write_program(&program, sandbox);
    struct sock_fprog filter = { program.count, program.code };
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

/* ---- Landlock ---- */

#define READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define PUTTING_IN_PLACE (LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR)
#define FIRST_VERSION ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

/* False where there is a path, and no descriptor for it: under Landlock it would be closed to the program. */
static bool allow_below(int rules, const char *path, uint64_t access)
{
    struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = open(path, O_PATH | O_CLOEXEC) };
    struct stat status;
    if (rule.parent_fd < 0)
        return errno != EMFILE && errno != ENFILE && errno != ENOMEM;
    if (fstat(rule.parent_fd, &status) == 0 && !S_ISDIR(status.st_mode))
        rule.allowed_access &= LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
    if (rule.allowed_access)
        (void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    (void)close(rule.parent_fd);
    return true;
}

/* What a file is put in place in: its folder, and where that is a link's, the folder of what it names. */
static bool allow_folder_of(int rules, const char *path, uint64_t access)
{
    char folder[4200];
    const char *slash = strrchr(path, '/');
    size_t bytes = slash ? (size_t)(slash - path) + 1 : 0;
    if (bytes >= sizeof(folder))
        return true;
    memcpy(folder, path, bytes);
    folder[bytes] = '\0';
    return allow_below(rules, bytes ? folder : ".", access);
}

static bool limit_paths(const struct ap_cli_sandbox *sandbox)
{
    struct landlock_ruleset_attr handled = { .handled_access_fs = FIRST_VERSION };
    const uint64_t writing =
        PUTTING_IN_PLACE | (sandbox->may_make_files ? LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE : 0);
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
    if (rules < 0)
        return false;
    bool limited = true;
    for (size_t i = 0; i < sandbox->readable_count && limited; i++)
        limited = allow_below(rules, sandbox->readable[i], READING);
    for (size_t i = 0; i < sandbox->written_count && limited; i++)
        limited = allow_below(rules, sandbox->written[i], writing) && allow_folder_of(rules, sandbox->written[i], writing);
    limited = limited && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    (void)close(rules);
    return limited;
}

bool ap_cli_sandbox_enter(const struct ap_cli_sandbox *sandbox)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    bool limited = limit_paths(sandbox), filtered = filter_calls(sandbox);
    state = filtered ? limited ? "seccomp and Landlock" : "seccomp" : limited ? "Landlock" : "none";
    return filtered;
}

#else

bool ap_cli_sandbox_enter(const struct ap_cli_sandbox *sandbox)
{
    (void)sandbox;
    return false;
}

#endif
