/* SPDX-License-Identifier: MIT
 * Any bytes as the dumps of a run that hangs: reader, analysis, the key of the report. First byte: bits 0-2 how much is read
 * at a time. The rest are dumps, a NUL byte between two; of rank 0, 1, ... */
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "part_hang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool promise)
{
    if (!promise)
        abort();
}

/* All that the analysis indexes by stands in its bounds. */
static void check_entries(const struct ap_flight *flight)
{
    for (uint32_t i = 0; i < flight->entries.count; i++) {
        check(flight->entries.dump[i] < flight->dump_count);
        check(flight->entries.group[i] < flight->name_count);
        check(flight->entries.sequence[i] >= 0);
    }
    for (uint32_t i = 1; i < flight->dump_count; i++)
        check(flight->dumps[i - 1].rank < flight->dumps[i].rank);
}

static void read_dump(struct ap_flight *flight, const uint8_t *text, size_t bytes, size_t piece_bytes, int64_t rank,
                      struct ap_notes *notes)
{
    struct ap_error error;
    struct ap_json_reader *json = NULL;
    struct feed feed = feed_of(text, bytes, piece_bytes);
    const struct ap_json_limits limits = { .window_bytes = piece_bytes, .token_bytes = 1 << 16, .several = true };
    const struct ap_flight_source source = { .path = "fuzz", .rank = rank };
    struct ap_flight file;
    if (ap_json_reader_new(flight->gate, feed_source(&feed), notes, &limits, &json, &error) != AP_OK)
        return;
    ap_flight_init(&file, flight->gate);
    if (ap_flight_read(&file, json, &source, notes, &error) == AP_OK)
        (void)!ap_flight_join(flight, &file, &error);
    ap_flight_release(&file);
    ap_json_reader_free(json);
}

static void run(const uint8_t *text, size_t bytes, size_t piece_bytes)
{
    struct ap_gate gate;
    struct ap_notes notes;
    struct ap_flight flight;
    struct ap_model model;
    struct ap_error error;
    memset(&notes, 0, sizeof(notes));
    ap_gate_init(&gate, (uint64_t)64 << 20);
    ap_flight_init(&flight, &gate);
    ap_model_init(&model, &gate);
    int64_t rank = 0;
    for (const uint8_t *at = text, *end = text + bytes; at < end; rank++) {
        const uint8_t *stop = memchr(at, '\0', (size_t)(end - at));
        size_t dump_bytes = stop ? (size_t)(stop - at) : (size_t)(end - at);
        read_dump(&flight, at, dump_bytes, piece_bytes, rank % 7 == 6 ? -1 : rank, &notes);
        at += dump_bytes + 1;
    }
    if (ap_flight_finish(&flight, &notes, &error) == AP_OK) {
        check_entries(&flight);
        if (flight.dump_count)
            (void)!ap_part_hang(&flight, 0, &notes, &model, &error);
    }
    ap_flight_release(&flight);
    ap_model_release(&model);
    check(atomic_load(&gate.used_bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t pieces[] = { 4096, 1, 2, 3, 7, 16, 64, 1000 };
    if (size == 0)
        return 0;
    run(data + 1, size - 1, pieces[data[0] & 7]);
    return 0;
}
