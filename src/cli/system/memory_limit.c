/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* _SC_PHYS_PAGES */
#include "memory_limit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define PATH_BYTES 4096

/* Zero where the file is not there, or says "max". */
static uint64_t number_in(const char *path)
{
    char text[32];
    FILE *file = fopen(path, "r");
    bool read = file && fgets(text, sizeof(text), file);
    if (file)
        (void)fclose(file);
    return read ? strtoull(text, NULL, 10) : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a && (!b || a < b) ? a : b;
}

/* The least that this group or one above it allows, as its file says. */
static uint64_t limit_of_group(const char *group, const char *controller, const char *file)
{
    char folder[PATH_BYTES], path[PATH_BYTES + sizeof(CGROUP_ROOT) + 48];
    uint64_t least = 0;
    (void)snprintf(folder, sizeof(folder), "%s", group);
    for (char *end = folder + strlen(folder); end; end = strrchr(folder, '/')) {
        *end = '\0';
        (void)snprintf(path, sizeof(path), CGROUP_ROOT "%s%s/%s", controller, folder, file);
        least = smaller(number_in(path), least);
    }
    return least;
}

/* The second version tells the group in a line "0::/group", the first one in "9:memory:/group", a path that a container
 * sees without the part above itself: there the limit is in the root. */
static uint64_t limit_of_groups(void)
{
    static const char v1[] = ":memory:";
    char line[PATH_BYTES];
    uint64_t limit = number_in(CGROUP_ROOT "/memory/memory.limit_in_bytes");
    FILE *file = fopen("/proc/self/cgroup", "r");
    while (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::", 3) == 0)
            limit = smaller(limit_of_group(line + 3, "", "memory.max"), limit);
        const char *group = strstr(line, v1);
        if (group)
            limit = smaller(limit_of_group(group + sizeof(v1) - 1, "/memory", "memory.limit_in_bytes"), limit);
    }
    if (file)
        (void)fclose(file);
    return limit;
}

struct ap_memory_limit ap_cli_memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t half = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes / 2 : 0;
    uint64_t of_groups = limit_of_groups();
    if (of_groups && (!half || of_groups < half))
        return (struct ap_memory_limit){ of_groups, "what the cgroup allows" };
    return (struct ap_memory_limit){ half, half ? "half of the machine's" : NULL };
}
