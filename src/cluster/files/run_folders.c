/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "run_folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decimal.h"
#include "poison.h"

struct listing {
    struct ap_run_files *files;
    const struct ap_opener *opener;
    size_t folder_count;
    struct folder_place {
        uint64_t device, inode;
    } above[AP_RUN_FILES_MAX_DEPTH + 1]; /* the folders that lead to where the listing is */
};

/* Without an opener; a FIFO does not wait for a writer. */
static enum ap_status open_path(const struct ap_opener *opener, const char *path, int *ret_fd, struct ap_error *reterr)
{
    if (opener)
        return opener->open(opener->opener_self, path, ret_fd, reterr);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return *ret_fd >= 0 ? AP_OK : ap_fail(reterr, AP_ERROR_INPUT, "cannot open: %s", strerror(errno));
}

static enum ap_status add_file(struct listing *listing, const char *path, int depth, const struct stat *status,
                               const char *why_not, struct ap_error *reterr)
{
    struct ap_run_files *files = listing->files;
    struct ap_run_file file = { .path = ap_arena_text(&files->arena, ap_text_of(path)).data,
                                .head = { .rank = -1, .world_size = -1 },
                                .is_named = depth == 0,
                                .why_not = why_not };
    if (status) {
        file.size_bytes = (uint64_t)status->st_size;
        file.device = (uint64_t)status->st_dev;
        file.inode = (uint64_t)status->st_ino;
        int64_t written_s = status->st_mtim.tv_sec;
        file.written_ns = written_s > 0 && written_s < AP_MAX_TIME_NS / 1000000000 ? written_s * 1000000000 : 0;
        file.written_ns += file.written_ns ? status->st_mtim.tv_nsec : 0;
    }
    if (!file.path)
        return ap_fail_memory(files->arena.gate, reterr);
    if (files->count >= AP_RUN_FILES_MAX)
        return ap_fail(reterr, AP_ERROR_LIMIT, "more than %d files: give the folder of one run", AP_RUN_FILES_MAX);
    AP_TRY_ADD(files->arena.gate, files->files, files->count, files->capacity, reterr, file);
    return AP_OK;
}

/* Nobody knows what it is, or what all it holds. */
static enum ap_status add_unknown(struct listing *listing, const char *path, int depth, const char *why_not,
                                  struct ap_error *reterr)
{
    AP_TRY(add_file(listing, path, depth, NULL, why_not, reterr));
    listing->files->files[listing->files->count - 1].is_shut = true;
    return AP_OK;
}

/* A file, a folder, or a link to nothing; a socket is none of them. */
static enum ap_status add_shut(struct listing *listing, const char *path, int depth, struct ap_error *reterr)
{
    struct stat status;
    if (!listing->opener && stat(path, &status) == 0 && S_ISSOCK(status.st_mode))
        return add_file(listing, path, depth, NULL, "not a regular file", reterr);
    return add_unknown(listing, path, depth, "cannot be opened", reterr);
}

/* A limit of the process says nothing of the file: the same would be told of all behind it. */
static enum ap_status add_unopened(struct listing *listing, const char *path, int depth, int why, struct ap_error *reterr)
{
    if (why == EMFILE || why == ENFILE)
        return ap_fail(reterr, AP_ERROR_LIMIT, "cannot open what the folder holds: %s", strerror(why));
    return add_shut(listing, path, depth, reterr);
}

static enum ap_status list_path(struct listing *listing, const char *path, int depth, struct ap_error *reterr);

/* "FOLDER/NAME" in the arena; NULL without memory. */
static const char *path_below(struct ap_arena *arena, const char *folder, const char *name)
{
    size_t folder_bytes = strlen(folder), name_bytes = strlen(name);
    while (folder_bytes > 1 && folder[folder_bytes - 1] == '/')
        folder_bytes--;
    char *path = ap_arena_alloc(arena, folder_bytes + name_bytes + 2);
    if (!path)
        return NULL;
    memcpy(path, folder, folder_bytes);
    path[folder_bytes] = '/';
    memcpy(path + folder_bytes + 1, name, name_bytes + 1);
    return path;
}

static enum ap_status list_folder(struct listing *listing, DIR *folder, const char *path, int depth, struct ap_error *reterr)
{
    for (const struct dirent *entry; errno = 0, (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        const char *below = path_below(&listing->files->arena, path, entry->d_name);
        if (!below)
            return ap_fail_memory(listing->files->arena.gate, reterr);
        AP_TRY(list_path(listing, below, depth + 1, reterr));
    }
    return errno ? add_unknown(listing, path, depth, "cannot be listed to its end", reterr) : AP_OK;
}

/* A link may lead back up. */
static bool is_within_itself(const struct listing *listing, const struct stat *status, int depth)
{
    for (int i = 0; i < depth; i++)
        if (listing->above[i].device == (uint64_t)status->st_dev && listing->above[i].inode == (uint64_t)status->st_ino)
            return true;
    return false;
}

/* Takes over @fd. */
static enum ap_status enter(struct listing *listing, int fd, const struct stat *status, const char *path, int depth,
                            struct ap_error *reterr)
{
    if (is_within_itself(listing, status, depth <= AP_RUN_FILES_MAX_DEPTH ? depth : AP_RUN_FILES_MAX_DEPTH + 1)) {
        (void)close(fd);
        return AP_OK;
    }
    if (depth > AP_RUN_FILES_MAX_DEPTH) {
        (void)close(fd);
        return add_file(listing, path, depth, NULL, "a folder too deep below the one that was given", reterr);
    }
    /* Links between a few folders make as many paths as one likes. */
    if (listing->folder_count++ >= AP_RUN_FILES_MAX) {
        (void)close(fd);
        return ap_fail(reterr, AP_ERROR_LIMIT, "more than %d folders: give the folder of one run", AP_RUN_FILES_MAX);
    }
    listing->above[depth] = (struct folder_place){ (uint64_t)status->st_dev, (uint64_t)status->st_ino };
    DIR *folder = fdopendir(fd);
    if (!folder) {
        (void)close(fd);
        return add_shut(listing, path, depth, reterr);
    }
    enum ap_status listed = list_folder(listing, folder, path, depth, reterr);
    (void)closedir(folder);
    return listed;
}

/* What was named has to be there; what is found below a folder may turn out not to be readable. */
static enum ap_status list_path(struct listing *listing, const char *path, int depth, struct ap_error *reterr)
{
    struct stat status;
    int fd;
    enum ap_status opened = open_path(listing->opener, path, &fd, depth ? NULL : reterr);
    if (opened != AP_OK)
        return depth ? add_unopened(listing, path, depth, errno, reterr) : opened;
    if (fstat(fd, &status) != 0) {
        (void)close(fd);
        return add_file(listing, path, depth, NULL, "cannot be looked at", reterr);
    }
    if (S_ISDIR(status.st_mode))
        return enter(listing, fd, &status, path, depth, reterr);
    (void)close(fd);
    return add_file(listing, path, depth, &status, S_ISREG(status.st_mode) ? NULL : "not a regular file", reterr);
}

enum ap_status ap_run_folders_list(struct ap_run_files *files, const char *path, const struct ap_opener *opener,
                                   struct ap_error *reterr)
{
    struct listing listing = { .files = files, .opener = opener };
    return list_path(&listing, path, 0, reterr);
}

bool ap_is_folder(const char *path, const struct ap_opener *opener)
{
    struct stat status;
    int fd;
    if (open_path(opener, path, &fd, NULL) != AP_OK)
        return false;
    bool is_folder = fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
    (void)close(fd);
    return is_folder;
}
