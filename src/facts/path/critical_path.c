/* SPDX-License-Identifier: MIT */
#include "critical_path.h"

#include "path_index.h"
#include "sort.h"

#include "poison.h"

/* A gap that is longer than this is not explained by the start of a kernel alone. */
#define LONG_START_NS 10000
/* Beyond this a gap is no overhead: something was waited for that was not recorded (HTA's bound). */
#define LONGEST_OVERHEAD_NS 1500000

const char *ap_path_class_name(enum ap_path_class path_class)
{
    static const char *const names[] = {
#define AP_PATH_CLASS(id, sentence) #id,
#include "path_class.def"
#undef AP_PATH_CLASS
    };
    return names[path_class];
}

_Static_assert(AP_PATH_CLASS_COUNT_ <= AP_PATH_PIECE_CLASSES, "a piece has room for each class");

/* Each step either adds a piece, and so goes back in time, or goes to another actor. It goes to a stream only where work
 * started before now, along a stream only to earlier work, and to another thread only where work ended that no other
 * thread has ended since: no two actors can send it to each other for ever. */
struct walk {
    const struct ap_path_index *index;
    const struct ap_trace *trace;
    const struct ap_kernel_families *families;
    struct ap_critical_path *path;
    int64_t now_ns;
    size_t ended; /* activity_by_end up to here has ended by now */
    bool on_host;
    uint32_t thread; /* on_host */
    uint32_t work;   /* else */
};

/* ------------------------------------------------------------------------------------------------------- pieces */

/* The path is at @start_ns then. */
static enum ap_status add_piece(struct walk *walk, int64_t start_ns, enum ap_path_class path_class, bool host, uint32_t at,
                                struct ap_error *reterr)
{
    struct ap_critical_path *path = walk->path;
    bool overflowed = false;
    start_ns = start_ns > path->start_ns ? start_ns : path->start_ns;
    if (start_ns >= walk->now_ns)
        return AP_OK;
    const struct ap_path_piece piece = { start_ns, walk->now_ns, at, (uint8_t)path_class, host };
    path->class_ns[path_class] = ap_add_sat(path->class_ns[path_class], walk->now_ns - start_ns, &overflowed);
    walk->now_ns = start_ns;
    return ap_path_pieces_add(&path->pieces, &piece, reterr);
}

static enum ap_status add_host(struct walk *walk, int64_t start_ns, struct ap_error *reterr)
{
    return add_piece(walk, start_ns, AP_PATH_cpu_bound, true, walk->thread, reterr);
}

static enum ap_status add_unknown(struct walk *walk, int64_t start_ns, struct ap_error *reterr)
{
    return add_piece(walk, start_ns, AP_PATH_untraced, false, AP_NO_ROW, reterr);
}

static void go_to_work(struct walk *walk, uint32_t work, enum ap_path_edge edge)
{
    walk->on_host = false;
    walk->work = work;
    walk->path->edges[edge]++;
}

static void go_to_thread(struct walk *walk, uint32_t track, enum ap_path_edge edge)
{
    walk->on_host = true;
    walk->thread = track;
    walk->path->edges[edge]++;
}

/* --------------------------------------------------------------------------------------------------- on a thread */

/* The row of activity of any thread that ended last; AP_NO_ROW where none has ended by now. */
static uint32_t last_activity(struct walk *walk)
{
    const uint32_t *by_end = walk->index->activity_by_end ? walk->index->activity_by_end : walk->index->activity.rows;
    while (walk->ended && ap_row_end_ns(walk->trace, by_end[walk->ended - 1]) > walk->now_ns)
        walk->ended--;
    return walk->ended ? by_end[walk->ended - 1] : AP_NO_ROW;
}

/* The last row of the list on this thread that began before now. */
static uint32_t last_begun(const struct walk *walk, const struct ap_path_rows *rows, uint32_t track)
{
    size_t end = ap_path_last_before(walk->index, rows, track, walk->now_ns);
    return end ? rows->rows[end - 1] : AP_NO_ROW;
}

/* Within a row of activity: back to the call in it that waited for GPU work, else to its start. */
static enum ap_status step_in_row(struct walk *walk, uint32_t row, struct ap_error *reterr)
{
    const struct ap_path_rows *blocking = &walk->index->blocking;
    const struct ap_events *events = &walk->trace->events;
    int64_t row_start_ns = events->start_ns[row], now_ns = walk->now_ns;
    for (size_t i = ap_path_last_before(walk->index, blocking, walk->thread, now_ns); i-- > 0;) {
        uint32_t call = blocking->rows[i];
        if (events->track[call] != walk->thread || events->start_ns[call] < row_start_ns)
            break;
        int64_t end_ns = ap_row_end_ns(walk->trace, call);
        end_ns = end_ns < now_ns ? end_ns : now_ns;
        uint32_t awaited = ap_path_awaited(walk->index, i, end_ns);
        if (awaited == AP_NO_WORK)
            continue;
        AP_TRY(add_host(walk, end_ns, reterr));
        AP_TRY(add_piece(walk, ap_work_end_ns(walk->index, awaited), AP_PATH_synchronisation, true, walk->thread, reterr));
        go_to_work(walk, awaited, AP_PATH_EDGE_synchronisation);
        return AP_OK;
    }
    return add_host(walk, row_start_ns, reterr);
}

/* Between two rows of activity, the earlier of which ended at @idle_from_ns. Where another thread was active later than
 * that, the work was done there: what a thread without any open row waits for is not recorded, and one that is in Python
 * or in an annotation works itself, unless it waits for the autograd engine. */
static enum ap_status step_in_hole(struct walk *walk, int64_t idle_from_ns, struct ap_error *reterr)
{
    uint32_t other = last_activity(walk);
    if (other == AP_NO_ROW || walk->trace->events.track[other] == walk->thread ||
        ap_row_end_ns(walk->trace, other) <= idle_from_ns)
        return add_host(walk, idle_from_ns, reterr);
    uint32_t present = last_begun(walk, &walk->index->presence, walk->thread);
    if (present != AP_NO_ROW && ap_row_end_ns(walk->trace, present) >= walk->now_ns) {
        if (!ap_row_set_has(&walk->index->backward, walk->trace->events.track[other]))
            return add_host(walk, idle_from_ns, reterr);
        AP_TRY(add_host(walk, ap_row_end_ns(walk->trace, other), reterr));
    }
    go_to_thread(walk, walk->trace->events.track[other], AP_PATH_EDGE_thread);
    return AP_OK;
}

static enum ap_status step_on_thread(struct walk *walk, struct ap_error *reterr)
{
    uint32_t row = last_begun(walk, &walk->index->activity, walk->thread);
    int64_t end_ns = row == AP_NO_ROW ? walk->path->start_ns : ap_row_end_ns(walk->trace, row);
    if (row != AP_NO_ROW && end_ns >= walk->now_ns)
        return step_in_row(walk, row, reterr);
    return step_in_hole(walk, end_ns, reterr);
}

/* --------------------------------------------------------------------------------------------------- on a stream */

static enum ap_path_class work_class(const struct walk *walk, uint32_t row)
{
    switch (ap_row_kind(walk->trace->events.tag[row])) {
    case AP_KIND_memcpy: return AP_PATH_gpu_memcpy_bound;
    case AP_KIND_memset: return AP_PATH_gpu_memset_bound;
    default:
        return ap_kernel_is_communication(walk->families, walk->trace, row) ? AP_PATH_gpu_communication_bound
                                                                            : AP_PATH_gpu_compute_bound;
    }
}

struct release {
    bool known;
    int64_t ns; /* when */
    enum ap_path_edge edge;
    uint32_t work; /* that ended then; AP_NO_WORK = the host launched it */
    uint32_t thread;
};

/* The last work that the stream was told to wait for before it got this one. */
static uint32_t awaited_by_stream(const struct walk *walk, uint32_t work)
{
    const struct ap_path_index *index = walk->index;
    uint32_t last = AP_NO_WORK;
    size_t low = 0;
    AP_BISECT(low, index->wait_count, at, index->waits[at].work < work);
    for (; low < index->wait_count && index->waits[low].work == work; low++) {
        uint32_t awaited = index->waits[low].awaited;
        if (ap_work_end_ns(index, awaited) <= walk->now_ns && ap_work_start_ns(index, awaited) < walk->now_ns &&
            (last == AP_NO_WORK || ap_work_end_ns(index, awaited) > ap_work_end_ns(index, last)))
            last = awaited;
    }
    return last;
}

static void release_by_host(const struct walk *walk, uint32_t work, struct release *release)
{
    uint32_t launch = ap_path_work(walk->index, work).launch, op = ap_path_work(walk->index, work).op;
    uint32_t row = launch != AP_NO_ROW ? launch : op;
    if (row == AP_NO_ROW || walk->trace->events.start_ns[row] <= (release->known ? release->ns : INT64_MIN))
        return;
    /* Where only the operator is known, the launch was somewhere in it. */
    int64_t ns = launch != AP_NO_ROW ? walk->trace->events.start_ns[row] : ap_row_end_ns(walk->trace, row);
    *release = (struct release){ true, ns < walk->now_ns ? ns : walk->now_ns, AP_PATH_EDGE_launch, AP_NO_WORK,
                                 walk->trace->events.track[row] };
}

static void release_by_work(const struct walk *walk, uint32_t work, enum ap_path_edge edge, struct release *release)
{
    int64_t end_ns = ap_work_end_ns(walk->index, work);
    end_ns = end_ns < walk->now_ns ? end_ns : walk->now_ns;
    if (!release->known || end_ns > release->ns)
        *release = (struct release){ true, end_ns, edge, work, 0 };
}

/* Without recorded waits: work on another stream that ended shortly before this one began, in a gap that is too long for
 * the start of a kernel. */
static void release_by_time(const struct walk *walk, uint32_t work, struct release *release)
{
    const struct ap_path_index *index = walk->index;
    int64_t gap_ns = release->known ? walk->now_ns - release->ns : INT64_MAX;
    if (gap_ns <= LONG_START_NS || (release->known && index->has_sync_rows))
        return;
    int64_t near_ns = gap_ns / 4 > LONG_START_NS ? gap_ns / 4 : LONG_START_NS;
    uint32_t other = ap_path_work_ended(index, walk->now_ns);
    if (other == AP_NO_WORK || ap_work_start_ns(index, other) >= walk->now_ns ||
        walk->now_ns - ap_work_end_ns(index, other) > near_ns ||
        walk->trace->events.track[ap_path_work(index, other).row] ==
            walk->trace->events.track[ap_path_work(index, work).row])
        return;
    release_by_work(walk, other, AP_PATH_EDGE_inferred_wait, release);
}

static struct release find_release(const struct walk *walk, uint32_t work)
{
    struct release release = { .known = false, .work = AP_NO_WORK };
    uint32_t previous = ap_path_previous_on_stream(walk->index, work), awaited = awaited_by_stream(walk, work);
    if (previous != AP_NO_WORK)
        release_by_work(walk, previous, AP_PATH_EDGE_stream, &release);
    release_by_host(walk, work, &release);
    if (awaited != AP_NO_WORK)
        release_by_work(walk, awaited, AP_PATH_EDGE_event_wait, &release);
    release_by_time(walk, work, &release);
    return release;
}

static enum ap_path_class gap_class(const struct walk *walk, uint32_t work, const struct release *release)
{
    uint32_t launch = ap_path_work(walk->index, work).launch;
    int64_t from_ns = release->ns;
    if (release->work == AP_NO_WORK && launch != AP_NO_ROW && ap_row_end_ns(walk->trace, launch) > from_ns)
        from_ns = ap_row_end_ns(walk->trace, launch); /* the call itself may take long, where it loads a module */
    if (walk->now_ns - from_ns > LONGEST_OVERHEAD_NS)
        return AP_PATH_untraced;
    return release->work == AP_NO_WORK ? AP_PATH_launch_overhead : AP_PATH_kernel_kernel_overhead;
}

/* Nothing tells why this work began. Where launches were recorded this one was made before the recording began; else the
 * host may have been at work until then. */
static enum ap_status leave_unknown(struct walk *walk, struct ap_error *reterr)
{
    uint32_t row = walk->index->launched_count ? AP_NO_ROW : last_activity(walk);
    if (row == AP_NO_ROW)
        return add_unknown(walk, walk->path->start_ns, reterr);
    go_to_thread(walk, walk->trace->events.track[row], AP_PATH_EDGE_thread);
    return AP_OK;
}

static enum ap_status step_on_stream(struct walk *walk, struct ap_error *reterr)
{
    uint32_t work = walk->work, row = ap_path_work(walk->index, work).row;
    AP_TRY(add_piece(walk, walk->trace->events.start_ns[row], work_class(walk, row), false, row, reterr));
    if (walk->now_ns <= walk->path->start_ns)
        return AP_OK;
    struct release release = find_release(walk, work);
    if (!release.known)
        return leave_unknown(walk, reterr);
    AP_TRY(add_piece(walk, release.ns, gap_class(walk, work, &release), false, row, reterr));
    if (release.work == AP_NO_WORK)
        go_to_thread(walk, release.thread, release.edge);
    else
        go_to_work(walk, release.work, release.edge);
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------- the walk */

static int64_t last_end_ns(const struct walk *walk, const struct ap_path_rows *rows, uint32_t track)
{
    uint32_t row = last_begun(walk, rows, track);
    if (row == AP_NO_ROW)
        return INT64_MIN;
    int64_t end_ns = ap_row_end_ns(walk->trace, row);
    return end_ns < walk->now_ns ? end_ns : walk->now_ns;
}

/* The thread with the last work of the host; where there is none, one with annotations or Python. */
static uint32_t last_thread(struct walk *walk)
{
    uint32_t row = last_activity(walk);
    if (row != AP_NO_ROW)
        return walk->trace->events.track[row];
    uint32_t thread = AP_NO_ROW;
    int64_t end_ns = INT64_MIN;
    for (uint32_t track = 0; track < walk->index->track_count; track++) {
        int64_t track_end_ns = last_end_ns(walk, &walk->index->presence, track);
        if (track_end_ns > end_ns) {
            end_ns = track_end_ns;
            thread = track;
        }
    }
    return thread;
}

/* The path ends with what ended last, on the host or on a device: there is such a thing. */
static enum ap_status begin(struct walk *walk, struct ap_error *reterr)
{
    uint32_t thread = last_thread(walk), work = ap_path_work_ended(walk->index, walk->now_ns);
    int64_t host_ns = INT64_MIN;
    if (thread != AP_NO_ROW) {
        int64_t active_ns = last_end_ns(walk, &walk->index->activity, thread);
        host_ns = last_end_ns(walk, &walk->index->presence, thread);
        host_ns = active_ns > host_ns ? active_ns : host_ns;
    }
    if (work != AP_NO_WORK && ap_work_end_ns(walk->index, work) >= host_ns) {
        walk->work = work;
        return add_unknown(walk, ap_work_end_ns(walk->index, work), reterr);
    }
    walk->on_host = true;
    walk->thread = thread;
    return AP_OK;
}

static const char *why_approximate(const struct walk *walk)
{
    if (ap_trace_has_kind(walk->trace, AP_KIND_accelerator))
        return "the work of an accelerator other than CUDA and ROCm is not followed";
    if (walk->index->work_count && !walk->index->has_sync_rows)
        return "no waits were recorded (category cuda_sync): which stream a call or another stream waited for is told "
               "from times";
    if (walk->path->edges[AP_PATH_EDGE_thread])
        return "hand-overs between host threads are not recorded and were told from times";
    return NULL;
}

static enum ap_status walk_back(struct walk *walk, struct ap_error *reterr)
{
    if (last_thread(walk) == AP_NO_ROW && ap_path_work_ended(walk->index, walk->now_ns) == AP_NO_WORK)
        return AP_OK;
    AP_TRY(begin(walk, reterr));
    while (walk->now_ns > walk->path->start_ns)
        AP_TRY(walk->on_host ? step_on_thread(walk, reterr) : step_on_stream(walk, reterr));
    walk->path->approximate_because = why_approximate(walk);
    return AP_OK;
}

enum ap_status ap_critical_path_find(struct ap_critical_path *path, const struct ap_trace *trace,
                                     const struct ap_path_index *index, const struct ap_kernel_families *families,
                                     struct ap_gate *gate, struct ap_error *reterr)
{
    *path = (struct ap_critical_path){
        .gate = gate, .pieces.gate = gate, .start_ns = trace->window_start_ns, .end_ns = trace->window_end_ns
    };
    if (!trace->has_window)
        return AP_OK;
    struct walk walk = { .index = index,
                         .trace = trace,
                         .families = families,
                         .path = path,
                         .now_ns = path->end_ns,
                         .ended = index->activity.count };
    return walk_back(&walk, reterr);
}

void ap_critical_path_forget_pieces(struct ap_critical_path *path)
{
    ap_path_pieces_release(&path->pieces);
}

void ap_critical_path_release(struct ap_critical_path *path)
{
    ap_critical_path_forget_pieces(path);
    *path = (struct ap_critical_path){ .gate = path->gate };
}
