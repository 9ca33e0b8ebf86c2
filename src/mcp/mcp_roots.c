/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "mcp_roots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "poison.h"

static enum ap_status fail_elsewhere(struct ap_error *reterr)
{
    return ap_fail(reterr, AP_ERROR_INPUT, "no such file below the directories that the server was started with");
}

/* ---- the directories ---- */

static enum ap_status add_root(struct ap_mcp_roots *roots, const char *path, struct ap_error *reterr)
{
    char real[PATH_MAX];
    if (!realpath(path, real))
        return ap_fail(reterr, AP_ERROR_USAGE, "cannot be a root: %s", strerror(errno));
    struct ap_mcp_root root = { .path_bytes = strlen(real) + 1 };
    root.fd = open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (root.fd < 0)
        return ap_fail(reterr, AP_ERROR_USAGE, "cannot be a root: %s", strerror(errno));
    root.path = ap_mem_resize(roots->gate, NULL, 0, root.path_bytes);
    if (!root.path) {
        (void)close(root.fd);
        return ap_fail_memory(roots->gate, reterr);
    }
    memcpy(root.path, real, root.path_bytes);
    roots->roots[roots->count++] = root;
    return AP_OK;
}

enum ap_status ap_mcp_roots_init(struct ap_mcp_roots *roots, struct ap_gate *gate, const char *const *paths, size_t count,
                                 const char **ret_path, struct ap_error *reterr)
{
    *roots = (struct ap_mcp_roots){ .gate = gate };
    AP_TRY(AP_ALLOC_CLEARED(gate, roots->roots, count, reterr));
    size_t capacity = count;
    for (size_t i = 0; i < capacity; i++) {
        enum ap_status status = add_root(roots, paths[i], reterr);
        if (status == AP_OK)
            continue;
        *ret_path = paths[i];
        while (roots->count < capacity) /* release gives back what was allocated */
            roots->roots[roots->count++].fd = -1;
        ap_mcp_roots_release(roots);
        return status;
    }
    return AP_OK;
}

void ap_mcp_roots_release(struct ap_mcp_roots *roots)
{
    for (size_t i = 0; i < roots->count; i++) {
        if (roots->roots[i].fd >= 0)
            (void)close(roots->roots[i].fd);
        ap_mem_free(roots->gate, roots->roots[i].path, roots->roots[i].path_bytes);
    }
    AP_FREE(roots->gate, roots->roots, roots->count);
    *roots = (struct ap_mcp_roots){ .gate = NULL };
}

/* ---- a file below them ---- */

/* What follows the root in a path without links; NULL where it lies elsewhere, or is the root itself. */
static const char *below(const struct ap_mcp_root *root, const char *real)
{
    size_t bytes = root->path_bytes - 1;
    if (strncmp(real, root->path, bytes) != 0)
        return NULL;
    if (bytes == 1) /* the root is / */
        return real[1] ? real + 1 : NULL;
    return real[bytes] == '/' && real[bytes + 1] ? real + bytes + 1 : NULL;
}

/* From directory to directory; none of them may be a link, and neither may the file. A FIFO does not wait for a writer. */
static int walk(int root_fd, const char *path)
{
    char name[NAME_MAX + 1];
    int at = root_fd;
    for (;;) {
        const char *end = strchr(path, '/');
        size_t bytes = end ? (size_t)(end - path) : strlen(path);
        if (bytes == 0 || bytes > NAME_MAX)
            break;
        memcpy(name, path, bytes);
        name[bytes] = '\0';
        int kind = end ? O_DIRECTORY : O_NONBLOCK | O_NOCTTY;
        int next = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind);
        if (at != root_fd)
            (void)close(at);
        if (next < 0 || !end)
            return next;
        at = next;
        path = end + 1;
    }
    if (at != root_fd)
        (void)close(at);
    errno = ENOENT;
    return -1;
}

static enum ap_status open_real(const struct ap_mcp_roots *roots, const char *real, int *ret_fd, struct ap_error *reterr)
{
    for (size_t i = 0; i < roots->count; i++) {
        const char *rest = below(&roots->roots[i], real);
        if (!rest)
            continue;
        *ret_fd = walk(roots->roots[i].fd, rest);
        if (*ret_fd >= 0)
            return AP_OK;
        if (errno == EACCES || errno == EMFILE || errno == ENFILE)
            return ap_fail(reterr, AP_ERROR_INPUT, "cannot open the file: %s", strerror(errno));
    }
    return fail_elsewhere(reterr);
}

/* The path without links; false where there is nothing. */
static bool resolve(const struct ap_mcp_roots *roots, const char *path, char real[PATH_MAX])
{
    char full[PATH_MAX];
    if (path[0] == '/')
        return realpath(path, real) != NULL;
    for (size_t i = 0; i < roots->count; i++) {
        int bytes = snprintf(full, sizeof(full), "%s/%s", roots->roots[i].path, path);
        if (bytes > 0 && (size_t)bytes < sizeof(full) && realpath(full, real))
            return true;
    }
    return false;
}

enum ap_status ap_mcp_roots_open(void *self, const char *path, int *ret_fd, struct ap_error *reterr)
{
    const struct ap_mcp_roots *roots = self;
    char real[PATH_MAX];
    if (!path[0] || !resolve(roots, path, real))
        return fail_elsewhere(reterr);
    return open_real(roots, real, ret_fd, reterr);
}

/* ---- what lies below them ---- */

#define MOST_DEPTH 8

struct listing {
    ap_mcp_visit *visit;
    void *self;
    char path[PATH_MAX];
    size_t entries_left;
    bool left_out;
};

static enum ap_status list_folder(struct listing *listing, int fd, size_t path_bytes, int depth, struct ap_error *reterr);

/* The entry's path is in the listing. A link is neither a file nor a folder here. What cannot be looked into is left out. */
static enum ap_status list_entry(struct listing *listing, int folder_fd, const char *name, size_t path_bytes, int depth,
                                 struct ap_error *reterr)
{
    struct stat status;
    if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return AP_OK;
    if (S_ISREG(status.st_mode))
        return listing->visit(listing->self, listing->path, (uint64_t)status.st_size, reterr);
    if (!S_ISDIR(status.st_mode))
        return AP_OK;
    int fd = depth < MOST_DEPTH ? openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    listing->left_out = listing->left_out || fd < 0;
    return fd < 0 ? AP_OK : list_folder(listing, fd, path_bytes, depth + 1, reterr);
}

/* Takes over @fd. */
static enum ap_status list_folder(struct listing *listing, int fd, size_t path_bytes, int depth, struct ap_error *reterr)
{
    enum ap_status status = AP_OK;
    DIR *folder = fdopendir(fd);
    if (!folder) {
        (void)close(fd);
        listing->left_out = true;
        return AP_OK;
    }
    for (const struct dirent *entry; errno = 0, (entry = readdir(folder));) {
        const char *between = path_bytes && listing->path[path_bytes - 1] != '/' ? "/" : "";
        size_t bytes = path_bytes + strlen(between) + strlen(entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        if (!listing->entries_left || bytes >= sizeof(listing->path)) {
            listing->left_out = true;
            break;
        }
        listing->entries_left--;
        (void)snprintf(listing->path + path_bytes, sizeof(listing->path) - path_bytes, "%s%s", between, entry->d_name);
        status = list_entry(listing, fd, entry->d_name, bytes, depth, reterr);
        if (status != AP_OK)
            break;
    }
    listing->left_out = listing->left_out || errno; /* nobody knows what else it holds */
    (void)closedir(folder);
    return status;
}

static enum ap_status list_under(const struct ap_mcp_roots *roots, struct listing *listing, const char *under,
                                 struct ap_error *reterr)
{
    struct stat status;
    int fd;
    AP_TRY(ap_mcp_roots_open((void *)(uintptr_t)roots, under, &fd, reterr));
    if (fstat(fd, &status) != 0 || !S_ISDIR(status.st_mode)) {
        (void)close(fd);
        return ap_fail(reterr, AP_ERROR_USAGE, "under takes a folder, and this is none");
    }
    int bytes = snprintf(listing->path, sizeof(listing->path), "%s", under);
    return list_folder(listing, fd, (size_t)bytes, 0, reterr);
}

enum ap_status ap_mcp_roots_list(const struct ap_mcp_roots *roots, const char *under, size_t most, ap_mcp_visit *visit,
                                 void *self, bool *ret_left_out, struct ap_error *reterr)
{
    struct listing listing = { .visit = visit, .self = self, .entries_left = most };
    if (under)
        AP_TRY(list_under(roots, &listing, under, reterr));
    for (size_t i = 0; i < roots->count && !under; i++) {
        int fd = openat(roots->roots[i].fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        /* relative to the first; below another one the same name would mean a file of the first */
        int bytes = i ? snprintf(listing.path, sizeof(listing.path), "%s", roots->roots[i].path) : 0;
        listing.left_out = listing.left_out || fd < 0;
        if (fd >= 0)
            AP_TRY(list_folder(&listing, fd, (size_t)bytes, 0, reterr));
    }
    *ret_left_out = listing.left_out;
    return AP_OK;
}
