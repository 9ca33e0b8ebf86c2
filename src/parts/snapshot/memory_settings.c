/* SPDX-License-Identifier: MIT
 * Allocator settings that contradict each other, or that had no effect. */
#include "snapshot_part.h"

#include "poison.h"

#define MOST_NOTES 64

/* Keys of PYTORCH_CUDA_ALLOC_CONF. */
static const char *const known_keys[] = {
    "backend",
    "expandable_segments",
    "garbage_collection_threshold",
    "graph_capture_record_stream_reuse",
    "max_non_split_rounding_mb",
    "max_split_size_mb",
    "per_process_memory_fraction",
    "pinned_max_cached_size_mb",
    "pinned_max_round_threshold_mb",
    "pinned_num_register_threads",
    "pinned_reserve_segment_size_mb",
    "pinned_use_background_threads",
    "pinned_use_cuda_host_register",
    "pinned_use_hip_host_register",
    "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",
    "roundup_power2_divisions",
    "throw_on_cudamalloc_oom",
};

struct notes_list {
    struct ap_snapshot_part *pass;
    struct ap_value *list;
    unsigned count;
};

static void note(struct notes_list *notes, struct ap_text setting, const char *problem)
{
    if (notes->count++ >= MOST_NOTES)
        return;
    struct ap_value *row = ap_add_object(notes->pass->model, notes->list, NULL);
    ap_add_text(notes->pass->model, row, "setting", setting);
    ap_add_string(notes->pass->model, row, "problem", problem);
}

/* The next key:value; commas inside brackets do not part. */
static bool next_pair(struct ap_text *rest, struct ap_text *ret_key, struct ap_text *ret_value)
{
    size_t end = 0, colon = SIZE_MAX;
    bool inside = false;
    if (!rest->bytes)
        return false;
    for (; end < rest->bytes && (inside || rest->data[end] != ','); end++) {
        inside = rest->data[end] == '[' || (inside && rest->data[end] != ']');
        if (rest->data[end] == ':' && colon == SIZE_MAX)
            colon = end;
    }
    size_t key_end = colon == SIZE_MAX ? end : colon, value_begin = colon == SIZE_MAX ? end : colon + 1;
    *ret_key = ap_text_trim((struct ap_text){ rest->data, key_end });
    *ret_value = ap_text_trim((struct ap_text){ rest->data + value_begin, end - value_begin });
    size_t passed = end < rest->bytes ? end + 1 : end;
    *rest = (struct ap_text){ rest->data + passed, rest->bytes - passed };
    return true;
}

static bool is_known(struct ap_text key)
{
    for (size_t i = 0; i < AP_COUNT_OF(known_keys); i++)
        if (ap_text_is(key, known_keys[i]))
            return true;
    return false;
}

/* What the setting asks for against what was in force. */
static void check_pair(struct notes_list *notes, struct ap_text key, struct ap_text value)
{
    const struct ap_allocator_settings *settings = &notes->pass->snapshot->settings;
    bool wants_expandable = ap_text_is(key, "expandable_segments") && ap_text_is(value, "True");
    if (!key.bytes)
        return;
    if (!is_known(key))
        note(notes, key, "this version of the tool does not know the key; torch refuses keys it does not know");
    if (wants_expandable && settings->has & AP_SETTING_HAS_EXPANDABLE && !settings->expandable_segments)
        note(notes, key, "asked for, but not in force: the environment variable was ignored or set too late");
    if (ap_text_is(key, "max_split_size_mb") && settings->has & AP_SETTING_HAS_MAX_SPLIT && settings->max_split_bytes < 0)
        note(notes, key, "asked for, but not in force");
    if (ap_text_is(key, "garbage_collection_threshold") && settings->has & AP_SETTING_HAS_GC &&
        !(settings->gc_threshold_ratio > 0))
        note(notes, key, "asked for, but not in force");
    if (ap_text_is(key, "backend") && ap_text_is(value, "cudaMallocAsync"))
        note(notes, key, "cudaMallocAsync has no pools of its own: the settings of the caching allocator do nothing");
}

static bool has_expandable_segment(const struct ap_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        if (snapshot->segments[i].expandable)
            return true;
    return false;
}

static bool tells_expandable(const struct ap_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        if (!(snapshot->segments[i].has & AP_SEGMENT_HAS_EXPANDABLE))
            return false;
    return snapshot->segment_count > 0;
}

static void check_together(struct notes_list *notes)
{
    const struct ap_snapshot *snapshot = notes->pass->snapshot;
    const struct ap_allocator_settings *settings = &snapshot->settings;
    bool expandable = settings->has & AP_SETTING_HAS_EXPANDABLE && settings->expandable_segments;
    bool collects = settings->has & AP_SETTING_HAS_GC && settings->gc_threshold_ratio > 0;
    if (expandable && settings->has & AP_SETTING_HAS_MAX_SPLIT && settings->max_split_bytes >= 0)
        note(notes, AP_TEXT("max_split_size_mb"),
             "set together with expandable_segments, whose blocks are always split: use one of them");
    if (expandable && collects)
        note(notes, AP_TEXT("garbage_collection_threshold"),
             "set together with expandable_segments, whose blocks are not collected");
    else if (collects)
        note(notes, AP_TEXT("garbage_collection_threshold"),
             "works only where torch.cuda.set_per_process_memory_fraction() was called");
    if (expandable && tells_expandable(snapshot) && !has_expandable_segment(snapshot))
        note(notes, AP_TEXT("expandable_segments"),
             "in force, but no segment is expandable: all were made before it was set, or the platform has none");
    if (settings->has & AP_SETTING_HAS_EXPANDABLE && !expandable && has_expandable_segment(snapshot))
        note(notes, AP_TEXT("expandable_segments"), "was switched off while expandable segments were in use");
}

void ap_memory_put_settings_notes(struct ap_snapshot_part *pass, struct ap_value *memory)
{
    struct notes_list notes = { .pass = pass, .list = ap_add_list(pass->model, memory, "settings_notes") };
    if (!(pass->snapshot->has & AP_SNAPSHOT_HAS_SETTINGS)) {
        ap_add_null(pass->model, memory, "settings_note_count");
        return;
    }
    struct ap_text rest = ap_strpool_text(&pass->snapshot->strings, pass->snapshot->settings.conf), key, value;
    check_together(&notes);
    while (next_pair(&rest, &key, &value) && notes.count < MOST_NOTES)
        check_pair(&notes, key, value);
    ap_add_count(pass->model, memory, "settings_note_count", notes.count < MOST_NOTES ? notes.count : MOST_NOTES);
}
