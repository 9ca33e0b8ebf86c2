/* SPDX-License-Identifier: MIT
 * replay_device.c - device work as tasks, and what each piece waits for. An edge has the usual delay of its kind, or less
 * where less was recorded. Where work began later than all of them explain, the edge that explains most gets the rest: so
 * a replay of the unchanged graph is the recording, and without what was waited for no more than an overhead remains. */
#include "quantile.h"
#include "replay_build.h"
#include "sort.h"

#include "poison.h"

/* Beyond this a gap is no overhead: something was waited for that was not recorded (HTA's bound). */
#define LONGEST_OVERHEAD_NS 1500000
/* Without recorded waits: a gap longer than this may be a wait for another stream. */
#define LONG_START_NS 10000
/* A kernel that fills the device lets others in while its last blocks run: in its last 50th. */
#define LAST_PART 50
#define ENDING_MAX 64 /* pieces of work that are tried for that, by their ends */
#define EDGES_MAX 16  /* of one piece; more waits than these are left to those that ended last */
/* Where hardly any work was queued, so that its gaps tell nothing: what a device takes between two kernels. */
#define FEW_GAPS 16
#define COMMON_GAP_NS 1000

struct usual {
    int64_t launch_ns, gap_ns;
    int64_t longest_ns; /* of all work */
};

struct release {
    int64_t ns; /* when it was let go */
    int64_t usual_ns;
    uint32_t from;
    enum ap_replay_edge_type type;
};

struct releases {
    struct release list[EDGES_MAX];
    size_t count;
    size_t wait, ended; /* where the work before was found among the waits, and among work by its ends */
};

/* AP_NO_ROW where the launch is not among the tasks. */
static uint32_t launch_of(const struct ap_replay_build *build, uint32_t work)
{
    return build->task_of_launch[work] == AP_NO_TASK ? AP_NO_ROW : ap_path_work(build->index, work).launch;
}

/* ----------------------------------------------------------------------------------------------- usual overheads */

static size_t first_wait_of(const struct ap_path_index *index, uint32_t work)
{
    size_t low = 0;
    AP_BISECT(low, index->wait_count, at, index->waits[at].work < work);
    return low;
}

static bool waits_for_stream(const struct ap_replay_build *build, uint32_t work)
{
    size_t wait = first_wait_of(build->index, work);
    return (wait < build->index->wait_count && build->index->waits[wait].work == work) ||
           (build->told_wait && build->told_wait[work] != AP_NO_WORK);
}

static bool is_overhead(int64_t ns)
{
    return ns >= 0 && ns <= LONGEST_OVERHEAD_NS;
}

/* Of work that waits for no other stream and whose own had run dry, from its launch to its start; of work that was queued,
 * the gap before it. One list holds both, from its two ends. */
static enum ap_status find_usual(const struct ap_replay_build *build, struct usual *ret_usual, struct ap_error *reterr)
{
    const struct ap_path_index *index = build->index;
    size_t launches = 0, gaps = 0, count = index->work_count;
    int64_t *ns, longest_ns = 0;
    AP_TRY(AP_ALLOC(build->gate, ns, count, reterr));
    for (uint32_t work = 0; work < count; work++) {
        uint32_t previous = ap_path_previous_on_stream(index, work), launch = launch_of(build, work);
        int64_t start_ns = ap_work_start_ns(index, work), dur_ns = ap_work_end_ns(index, work) - start_ns;
        longest_ns = dur_ns > longest_ns ? dur_ns : longest_ns;
        if (launch == AP_NO_ROW || waits_for_stream(build, work))
            continue;
        int64_t call_ns = build->trace->events.start_ns[launch];
        int64_t free_ns = previous == AP_NO_WORK ? INT64_MIN : ap_work_end_ns(index, previous);
        if (free_ns <= call_ns && is_overhead(start_ns - call_ns))
            ns[launches++] = start_ns - call_ns;
        else if (free_ns > ap_row_end_ns(build->trace, launch) && is_overhead(start_ns - free_ns))
            ns[count - ++gaps] = start_ns - free_ns;
    }
    *ret_usual = (struct usual){ launches ? ap_quantile(ns, launches, 50) : 0,
                                 gaps >= FEW_GAPS ? ap_quantile(ns + count - gaps, gaps, 50) : COMMON_GAP_NS, longest_ns };
    AP_FREE(build->gate, ns, count);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------ releases */

static void add_release(struct releases *releases, struct release release)
{
    if (release.from != AP_NO_TASK && releases->count < EDGES_MAX)
        releases->list[releases->count++] = release;
}

static void release_by_work(const struct ap_replay_build *build, uint32_t work, uint32_t awaited,
                            enum ap_replay_edge_type type, const struct usual *usual, struct releases *releases)
{
    const struct ap_path_index *index = build->index;
    if (awaited != AP_NO_WORK && awaited != work && ap_work_start_ns(index, awaited) <= ap_work_start_ns(index, work))
        add_release(releases, (struct release){ ap_work_end_ns(index, awaited), usual->gap_ns,
                                                ap_replay_task_of_work(build, awaited), type });
}

static void release_by_waits(const struct ap_replay_build *build, uint32_t work, const struct usual *usual,
                             struct releases *releases)
{
    const struct ap_path_index *index = build->index;
    size_t low = releases->wait;
    AP_SEEK(low, index->wait_count, at, index->waits[at].work < work);
    releases->wait = low;
    for (; low < index->wait_count && index->waits[low].work == work; low++)
        release_by_work(build, work, index->waits[low].awaited, AP_REPLAY_EDGE_event_wait, usual, releases);
}

static int64_t last_release_ns(const struct releases *releases)
{
    int64_t ns = INT64_MIN;
    for (size_t i = 0; i < releases->count; i++)
        ns = releases->list[i].ns > ns ? releases->list[i].ns : ns;
    return ns;
}

/* How much work of all streams has ended by then. */
static size_t ended_by(const struct ap_path_index *index, struct releases *releases, int64_t ns)
{
    AP_SEEK(releases->ended, index->work_count, at, ap_work_end_ns(index, ap_path_work_by_end(index, at)) <= ns);
    return releases->ended;
}

/* As the critical path has it: work of another stream that ended shortly before, in a gap that nothing else explains. */
static void release_by_time(const struct ap_replay_build *build, uint32_t work, const struct usual *usual,
                            struct releases *releases)
{
    const struct ap_path_index *index = build->index;
    int64_t start_ns = ap_work_start_ns(index, work), released_ns = last_release_ns(releases);
    if (!releases->count || index->has_sync_rows || start_ns - released_ns <= LONG_START_NS)
        return;
    int64_t gap_ns = start_ns - released_ns, near_ns = gap_ns / 4 > LONG_START_NS ? gap_ns / 4 : LONG_START_NS;
    size_t ended = ended_by(index, releases, start_ns);
    uint32_t other = ended ? ap_path_work_by_end(index, ended - 1) : AP_NO_WORK;
    if (other == AP_NO_WORK || start_ns - ap_work_end_ns(index, other) > near_ns ||
        build->trace->events.track[ap_path_work(index, other).row] ==
            build->trace->events.track[ap_path_work(index, work).row])
        return;
    release_by_work(build, work, other, AP_REPLAY_EDGE_inferred_wait, usual, releases);
}

/* Before the work could begin, another stream had work running, and that was about to end when it began. */
static bool filled_device(const struct ap_replay_build *build, uint32_t other, uint32_t work, int64_t released_ns)
{
    const struct ap_path_index *index = build->index;
    const struct ap_events *events = &build->trace->events;
    int64_t start_ns = ap_work_start_ns(index, work), other_ns = ap_work_start_ns(index, other);
    int64_t last_ns = (ap_work_end_ns(index, other) - other_ns) / LAST_PART;
    return other_ns <= released_ns && ap_work_end_ns(index, other) - start_ns <= last_ns &&
           events->track[ap_path_work(index, other).row] != events->track[ap_path_work(index, work).row];
}

static void release_by_room(const struct ap_replay_build *build, uint32_t work, const struct usual *usual,
                            struct releases *releases)
{
    const struct ap_path_index *index = build->index;
    int64_t start_ns = ap_work_start_ns(index, work), released_ns = last_release_ns(releases);
    if (!releases->count || start_ns - released_ns <= LONG_START_NS)
        return;
    size_t low = ended_by(index, releases, start_ns);
    for (size_t i = low; i < index->work_count && i < low + ENDING_MAX &&
                         ap_work_end_ns(index, ap_path_work_by_end(index, i)) - start_ns <= usual->longest_ns / LAST_PART;
         i++)
        if (filled_device(build, ap_path_work_by_end(index, i), work, released_ns)) {
            release_by_work(build, work, ap_path_work_by_end(index, i), AP_REPLAY_EDGE_occupied, usual, releases);
            return;
        }
}

static void find_releases(const struct ap_replay_build *build, uint32_t work, const struct usual *usual,
                          struct releases *releases)
{
    uint32_t launch = launch_of(build, work);
    releases->count = 0;
    release_by_work(build, work, ap_path_previous_on_stream(build->index, work), AP_REPLAY_EDGE_stream, usual, releases);
    if (launch != AP_NO_ROW)
        add_release(releases, (struct release){ build->trace->events.start_ns[launch], usual->launch_ns,
                                                build->task_of_launch[work], AP_REPLAY_EDGE_launch });
    release_by_waits(build, work, usual, releases);
    if (build->told_wait)
        release_by_work(build, work, build->told_wait[work], AP_REPLAY_EDGE_inferred_wait, usual, releases);
    release_by_time(build, work, usual, releases);
    release_by_room(build, work, usual, releases);
}

/* --------------------------------------------------------------------------------------------------------- edges */

static int64_t usual_lag_ns(const struct release *release, int64_t start_ns)
{
    int64_t slack_ns = start_ns - release->ns;
    return slack_ns < release->usual_ns ? slack_ns : release->usual_ns;
}

/* Of how long the piece waited beyond its releases, what is no overhead. A launching call may itself take long, and the
 * first work of a stream waits for what was launched there before the recording: that stays as it was. */
static int64_t unexplained_ns(const struct ap_replay_build *build, uint32_t work, int64_t explained_ns)
{
    if (ap_path_previous_on_stream(build->index, work) == AP_NO_WORK)
        return 0;
    uint32_t launch = launch_of(build, work);
    int64_t start_ns = ap_work_start_ns(build->index, work);
    int64_t call_end_ns = launch == AP_NO_ROW ? INT64_MIN : ap_row_end_ns(build->trace, launch);
    int64_t from_ns = call_end_ns > explained_ns ? call_end_ns : explained_ns;
    return start_ns - from_ns > LONGEST_OVERHEAD_NS ? start_ns - from_ns : 0;
}

static enum ap_status add_edges(struct ap_replay_build *build, uint32_t work, const struct releases *releases,
                                struct ap_error *reterr)
{
    int64_t start_ns = ap_work_start_ns(build->index, work), explained_ns = INT64_MIN, least_ns = INT64_MAX;
    size_t nearest = 0;
    for (size_t i = 0; i < releases->count; i++) {
        const struct release *release = &releases->list[i];
        int64_t lag_ns = usual_lag_ns(release, start_ns), rest_ns = start_ns - release->ns - lag_ns;
        explained_ns = release->ns + lag_ns > explained_ns ? release->ns + lag_ns : explained_ns;
        if (rest_ns < least_ns) {
            least_ns = rest_ns;
            nearest = i;
        }
    }
    int64_t odd_ns = releases->count ? unexplained_ns(build, work, explained_ns) : 0;
    build->graph->unexplained_ns += odd_ns;
    for (size_t i = 0; i < releases->count; i++) {
        const struct release *release = &releases->list[i];
        int64_t lag_ns = i == nearest ? start_ns - release->ns - odd_ns : usual_lag_ns(release, start_ns);
        AP_TRY(ap_replay_add_edge(build, release->from, ap_replay_task_of_work(build, work), release->type, lag_ns, reterr));
    }
    return AP_OK;
}

static enum ap_status add_work(struct ap_replay_build *build, uint32_t work, struct ap_error *reterr)
{
    struct ap_replay_graph *graph = build->graph;
    uint32_t row = ap_path_work(build->index, work).row;
    int64_t start_ns = ap_work_start_ns(build->index, work), end_ns = ap_work_end_ns(build->index, work);
    end_ns = end_ns > start_ns ? end_ns : start_ns;
    AP_TRY_ADD(build->gate, graph->tasks, graph->count, graph->capacity, reterr,
               (struct ap_task){ .start_ns = start_ns,
                                 .row = row,
                                 .track = build->trace->events.track[row] & AP_REPLAY_TRACKS_MAX,
                                 .order = AP_MARK_COUNT_,
                                 .is_device = true });
    return ap_replay_set_times(build, &graph->tasks[graph->count - 1], end_ns - start_ns, build->task_of_launch[work],
                               reterr);
}

/* Back from work that has a launch: each stretch of a stream without one is walked once. */
static void mark_queued(const struct ap_replay_build *build, uint32_t work)
{
    uint32_t first = work, previous = ap_path_previous_on_stream(build->index, work);
    if (build->task_of_launch[work] == AP_NO_TASK)
        return;
    while (previous != AP_NO_WORK && build->task_of_launch[previous] == AP_NO_TASK) {
        first = previous;
        previous = ap_path_previous_on_stream(build->index, first);
    }
    if (previous != AP_NO_WORK || first == work)
        return;
    for (uint32_t at = work; at != first;) {
        at = ap_path_previous_on_stream(build->index, at);
        build->graph->tasks[ap_replay_task_of_work(build, at)].was_queued = true;
    }
}

enum ap_status ap_replay_add_device(struct ap_replay_build *build, struct ap_error *reterr)
{
    struct usual usual;
    struct releases releases = { .wait = 0 };
    size_t count = build->index->work_count;
    if (!count)
        return AP_OK;
    AP_TRY(find_usual(build, &usual, reterr));
    build->first_of_work = (uint32_t)build->graph->count;
    for (uint32_t work = 0; work < count; work++)
        AP_TRY(add_work(build, work, reterr));
    for (uint32_t work = 0; work < count; work++) {
        mark_queued(build, work);
        find_releases(build, work, &usual, &releases);
        AP_TRY(add_edges(build, work, &releases, reterr));
    }
    return AP_OK;
}
