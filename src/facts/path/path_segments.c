/* SPDX-License-Identifier: MIT
 * path_segments.c - cuts the host pieces of a critical path by the rows of their threads. The pieces come in order of time,
 * so that each thread is gone through once, with the rows that are open in a stack. */
#include "critical_path.h"
#include "path_index.h"

#include "poison.h"

/* Room for rows that are open in a thread, to begin with: a trace may have a million threads with one row each. */
#define FIRST_OPEN 2
#define OVER UINT32_MAX

/* As many as a trace has rows may lie one in the other. */
struct open_row {
    uint32_t row;
    uint32_t label; /* the row that names the time in which this one is innermost */
    bool told;      /* label is an operator or annotation */
    bool loads;     /* in the data loader */
    bool waits;     /* a call that waits for GPU work */
};

struct thread {
    uint32_t next;     /* of the order: rows before it have been opened */
    uint32_t next_row; /* the host row that stands there; AP_NO_ROW = there is none */
    int64_t next_start_ns;
    int64_t open_until_ns; /* the innermost open row; INT64_MAX = none is open */
    struct open_row *open;
    size_t count, capacity;
};

struct cutter {
    const struct ap_trace *trace;
    const struct ap_row_order *order;
    struct ap_gate *gate;
    const uint8_t *names;
    uint32_t *thread_of;    /* by track: number + 1; 0 = the path was not there yet, OVER = no row is left of it. NULL = it
                             * was on no thread yet */
    struct thread *threads; /* of those whose rows are not all over, and free places */
    size_t thread_count, thread_capacity;
    uint32_t first_free; /* number + 1; likewise in next of a free place; 0 = there is none */
    struct thread over;
    struct ap_path_segment segment; /* not handed out yet: what follows may continue it */
    bool has_segment;
    ap_path_visit *visit;
    void *self;
};

static void flush(struct cutter *cutter)
{
    if (cutter->has_segment)
        cutter->visit(cutter->self, &cutter->segment);
    cutter->has_segment = false;
}

static void add_segment(struct cutter *cutter, int64_t start_ns, int64_t end_ns, uint32_t row, uint32_t track,
                        enum ap_path_class path_class)
{
    if (end_ns <= start_ns)
        return;
    struct ap_path_segment *last = &cutter->segment;
    if (cutter->has_segment && last->row == row && last->track == track && last->path_class == path_class) {
        last->end_ns = end_ns;
        return;
    }
    flush(cutter);
    cutter->segment = (struct ap_path_segment){ start_ns, end_ns, row, track, path_class };
    cutter->has_segment = true;
}

static inline void close_rows(const struct cutter *cutter, struct thread *thread, int64_t now_ns)
{
    while (thread->count && thread->open_until_ns <= now_ns) {
        thread->count--;
        thread->open_until_ns =
            thread->count ? ap_row_end_ns(cutter->trace, thread->open[thread->count - 1].row) : INT64_MAX;
    }
}

/* Many threads have few rows: none takes room once it is over. */
static void forget_if_over(struct cutter *cutter, uint32_t track, struct thread *thread)
{
    if (thread->count || thread->next_row != AP_NO_ROW || thread == &cutter->over)
        return;
    AP_FREE(cutter->gate, thread->open, thread->capacity);
    *thread = (struct thread){ .next = cutter->first_free };
    cutter->first_free = cutter->thread_of[track];
    cutter->thread_of[track] = OVER;
}

static enum ap_status open_row(struct cutter *cutter, struct thread *thread, uint32_t row, struct ap_error *reterr)
{
    static const struct open_row nothing = { .row = AP_NO_ROW, .label = AP_NO_ROW };
    uint8_t meaning = cutter->names[cutter->trace->events.name[row]];
    close_rows(cutter, thread, cutter->trace->events.start_ns[row]);
    const struct open_row *around = thread->count ? &thread->open[thread->count - 1] : &nothing;
    struct open_row open = { row, around->label, around->told, around->loads || (meaning & AP_PATH_NAME_LOADER), false };
    if (meaning & AP_PATH_NAME_CONTAINER) {
        open.label = AP_NO_ROW;
        open.told = false;
    } else if (ap_row_is_of(cutter->trace, row, 1u << AP_KIND_operator | 1u << AP_KIND_annotation)) {
        open.label = row;
        open.told = true;
    } else if (ap_row_is_of(cutter->trace, row, 1u << AP_KIND_python)) {
        open.label = open.told ? open.label : row;
    } else {
        open.label = open.label != AP_NO_ROW ? open.label : row;
        open.waits = meaning & AP_PATH_NAME_WAIT;
    }
    if (!thread->open) {
        AP_TRY(AP_ALLOC(cutter->gate, thread->open, FIRST_OPEN, reterr));
        thread->capacity = FIRST_OPEN;
    }
    AP_TRY_ADD(cutter->gate, thread->open, thread->count, thread->capacity, reterr, open);
    thread->open_until_ns = ap_row_end_ns(cutter->trace, row);
    return AP_OK;
}

/* The first host row of the track from thread->next on. */
static inline void find_next(const struct cutter *cutter, struct thread *thread, uint32_t track)
{
    const uint32_t *rows = cutter->order->rows;
    size_t end = cutter->order->track_start[track + 1];
    while (thread->next < end && !ap_row_is_of(cutter->trace, rows[thread->next], AP_HOST_KINDS))
        thread->next++;
    thread->next_row = thread->next < end ? rows[thread->next] : AP_NO_ROW;
    thread->next_start_ns = thread->next < end ? cutter->trace->events.start_ns[thread->next_row] : INT64_MAX;
}

static enum ap_status open_until(struct cutter *cutter, struct thread *thread, uint32_t track, int64_t now_ns,
                                 struct ap_error *reterr)
{
    while (thread->next_start_ns <= now_ns) {
        AP_TRY(open_row(cutter, thread, thread->next_row, reterr));
        thread->next++;
        find_next(cutter, thread, track);
    }
    close_rows(cutter, thread, now_ns);
    return AP_OK;
}

/* Few of many tracks are on the path, and fewer at a time. */
static enum ap_status thread_of(struct cutter *cutter, uint32_t track, struct thread **ret_thread, struct ap_error *reterr)
{
    if (!cutter->thread_of)
        AP_TRY(AP_ALLOC_CLEARED(cutter->gate, cutter->thread_of, cutter->order->track_count + 1, reterr));
    uint32_t number = cutter->thread_of[track];
    *ret_thread = number == OVER ? &cutter->over : number ? &cutter->threads[number - 1] : NULL;
    if (number)
        return AP_OK;
    struct thread thread = { .next = (uint32_t)cutter->order->track_start[track], .open_until_ns = INT64_MAX };
    find_next(cutter, &thread, track);
    number = cutter->first_free;
    if (number) {
        cutter->first_free = cutter->threads[number - 1].next;
        cutter->threads[number - 1] = thread;
    } else {
        AP_TRY_ADD(cutter->gate, cutter->threads, cutter->thread_count, cutter->thread_capacity, reterr, thread);
        number = (uint32_t)cutter->thread_count;
    }
    cutter->thread_of[track] = number;
    *ret_thread = &cutter->threads[number - 1];
    return AP_OK;
}

static enum ap_path_class class_of(const struct open_row *open, enum ap_path_class piece_class)
{
    if (piece_class != AP_PATH_cpu_bound)
        return piece_class;
    if (open->loads)
        return AP_PATH_data_loading;
    if (open->waits)
        return AP_PATH_synchronisation;
    return open->label == AP_NO_ROW ? AP_PATH_untraced : AP_PATH_cpu_bound;
}

static enum ap_status cut_host(struct cutter *cutter, uint32_t track, int64_t start_ns, int64_t end_ns,
                               enum ap_path_class piece_class, struct ap_error *reterr)
{
    static const struct open_row nothing = { .row = AP_NO_ROW, .label = AP_NO_ROW };
    struct thread *thread;
    AP_TRY(thread_of(cutter, track, &thread, reterr));
    for (int64_t now_ns = start_ns; now_ns < end_ns;) {
        AP_TRY(open_until(cutter, thread, track, now_ns, reterr));
        const struct open_row *open = thread->count ? &thread->open[thread->count - 1] : &nothing;
        int64_t until_ns = thread->open_until_ns < end_ns ? thread->open_until_ns : end_ns;
        until_ns = thread->next_start_ns < until_ns ? thread->next_start_ns : until_ns;
        add_segment(cutter, now_ns, until_ns, open->label, track, class_of(open, piece_class));
        now_ns = until_ns;
    }
    close_rows(cutter, thread, end_ns);
    forget_if_over(cutter, track, thread);
    return AP_OK;
}

static enum ap_status cut_pieces(struct cutter *cutter, const struct ap_critical_path *path, struct ap_error *reterr)
{
    struct ap_path_reader reader = ap_path_pieces_read(&path->pieces);
    for (struct ap_path_piece piece; ap_path_reader_next(&reader, &piece);) {
        if (piece.host)
            AP_TRY(cut_host(cutter, piece.at, piece.start_ns, piece.end_ns, (enum ap_path_class)piece.path_class, reterr));
        else
            add_segment(cutter, piece.start_ns, piece.end_ns, piece.at,
                        piece.at == AP_NO_ROW ? AP_NO_ROW : cutter->trace->events.track[piece.at],
                        (enum ap_path_class)piece.path_class);
    }
    flush(cutter);
    return AP_OK;
}

enum ap_status ap_critical_path_visit(const struct ap_critical_path *path, const struct ap_path_index *index,
                                      const struct ap_row_order *order, ap_path_visit *visit, void *self,
                                      struct ap_error *reterr)
{
    struct cutter cutter = {
        .trace = index->trace, .order = order, .gate = path->gate, .names = index->names, .visit = visit, .self = self
    };
    cutter.over = (struct thread){ .next_row = AP_NO_ROW, .next_start_ns = INT64_MAX, .open_until_ns = INT64_MAX };
    if (!path->pieces.count)
        return AP_OK;
    enum ap_status status = cut_pieces(&cutter, path, reterr);
    for (size_t i = 0; i < cutter.thread_count; i++)
        AP_FREE(cutter.gate, cutter.threads[i].open, cutter.threads[i].capacity);
    AP_FREE(cutter.gate, cutter.threads, cutter.thread_capacity);
    AP_FREE(cutter.gate, cutter.thread_of, order->track_count + 1);
    return status;
}
