/* SPDX-License-Identifier: MIT */
#include "user_frame.h"

#include <string.h>

#include "poison.h"

static const char *const library_frames[] = {
#define AP_LIBRARY_FRAME(patterns) patterns,
#include "library_frames.def"
#define AP_LIBRARY_FILE(patterns) patterns,
#include "library_frames.def"
};
#define ENTRY_COUNT AP_COUNT_OF(library_frames)
enum {
    PATH_COUNT = 0
#define AP_LIBRARY_FRAME(patterns) +1
#include "library_frames.def"
};

enum ap_status ap_user_frames_init(struct ap_user_frames *frames, const struct ap_trace *trace, struct ap_gate *gate,
                                   struct ap_error *reterr)
{
    *frames = (struct ap_user_frames){ .gate = gate, .trace = trace, .library = { .gate = gate } };
    size_t count = ap_trace_id_count(trace);
    AP_TRY(AP_ALLOC(gate, frames->kinds, count, reterr));
    frames->count = count;
    memset(frames->kinds, AP_FRAME_NOT_ASKED, count);
    bool lack_folders = trace->writer && ap_text_is(ap_text_of(trace->writer), "XLA");
    frames->entry_count = lack_folders ? ENTRY_COUNT : PATH_COUNT;
    return ap_name_patterns_init(&frames->library, gate, library_frames, frames->entry_count, reterr);
}

void ap_user_frames_release(struct ap_user_frames *frames)
{
    ap_name_patterns_release(&frames->library);
    ap_mem_free(frames->gate, frames->kinds, frames->count);
    *frames = (struct ap_user_frames){ .gate = frames->gate, .library = { .gate = frames->gate } };
}

/* What follows the last folder of installed packages. */
static struct ap_text behind_packages(struct ap_text name)
{
    static const struct ap_text folders[] = { { "site-packages/", 14 }, { "dist-packages/", 14 } };
    for (size_t at = name.bytes; at-- > 0;)
        for (size_t i = 0; i < AP_COUNT_OF(folders); i++)
            if (name.bytes - at >= folders[i].bytes && memcmp(name.data + at, folders[i].data, folders[i].bytes) == 0)
                return (struct ap_text){ name.data + at + folders[i].bytes, name.bytes - at - folders[i].bytes };
    return name;
}

/* Only a place in a file, "train.py(12): main", is a line. */
static bool is_of_user(const struct ap_user_frames *frames, struct ap_text name)
{
    return memchr(name.data, '(', name.bytes) &&
           ap_name_patterns_first(&frames->library, behind_packages(name), frames->entry_count) == frames->entry_count;
}

enum ap_frame_kind ap_frame_kind_find(struct ap_user_frames *frames, uint32_t name)
{
    struct ap_text text = ap_trace_text(frames->trace, name);
    enum ap_frame_kind kind = ap_text_starts_with(text, "nn.Module: ") ? AP_FRAME_OF_MODULE
                              : is_of_user(frames, text)               ? AP_FRAME_OF_USER
                                                                       : AP_FRAME_OF_LIBRARY;
    frames->kinds[name] = (uint8_t)kind;
    return kind;
}

struct ap_text ap_module_class(struct ap_text name)
{
    static const char prefix[] = "nn.Module: ";
    if (!ap_text_starts_with(name, prefix))
        return name;
    struct ap_text text = { name.data + sizeof(prefix) - 1, name.bytes - (sizeof(prefix) - 1) };
    size_t bytes = text.bytes;
    while (bytes && ap_is_digit(text.data[bytes - 1]))
        bytes--;
    if (bytes > 1 && bytes < text.bytes && text.data[bytes - 1] == '_')
        text.bytes = bytes - 1;
    return text;
}
