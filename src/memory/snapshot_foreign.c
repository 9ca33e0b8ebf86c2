/* SPDX-License-Identifier: MIT */
#include "snapshot_reading.h"

#include <string.h>

#include "poison.h"

enum mark {
    MARK_TRACE_EVENTS = 1u << 0,
    MARK_PHASE = 1u << 1,
    MARK_SCHEMA = 1u << 2,
    MARK_NODES = 1u << 3,
    MARK_ENGINE_LAYERS = 1u << 4,
    MARK_ENGINE_TIMES = 1u << 5,
    MARK_STATISTICS = 1u << 6,
    MARK_REPORT_VERSION = 1u << 7,
    MARK_GENERATOR = 1u << 8,
    MARK_LIST_OF_LISTS = 1u << 9
};

static const struct {
    const char *key;
    enum mark mark;
} marks[] = {
    { "traceEvents", MARK_TRACE_EVENTS },
    { "ph", MARK_PHASE },
    { "schema", MARK_SCHEMA },
    { "nodes", MARK_NODES },
    { "Layers", MARK_ENGINE_LAYERS },
    { "Bindings", MARK_ENGINE_LAYERS },
    { "averageMs", MARK_ENGINE_TIMES },
    { "latencyMs", MARK_ENGINE_TIMES },
    { "startComputeMs", MARK_ENGINE_TIMES },
    { "allocated_bytes.all.current", MARK_STATISTICS },
    { "schema_version", MARK_REPORT_VERSION },
    { "generator", MARK_GENERATOR },
};

#define HOW_TO_EXPORT "a snapshot is written with json.dump(torch.cuda.memory._snapshot(), file)"

static const struct {
    uint32_t needed; /* all of these marks */
    struct ap_foreign what;
} documents[] = {
    { MARK_TRACE_EVENTS, { "this is a PyTorch profiler trace, not a memory snapshot", AP_ADVICE_AS_TRACE } },
    { MARK_PHASE, { "this is a trace (a bare list of events), not a memory snapshot", AP_ADVICE_AS_TRACE } },
    { MARK_SCHEMA | MARK_NODES,
      { "this is a PyTorch execution trace (schema and nodes), not a memory snapshot, and is not read: give the "
        "profiler's trace; " HOW_TO_EXPORT,
        AP_ADVICE_NONE } },
    { MARK_ENGINE_LAYERS,
      { "this is TensorRT layer information (trtexec --exportLayerInfo), not a memory snapshot, and is not "
        "read; " HOW_TO_EXPORT,
        AP_ADVICE_NONE } },
    { MARK_ENGINE_TIMES,
      { "this is trtexec output (--exportProfile or --exportTimes), not a memory snapshot, and is not read; " HOW_TO_EXPORT,
        AP_ADVICE_NONE } },
    { MARK_STATISTICS,
      { "these are the counters of torch.cuda.memory_stats(), not a memory snapshot, and are not read; " HOW_TO_EXPORT,
        AP_ADVICE_NONE } },
    { MARK_REPORT_VERSION | MARK_GENERATOR,
      { "this is a report of analyze_profile, not a memory snapshot: give the snapshot that it was made from",
        AP_ADVICE_NONE } },
    { MARK_LIST_OF_LISTS,
      { "this is a list of lists, as the profiler's export_memory_timeline writes it, not a memory snapshot, and is not "
        "read; " HOW_TO_EXPORT,
        AP_ADVICE_NONE } },
};

void ap_foreign_key(struct ap_reading *reading, const struct ap_json_token *key)
{
    for (size_t i = 0; i < AP_COUNT_OF(marks); i++)
        if (strlen(marks[i].key) == key->text_bytes && memcmp(marks[i].key, key->text, key->text_bytes) == 0)
            reading->foreign_marks |= marks[i].mark;
}

void ap_foreign_list_of_lists(struct ap_reading *reading)
{
    reading->foreign_marks |= MARK_LIST_OF_LISTS;
}

const struct ap_foreign *ap_foreign_document(const struct ap_reading *reading)
{
    for (size_t i = 0; i < AP_COUNT_OF(documents); i++)
        if ((reading->foreign_marks & documents[i].needed) == documents[i].needed)
            return &documents[i].what;
    return NULL;
}
