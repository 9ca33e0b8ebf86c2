/* SPDX-License-Identifier: MIT
 * file_list.h - the files of a folder, in order of name, and what is in them; for tests that run over fixtures.
 *
 *     struct file_list list = list_files("fixtures/json/accept");
 *     for (size_t i = 0; i < list.count; i++) { ... list.files[i].data, .bytes, .name ... }
 *     release_files(&list); */
#ifndef AP_FILE_LIST_H
#define AP_FILE_LIST_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_LIST_UNUSED __attribute__((unused))

struct listed_file {
    char path[1024];
    const char *name; /* within path */
    uint8_t *data;    /* a block of exactly this size, so that reading beyond it is caught */
    size_t bytes;
};

struct file_list {
    struct listed_file *files;
    size_t count;
};

FILE_LIST_UNUSED static void file_list_fail(const char *what, const char *path)
{
    fprintf(stderr, "%s: %s\n", what, path);
    exit(99);
}

/** The folder fixtures/: the first argument, else what AP_FIXTURES says. */
FILE_LIST_UNUSED static const char *fixtures_folder(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : getenv("AP_FIXTURES");
    if (!folder || !folder[0])
        file_list_fail("give the folder fixtures/ as argument or in AP_FIXTURES", argv[0]);
    return folder;
}

/** The whole file; ends the test where it cannot be read. */
FILE_LIST_UNUSED static uint8_t *read_whole_file(const char *path, size_t *ret_bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        file_list_fail("cannot be opened", path);
    long end = ftell(file);
    if (end < 0 || fseek(file, 0, SEEK_SET) != 0)
        file_list_fail("is no regular file", path);
    size_t bytes = (size_t)end;
    uint8_t *data = malloc(bytes ? bytes : 1);
    if (!data || fread(data, 1, bytes, file) != bytes)
        file_list_fail("cannot be read", path);
    (void)fclose(file);
    *ret_bytes = bytes;
    return data;
}

FILE_LIST_UNUSED static int file_list_order(const void *a, const void *b)
{
    return strcmp(((const struct listed_file *)a)->path, ((const struct listed_file *)b)->path);
}

FILE_LIST_UNUSED static void file_list_add(struct file_list *list, const char *path)
{
    struct listed_file *grown = realloc(list->files, (list->count + 1) * sizeof(grown[0]));
    if (!grown)
        abort();
    list->files = grown;
    struct listed_file *file = &list->files[list->count++];
    if ((size_t)snprintf(file->path, sizeof(file->path), "%s", path) >= sizeof(file->path))
        file_list_fail("too long a path", path);
    file->data = read_whole_file(path, &file->bytes);
}

/** The regular files right in @folder; a file instead of a folder is a list of one. Names that begin with a point are
 *  left out. */
FILE_LIST_UNUSED static void list_files_into(struct file_list *list, const char *folder)
{
    DIR *open = opendir(folder);
    if (!open) {
        file_list_add(list, folder);
    } else {
        for (struct dirent *entry = readdir(open); entry; entry = readdir(open)) {
            char path[1024];
            DIR *deeper;
            if (entry->d_name[0] == '.')
                continue;
            if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= sizeof(path))
                file_list_fail("too long a path", folder);
            deeper = opendir(path);
            if (deeper)
                (void)closedir(deeper);
            else
                file_list_add(list, path);
        }
        (void)closedir(open);
    }
    if (list->count)
        qsort(list->files, list->count, sizeof(list->files[0]), file_list_order);
    for (size_t i = 0; i < list->count; i++) { /* they moved */
        const char *slash = strrchr(list->files[i].path, '/');
        list->files[i].name = slash ? slash + 1 : list->files[i].path;
    }
}

FILE_LIST_UNUSED static struct file_list list_files(const char *folder)
{
    struct file_list list = { NULL, 0 };
    list_files_into(&list, folder);
    return list;
}

FILE_LIST_UNUSED static void release_files(struct file_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->files[i].data);
    free(list->files);
    *list = (struct file_list){ NULL, 0 };
}

#endif
