/* SPDX-License-Identifier: MIT */
#include "frame_kind.h"

#include <string.h>

#include "poison.h"

static const char *const library_parts[] = {
#define AP_LIBRARY_PART(part) part,
#include "library_files.def"
};
static const char *const standard_parts[] = {
#define AP_STANDARD_PART(part) part,
#include "library_files.def"
};
static const char *const package_parts[] = {
#define AP_PACKAGE_PART(part) part,
#include "library_files.def"
};
static const char *const compiled_endings[] = {
#define AP_COMPILED_ENDING(text) text,
#include "library_files.def"
};
static const char *const object_endings[] = {
#define AP_OBJECT_ENDING(text) text,
#include "library_files.def"
};

/* Slashes of either kind are equal. */
static bool begins_so(const char *path, const char *part, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (path[i] != part[i] && !(path[i] == '\\' && part[i] == '/'))
            return false;
    return true;
}

static bool contains(struct ap_text text, const char *part)
{
    size_t bytes = strlen(part);
    for (size_t i = 0; i + bytes <= text.bytes; i++)
        if (begins_so(text.data + i, part, bytes))
            return true;
    return false;
}

static bool contains_any(struct ap_text text, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (contains(text, parts[i]))
            return true;
    return false;
}

static bool ends_with_any(struct ap_text text, const char *const *endings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ap_text_ends_with(text, endings[i]))
            return true;
    return false;
}

/* The interpreter: .../bin/python3.12, python3.13t without the global lock, python3.12d of a debug build */
static bool is_interpreter(struct ap_text filename)
{
    static const char name[] = "/python";
    size_t end = filename.bytes;
    end -= end && (filename.data[end - 1] == 't' || filename.data[end - 1] == 'd');
    while (end && ((filename.data[end - 1] >= '0' && filename.data[end - 1] <= '9') || filename.data[end - 1] == '.'))
        end--;
    return ap_text_ends_with((struct ap_text){ filename.data, end }, name);
}

/* libfoo.so.12 is a shared object too. */
bool ap_frame_is_object(struct ap_text filename)
{
    return ends_with_any(filename, object_endings, AP_COUNT_OF(object_endings)) || contains(filename, ".so.") ||
           is_interpreter(filename);
}

bool ap_frame_is_library(struct ap_text filename)
{
    if (!filename.bytes || filename.data[0] == '<' || ap_text_is(filename, "??") || ap_frame_is_object(filename) ||
        ends_with_any(filename, compiled_endings, AP_COUNT_OF(compiled_endings)))
        return true;
    if (contains_any(filename, library_parts, AP_COUNT_OF(library_parts)))
        return true;
    return contains_any(filename, standard_parts, AP_COUNT_OF(standard_parts)) &&
           !contains_any(filename, package_parts, AP_COUNT_OF(package_parts));
}

bool ap_frame_is_package(struct ap_text filename)
{
    return contains_any(filename, package_parts, AP_COUNT_OF(package_parts));
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

uint32_t ap_stack_backward_frame(const struct ap_snapshot *snapshot, uint32_t stack)
{
    static const char node[] = "torch::autograd::generated::", pythons[] = "torch::autograd::PyNode::apply";
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct ap_text name = ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frames[i]].name);
        if (ap_text_starts_with(name, node) || ap_text_starts_with(name, pythons))
            return i;
    }
    return UINT32_MAX;
}

bool ap_frame_calls_module(const struct ap_snapshot *snapshot, uint32_t frame)
{
    static const char *const names[] = { "forward", "_call_impl", "_wrapped_call_impl" };
    struct ap_text name = ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frame].name);
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(name, names[i]))
            return true;
    return false;
}

static bool is_call(const struct ap_snapshot *snapshot, uint32_t frame)
{
    return ap_frame_calls_module(snapshot, frame) ||
           ap_text_is(ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frame].name), "__call__");
}

bool ap_frames_have_call(const struct ap_snapshot *snapshot, const uint32_t *frames, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_call(snapshot, frames[i]))
            return true;
    return false;
}

#define MOST_OUTER 8u /* frames outside of the outermost call, from there on */

bool ap_stack_is_beside_calls(const struct ap_snapshot *snapshot, uint32_t stack, uint32_t calling_stack)
{
    const struct ap_stacks *stacks = &snapshot->stacks;
    uint32_t count, outer_count, at;
    const uint32_t *frames = ap_stack_frames(stacks, stack, &count);
    const uint32_t *outer = ap_stack_frames(stacks, calling_stack, &outer_count);
    for (at = outer_count; at && !is_call(snapshot, outer[at - 1]);)
        at--;
    bool same = false;
    for (uint32_t i = 0; i < count && at && !same; i++)
        for (uint32_t j = at; j < outer_count && j < at + MOST_OUTER && !same; j++)
            same = stacks->frames[frames[i]].filename.id == stacks->frames[outer[j]].filename.id &&
                   stacks->frames[frames[i]].name.id == stacks->frames[outer[j]].name.id;
    return same && !ap_frames_have_call(snapshot, frames, count);
}

uint32_t ap_stack_calling_frame(const struct ap_snapshot *snapshot, uint32_t stack)
{
    uint32_t count, caller = UINT32_MAX;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    for (uint32_t i = count; i-- > 0;) {
        if (ap_frame_calls_module(snapshot, frames[i]))
            return caller;
        if (!ap_frame_is_library(ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frames[i]].filename)))
            caller = i;
    }
    return UINT32_MAX;
}

/* Innermost in all stacks of C++: what recorded the stack, and the allocator. */
static bool is_of_every_stack(struct ap_text name)
{
    static const char *const beginnings[] = { "torch::unwind::", "torch::CapturedTraceback::",
                                              "torch::cuda::(anonymous namespace)::gather",
                                              "c10::cuda::CUDACachingAllocator::" };
    for (size_t i = 0; i < AP_COUNT_OF(beginnings); i++)
        if (ap_text_starts_with(name, beginnings[i]))
            return true;
    return false;
}

static uint32_t innermost_of_few(const struct ap_snapshot *snapshot, uint32_t stack)
{
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!is_of_every_stack(ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frames[i]].name)))
            return i;
    return 0;
}

uint32_t ap_stack_main_frame(const struct ap_snapshot *snapshot, uint32_t stack)
{
    uint32_t user = ap_stack_user_frame(snapshot, stack), backward;
    if (user != UINT32_MAX)
        return user;
    backward = ap_stack_backward_frame(snapshot, stack);
    return backward == UINT32_MAX ? innermost_of_few(snapshot, stack) : backward;
}
