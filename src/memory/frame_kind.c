/* SPDX-License-Identifier: MIT */
#include "frame_kind.h"

#include <string.h>

#include "poison.h"

/* Paths, with forward slashes. To call more code a library, add what its files have in common. */
static const char *const library_parts[] = {
    "/site-packages/torch/", "/dist-packages/torch/", "/site-packages/functorch/", "/site-packages/triton/",
    "/lib/python2.",         "/lib/python3.", /* the standard library, unless a package below says otherwise */
};
static const char *const package_parts[] = { "/site-packages/", "/dist-packages/" };
static const char *const compiled_endings[] = { ".cpp", ".cc", ".c", ".h", ".hpp", ".cu", ".cuh", ".o", ".so" };

static bool contains(struct ap_text text, const char *part)
{
    size_t bytes = strlen(part);
    for (size_t i = 0; i + bytes <= text.bytes; i++)
        if (text.data[i] == part[0] && memcmp(text.data + i, part, bytes) == 0)
            return true;
    return false;
}

static bool ends_with(struct ap_text text, const char *ending)
{
    size_t bytes = strlen(ending);
    return text.bytes >= bytes && memcmp(text.data + text.bytes - bytes, ending, bytes) == 0;
}

/* libfoo.so.12 is a shared object too. */
static bool is_compiled(struct ap_text filename)
{
    for (size_t i = 0; i < AP_COUNT_OF(compiled_endings); i++)
        if (ends_with(filename, compiled_endings[i]))
            return true;
    return contains(filename, ".so.");
}

bool ap_frame_is_library(struct ap_text filename)
{
    if (!filename.bytes || filename.data[0] == '<' || ap_text_is(filename, "??") || is_compiled(filename))
        return true;
    bool package = false;
    for (size_t i = 0; i < AP_COUNT_OF(package_parts); i++)
        package = package || contains(filename, package_parts[i]);
    for (size_t i = 0; i < AP_COUNT_OF(library_parts); i++) {
        bool standard = strstr(library_parts[i], "/lib/python") != NULL;
        if (!(standard && package) && contains(filename, library_parts[i]))
            return true;
    }
    return false;
}

uint32_t ap_stack_user_frame(const struct ap_snapshot *snapshot, uint32_t stack)
{
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct ap_frame *frame = &snapshot->stacks.frames[frames[i]];
        if (!ap_frame_is_library(ap_strpool_text(&snapshot->strings, frame->filename)))
            return i;
    }
    return UINT32_MAX;
}
