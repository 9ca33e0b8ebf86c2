/* SPDX-License-Identifier: MIT
 * See snapshot_writer.h. Members as in torch/csrc/cuda/memory_snapshot.cpp and torch/cuda/memory.py. */
#include "snapshot_writer.h"

#include <inttypes.h>

#include "harness_text.h"

static const char *action_name(enum harness_action action)
{
    switch (action) {
    case HARNESS_ALLOC: return "alloc";
    case HARNESS_FREE_REQUESTED: return "free_requested";
    case HARNESS_FREE_COMPLETED: return "free_completed";
    case HARNESS_SEGMENT_ALLOC: return "segment_alloc";
    case HARNESS_SEGMENT_FREE: return "segment_free";
    case HARNESS_OOM: break;
    }
    return "oom";
}

/** Innermost first. */
static void frames(struct ap_out *out, const struct harness_frame *frame)
{
    ap_out_string(out, "\"frames\": [");
    for (const struct harness_frame *at = frame; at; at = at->outer) {
        ap_out_string(out, at == frame ? "{\"filename\": " : ", {\"filename\": ");
        harness_json_string(out, at->file);
        ap_out_format(out, ", \"line\": %d, \"name\": ", at->line);
        harness_json_string(out, at->name);
        ap_out_char(out, '}');
    }
    ap_out_char(out, ']');
}

static void block(struct ap_out *out, const struct harness_block *block)
{
    ap_out_format(
        out, "{\"address\": %" PRIu64 ", \"size\": %" PRIu64 ", \"requested_size\": %" PRIu64 ", \"state\": \"%s\", ",
        block->address, block->size_bytes, block->requested_bytes, block->allocated ? "active_allocated" : "inactive");
    frames(out, block->frame);
    ap_out_char(out, '}');
}

static void segment(struct ap_out *out, const struct harness_segment *segment, uint32_t device_index)
{
    uint64_t allocated_bytes = 0, requested_bytes = 0;
    for (const struct harness_block *b = segment->first; b; b = b->next) {
        allocated_bytes += b->allocated ? b->size_bytes : 0;
        requested_bytes += b->requested_bytes;
    }
    ap_out_format(out,
                  "{\"device\": %" PRIu32 ", \"address\": %" PRIu64 ", \"total_size\": %" PRIu64
                  ", \"allocated_size\": %" PRIu64 ", \"active_size\": %" PRIu64 ", \"requested_size\": %" PRIu64,
                  device_index, segment->address, segment->size_bytes, allocated_bytes, allocated_bytes, requested_bytes);
    ap_out_format(out,
                  ", \"stream\": %" PRIu64 ", \"segment_type\": \"%s\", \"segment_pool_id\": [0, 0], "
                  "\"is_expandable\": false, ",
                  segment->stream, segment->small ? "small" : "large");
    frames(out, segment->frame);
    ap_out_string(out, ", \"blocks\": [");
    for (const struct harness_block *b = segment->first; b; b = b->next) {
        ap_out_string(out, b == segment->first ? "" : ", ");
        block(out, b);
    }
    ap_out_string(out, "]}");
}

static void entry(struct ap_out *out, const struct harness_entry *entry)
{
    ap_out_format(out,
                  "{\"action\": \"%s\", \"%s\": %" PRIu64 ", \"size\": %" PRIu64 ", \"stream\": %" PRIu64
                  ", \"time_us\": %" PRId64 ", ",
                  action_name(entry->action), entry->action == HARNESS_OOM ? "device_free" : "addr", entry->address,
                  entry->size_bytes, entry->stream, entry->time_us);
    frames(out, entry->frame);
    ap_out_char(out, '}');
}

static void annotation(struct ap_out *out, const struct harness_annotation *annotation, uint32_t device_index)
{
    ap_out_string(out, "{\"name\": ");
    harness_json_string(out, annotation->name);
    ap_out_format(out, ", \"stage\": \"%s\", \"device\": %" PRIu32 ", \"time_us\": %" PRId64 "}",
                  annotation->start ? "START" : "END", device_index, annotation->time_us);
}

static void write_snapshot(struct ap_out *out, const void *self)
{
    const struct harness_allocator *allocator = self;
    uint32_t device_index = allocator->options.device_index;
    ap_out_string(out, "{\"segments\": [");
    for (size_t i = 0; i < allocator->segment_count; i++) {
        ap_out_string(out, i ? ",\n" : "\n");
        segment(out, allocator->segments[i], device_index);
    }
    ap_out_string(out, "],\n\"device_traces\": [");
    for (uint32_t i = 0; i < device_index; i++) /* the index in this list is the device's */
        ap_out_string(out, "[], ");
    ap_out_char(out, '[');
    for (size_t i = 0; i < allocator->entry_count; i++) {
        ap_out_string(out, i ? ",\n" : "\n");
        entry(out, harness_allocator_entry(allocator, i));
    }
    ap_out_string(out,
                  "]],\n\"allocator_settings\": {\"PYTORCH_CUDA_ALLOC_CONF\": \"\", \"max_split_size\": -1, "
                  "\"garbage_collection_threshold\": 0.0, \"expandable_segments\": false},\n\"external_annotations\": [");
    for (size_t i = 0; i < allocator->annotation_count; i++) {
        ap_out_string(out, i ? ",\n" : "\n");
        annotation(out, &allocator->annotations[i], device_index);
    }
    ap_out_string(out, "]}\n");
}

enum ap_status harness_snapshot_write(struct harness_allocator *allocator, const char *path, struct ap_error *reterr)
{
    harness_allocator_sort_segments(allocator);
    return harness_write_file(path, write_snapshot, allocator, reterr);
}
