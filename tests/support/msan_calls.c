/* SPDX-License-Identifier: MIT
 * msan_calls.c - for tools/msan.sh alone: calls of the C library that fill memory behind clang 14's back. Its memory
 * sanitizer knows the names that they had before glibc 2.33, and takes what they wrote for never written. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64 /* as meson has it: the calls have these names then */
#include <sanitizer/msan_interface.h>
#include <sys/stat.h>
#include <sys/types.h>

int __real_fstat64(int fd, struct stat *ret);
int __real_stat64(const char *path, struct stat *ret);
int __real_lstat64(const char *path, struct stat *ret);
int __real_fstatat64(int folder, const char *path, struct stat *ret, int flags);
int __real_getentropy(void *ret, size_t bytes);
int __wrap_fstat64(int fd, struct stat *ret);
int __wrap_stat64(const char *path, struct stat *ret);
int __wrap_lstat64(const char *path, struct stat *ret);
int __wrap_fstatat64(int folder, const char *path, struct stat *ret, int flags);
int __wrap_getentropy(void *ret, size_t bytes);

/* What a call that succeeded has written. */
static int written(int result, void *ret, size_t bytes)
{
    if (result == 0)
        __msan_unpoison(ret, bytes);
    return result;
}

int __wrap_fstat64(int fd, struct stat *ret)
{
    return written(__real_fstat64(fd, ret), ret, sizeof(*ret));
}

int __wrap_stat64(const char *path, struct stat *ret)
{
    return written(__real_stat64(path, ret), ret, sizeof(*ret));
}

int __wrap_lstat64(const char *path, struct stat *ret)
{
    return written(__real_lstat64(path, ret), ret, sizeof(*ret));
}

int __wrap_fstatat64(int folder, const char *path, struct stat *ret, int flags)
{
    return written(__real_fstatat64(folder, path, ret, flags), ret, sizeof(*ret));
}

int __wrap_getentropy(void *ret, size_t bytes)
{
    return written(__real_getentropy(ret, bytes), ret, bytes);
}
