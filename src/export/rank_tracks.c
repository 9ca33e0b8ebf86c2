/* SPDX-License-Identifier: MIT */
#include "rank_tracks.h"

#include "json_text.h"
#include "rank_clocks.h"

#include "poison.h"

enum track { TRACK_STEPS = 1, TRACK_COLLECTIVES, TRACK_HOST_COLLECTIVES };

struct tracks {
    struct ap_out out;
    const struct ap_run_view *view;
    const struct ap_clocks *clocks;
    struct ap_redaction *redaction;
    int64_t origin_ns; /* what viewers count from */
    bool any;
};

static int64_t on_axis(const struct tracks *tracks, size_t rank, int64_t at_ns)
{
    bool overflowed = false;
    return ap_add_sat(ap_clocks_common_ns(tracks->clocks, (uint32_t)rank, at_ns), -tracks->origin_ns, &overflowed);
}

static void begin_event(struct tracks *tracks)
{
    ap_out_string(&tracks->out, tracks->any ? ",\n" : "\n");
    tracks->any = true;
}

static enum ap_status write_name(struct tracks *tracks, struct ap_text name, struct ap_error *reterr)
{
    if (tracks->redaction)
        AP_TRY(ap_redact(tracks->redaction, name, &name, reterr));
    ap_json_write_text(&tracks->out, name);
    return AP_OK;
}

static void name_thread(struct tracks *tracks, long long rank, enum track track, const char *name)
{
    begin_event(tracks);
    ap_out_format(&tracks->out, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%lld,\"tid\":%d,\"args\":{\"name\":\"%s\"}}",
                  rank, (int)track, name);
}

static enum ap_status name_rank(struct tracks *tracks, size_t index, struct ap_error *reterr)
{
    const struct ap_rank_summary *rank = ap_view_rank(tracks->view, index);
    long long number = (long long)rank->rank;
    begin_event(tracks);
    ap_out_format(&tracks->out,
                  "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%lld,\"args\":{\"name\":\"rank %lld\",\"host\":", number,
                  number);
    AP_TRY(write_name(tracks, ap_rank_text(tracks->view->set, rank->host), reterr));
    ap_out_string(&tracks->out, "}}");
    begin_event(tracks);
    ap_out_format(&tracks->out, "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%lld,\"args\":{\"sort_index\":%lld}}",
                  number, number);
    name_thread(tracks, number, TRACK_STEPS, "steps");
    name_thread(tracks, number, TRACK_COLLECTIVES, "collectives");
    return AP_OK;
}

static void write_times(struct tracks *tracks, size_t rank, int64_t start_ns, int64_t dur_ns, enum track track)
{
    ap_out_format(&tracks->out, ",\"pid\":%lld,\"tid\":%d,\"ts\":", (long long)ap_view_rank(tracks->view, rank)->rank,
                  (int)track);
    ap_out_microseconds(&tracks->out, on_axis(tracks, rank, start_ns));
    ap_out_string(&tracks->out, ",\"dur\":");
    ap_out_microseconds(&tracks->out, dur_ns);
}

static void write_steps(struct tracks *tracks, size_t index)
{
    const struct ap_rank_summary *rank = ap_view_rank(tracks->view, index);
    for (size_t i = 0; i < rank->step_count; i++) {
        const struct ap_rank_step *step = &rank->steps[i];
        begin_event(tracks);
        ap_out_format(&tracks->out, "{\"ph\":\"X\",\"cat\":\"step\",\"name\":\"step %lld\"", (long long)step->number);
        write_times(tracks, index, step->start_ns, step->end_ns - step->start_ns, TRACK_STEPS);
        ap_out_char(&tracks->out, '}');
    }
}

static void write_collectives(struct tracks *tracks, size_t index)
{
    const struct ap_rank_summary *rank = ap_view_rank(tracks->view, index);
    for (size_t i = 0; i < rank->collective_count; i++) {
        const struct ap_rank_collective *it = &rank->collectives[i];
        begin_event(tracks);
        ap_out_format(&tracks->out, "{\"ph\":\"X\",\"cat\":\"collective\",\"name\":\"%s\"",
                      ap_collective_operation_name((enum ap_collective_operation)it->operation));
        write_times(tracks, index, it->start_ns, it->dur_ns, it->on_host ? TRACK_HOST_COLLECTIVES : TRACK_COLLECTIVES);
        ap_out_format(&tracks->out, ",\"args\":{\"number\":%lld,\"bytes\":%lld,\"group\":", (long long)it->sequence,
                      (long long)it->bytes);
        ap_json_write_text(&tracks->out,
                           it->group.id && tracks->redaction ? AP_TEXT("") : ap_rank_text(tracks->view->set, it->group));
        ap_out_string(&tracks->out, "}}");
    }
}

static int64_t first_start(const struct ap_run_view *view)
{
    int64_t first_ns = view->count ? ap_view_rank(view, 0)->start_ns : 0;
    for (size_t i = 1; i < view->count; i++)
        first_ns = ap_view_rank(view, i)->start_ns < first_ns ? ap_view_rank(view, i)->start_ns : first_ns;
    return first_ns;
}

static enum ap_status write_all(struct tracks *tracks, const char *version, struct ap_error *reterr)
{
    ap_out_string(&tracks->out, "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"analyze_profile\":");
    ap_json_write_text(&tracks->out, ap_text_of(version));
    ap_out_string(&tracks->out, ",\"traceEvents\":[");
    for (size_t i = 0; i < tracks->view->count; i++) {
        AP_TRY(name_rank(tracks, i, reterr));
        write_steps(tracks, i);
        write_collectives(tracks, i);
    }
    ap_out_string(&tracks->out, "\n]}\n");
    return ap_out_finish(&tracks->out, reterr);
}

enum ap_status ap_rank_tracks_write(const struct ap_rank_set *set, const char *version, struct ap_redaction *redaction,
                                    struct ap_sink sink, struct ap_error *reterr)
{
    struct ap_run_view view;
    struct ap_matching matching = { .gate = set->gate };
    struct ap_clocks clocks = { .gate = set->gate };
    struct tracks tracks = { .view = &view, .clocks = &clocks, .redaction = redaction };
    ap_out_init(&tracks.out, sink);
    enum ap_status status = ap_run_view_init(&view, set, reterr);
    AP_AND_THEN(status, ap_matching_init(&matching, &view, reterr));
    AP_AND_THEN(status, ap_clocks_init(&clocks, &matching, reterr));
    if (status == AP_OK)
        tracks.origin_ns = first_start(&view);
    AP_AND_THEN(status, write_all(&tracks, version, reterr));
    ap_clocks_release(&clocks);
    ap_matching_release(&matching);
    ap_run_view_release(&view);
    return status;
}
