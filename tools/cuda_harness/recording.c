/* SPDX-License-Identifier: MIT
 * See recording.h. */
#include "recording.h"

#include <stdlib.h>
#include <string.h>

enum ap_status harness_recording_new(struct harness_recording **ret_recording, struct ap_error *reterr)
{
    struct harness_recording *recording = calloc(1, sizeof(*recording));
    if (!recording)
        return ap_fail(reterr, AP_ERROR_MEMORY, "no memory for a recording");
    ap_gate_init(&recording->gate, 0);
    ap_arena_init(&recording->texts, &recording->gate);
    if (pthread_mutex_init(&recording->lock, NULL) != 0) {
        free(recording);
        return ap_fail(reterr, AP_ERROR_MEMORY, "no lock for a recording");
    }
    *ret_recording = recording;
    return AP_OK;
}

void harness_recording_free(struct harness_recording *recording)
{
    if (!recording)
        return;
    ap_mem_free(&recording->gate, recording->rows, recording->row_capacity * sizeof(*recording->rows));
    ap_arena_release(&recording->texts);
    (void)pthread_mutex_destroy(&recording->lock);
    free(recording);
}

void harness_recording_add(struct harness_recording *recording, const struct harness_row *row)
{
    (void)pthread_mutex_lock(&recording->lock);
    if (recording->status == AP_OK) {
        recording->status = ap_mem_reserve(&recording->gate, (void **)&recording->rows, &recording->row_capacity,
                                           recording->row_count + 1, sizeof(*row), &recording->error);
        if (recording->status == AP_OK)
            recording->rows[recording->row_count++] = *row;
    }
    (void)pthread_mutex_unlock(&recording->lock);
}

const char *harness_recording_text(struct harness_recording *recording, const char *text)
{
    (void)pthread_mutex_lock(&recording->lock);
    struct ap_text copy = ap_arena_text(&recording->texts, ap_text_of(text));
    if (!copy.data && recording->status == AP_OK)
        recording->status = ap_fail_memory(&recording->gate, &recording->error);
    (void)pthread_mutex_unlock(&recording->lock);
    return copy.data ? copy.data : "";
}

bool harness_row_is_host(const struct harness_row *row)
{
    return row->kind <= HARNESS_DRIVER;
}

bool harness_row_is_gpu_work(const struct harness_row *row)
{
    return row->kind == HARNESS_KERNEL || row->kind == HARNESS_COPY || row->kind == HARNESS_SET;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_start(const void *left, const void *right)
{
    const struct harness_row *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->dur_ns != b->dur_ns) /* what encloses stands first */
        return a->dur_ns > b->dur_ns ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    int order = compare_u64(a->correlation, b->correlation);
    return order ? order : strcmp(a->name, b->name);
}

/** What is open on a thread, from the outermost to the innermost. */
struct open_rows {
    uint32_t thread;
    size_t depth, capacity;
    size_t *rows;
};

struct linking {
    struct harness_recording *recording;
    struct open_rows *threads;
    size_t thread_count, thread_capacity;
    uint64_t next_id;
};

static enum ap_status open_rows_of(struct linking *linking, uint32_t thread, struct open_rows **ret_open,
                                   struct ap_error *reterr)
{
    struct ap_gate *gate = &linking->recording->gate;
    for (size_t i = 0; i < linking->thread_count; i++) {
        if (linking->threads[i].thread == thread) {
            *ret_open = &linking->threads[i];
            return AP_OK;
        }
    }
    AP_TRY(ap_mem_reserve(gate, (void **)&linking->threads, &linking->thread_capacity, linking->thread_count + 1,
                          sizeof(*linking->threads), reterr));
    linking->threads[linking->thread_count] = (struct open_rows){ .thread = thread };
    *ret_open = &linking->threads[linking->thread_count++];
    return AP_OK;
}

static int64_t end_ns(const struct harness_row *row)
{
    return row->start_ns + row->dur_ns;
}

/** Rows come in order of their start: what ended before this one is closed; the innermost operator or range left is its
 * place. */
static enum ap_status place_host_row(struct linking *linking, size_t at, bool *ret_keep, struct ap_error *reterr)
{
    struct harness_row *rows = linking->recording->rows, *row = &rows[at];
    struct open_rows *open;
    AP_TRY(open_rows_of(linking, row->thread, &open, reterr));
    while (open->depth && end_ns(&rows[open->rows[open->depth - 1]]) < end_ns(row))
        open->depth--;
    bool named = row->kind == HARNESS_OP || row->kind == HARNESS_RANGE;
    if (named)
        row->external_id = ++linking->next_id;
    for (size_t i = open->depth; i-- && !named;) {
        const struct harness_row *around = &rows[open->rows[i]];
        if (around->kind == HARNESS_RUNTIME && row->kind == HARNESS_DRIVER)
            *ret_keep = false;
        if (around->kind == HARNESS_OP || around->kind == HARNESS_RANGE) {
            row->external_id = around->external_id;
            break;
        }
    }
    AP_TRY(ap_mem_reserve(&linking->recording->gate, (void **)&open->rows, &open->capacity, open->depth + 1,
                          sizeof(*open->rows), reterr));
    open->rows[open->depth++] = at;
    return AP_OK;
}

static int compare_correlation(const void *left, const void *right)
{
    const struct harness_row *const *a = left, *const *b = right;
    return compare_u64((*a)->correlation, (*b)->correlation);
}

/** GPU work and waits belong where their call was made. */
static enum ap_status place_gpu_rows(struct harness_recording *recording, struct ap_error *reterr)
{
    struct harness_row **calls = NULL;
    size_t call_count = 0, capacity = 0;
    AP_TRY(ap_mem_reserve(&recording->gate, (void **)&calls, &capacity, recording->row_count + 1, sizeof(*calls), reterr));
    for (size_t i = 0; i < recording->row_count; i++) {
        struct harness_row *row = &recording->rows[i];
        if ((row->kind == HARNESS_RUNTIME || row->kind == HARNESS_DRIVER) && row->correlation)
            calls[call_count++] = row;
    }
    qsort(calls, call_count, sizeof(*calls), compare_correlation);
    for (size_t i = 0; i < recording->row_count; i++) {
        struct harness_row *row = &recording->rows[i];
        if (!harness_row_is_gpu_work(row) && row->kind != HARNESS_SYNC)
            continue;
        struct harness_row **call = bsearch(&row, calls, call_count, sizeof(*calls), compare_correlation);
        row->external_id = call ? (*call)->external_id : 0;
        if (call && harness_row_is_gpu_work(row))
            (*call)->makes_work = true;
    }
    ap_mem_free(&recording->gate, calls, capacity * sizeof(*calls));
    return AP_OK;
}

/** Host rows of the window, and what they caused: GPU work may end, not begin, behind it. */
static void drop_rows_outside(struct harness_recording *recording)
{
    size_t kept = 0;
    for (size_t i = 0; i < recording->row_count; i++) {
        const struct harness_row *row = &recording->rows[i];
        if (row->start_ns >= recording->run.start_ns && row->start_ns <= recording->run.end_ns && row->dur_ns >= 0)
            recording->rows[kept++] = *row;
    }
    recording->row_count = kept;
}

static enum ap_status place_host_rows(struct linking *linking, struct ap_error *reterr)
{
    struct harness_recording *recording = linking->recording;
    enum ap_status status = AP_OK;
    size_t drops = 0;
    for (size_t i = 0; i < recording->row_count && status == AP_OK; i++) {
        bool keep = true;
        if (harness_row_is_host(&recording->rows[i]))
            status = place_host_row(linking, i, &keep, reterr);
        if (!keep) {
            recording->rows[i].dur_ns = -1; /* dropped below: the open rows are indices, so nothing moves yet */
            drops++;
        }
    }
    for (size_t i = 0; i < linking->thread_count; i++)
        ap_mem_free(&recording->gate, linking->threads[i].rows,
                    linking->threads[i].capacity * sizeof(*linking->threads[i].rows));
    ap_mem_free(&recording->gate, linking->threads, linking->thread_capacity * sizeof(*linking->threads));
    if (drops)
        drop_rows_outside(recording);
    return status;
}

enum ap_status harness_recording_link(struct harness_recording *recording, struct ap_error *reterr)
{
    if (recording->status != AP_OK) {
        *reterr = recording->error;
        return recording->status;
    }
    struct linking linking = { .recording = recording };
    drop_rows_outside(recording);
    if (recording->row_count)
        qsort(recording->rows, recording->row_count, sizeof(*recording->rows), compare_start);
    AP_TRY(place_host_rows(&linking, reterr));
    return place_gpu_rows(recording, reterr);
}

static void cut_suffix(char *name, const char *suffix)
{
    size_t bytes = strlen(name), suffix_bytes = strlen(suffix);
    if (bytes > suffix_bytes && strcmp(name + bytes - suffix_bytes, suffix) == 0)
        name[bytes - suffix_bytes] = '\0';
}

void harness_call_name(char *name)
{
    cut_suffix(name, "_ptsz");
    cut_suffix(name, "_ptds");
    char *version = strrchr(name, '_');
    /* "_v2" is part of a name, as in cudaStreamGetCaptureInfo_v2_v11030; "_v3020" and up tell a release */
    if (version && version[1] == 'v' && strlen(version) >= 6 && strspn(version + 2, "0123456789") == strlen(version + 2))
        *version = '\0';
    cut_suffix(name, "_ptsz");
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint32_t harness_resident_blocks(const struct harness_device_properties *device, const struct harness_kernel_facts *kernel)
{
    uint64_t threads = (uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2];
    uint32_t warp = device->warp_size ? device->warp_size : 32;
    if (!threads || threads > device->threads_per_block)
        return 0;
    uint64_t warps = round_up(threads, warp) / warp;
    uint64_t blocks =
        least(device->blocks_per_sm ? device->blocks_per_sm : UINT32_MAX, device->threads_per_sm / warp / warps);
    if (kernel->registers_per_thread) {
        /* Registers are given to a warp in units of 256, and each of the four parts of a multiprocessor has a quarter. */
        uint64_t per_warp = round_up((uint64_t)kernel->registers_per_thread * warp, 256);
        blocks = least(blocks, device->registers_per_sm / 4 / per_warp * 4 / warps);
    }
    uint64_t shared = kernel->shared_bytes + device->shared_reserved_per_block;
    if (shared)
        blocks = least(blocks, device->shared_per_sm / round_up(shared, 128));
    return (uint32_t)blocks;
}

uint32_t harness_occupancy_percent(const struct harness_device_properties *device, const struct harness_kernel_facts *kernel)
{
    double threads = (double)kernel->block[0] * kernel->block[1] * kernel->block[2];
    double blocks = (double)kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
    if (!device->sm_count || !device->threads_per_sm)
        return 0;
    double resident = harness_resident_blocks(device, kernel), per_sm = blocks / device->sm_count;
    double percent = (resident < per_sm ? resident : per_sm) * threads / device->threads_per_sm * 100;
    return percent > 100 ? 100 : (uint32_t)(percent + 0.5);
}
