/* SPDX-License-Identifier: MIT */
#include "mcp_session.h"

#include "thread.h"

#include "poison.h"

static void hold(struct ap_mcp_session *session)
{
    (void)pthread_mutex_lock(&session->lock);
}

static void let_go(struct ap_mcp_session *session)
{
    (void)pthread_cond_broadcast(&session->changed);
    (void)pthread_mutex_unlock(&session->lock);
}

static void free_line(struct ap_mcp_session *session, struct ap_mcp_line *line)
{
    ap_mcp_line_release(line);
    AP_FREE(ap_mcp_server_gate(session->server), line, 1);
}

/* ---- lines that wait ---- */

/* The lock is held, in all of these. */
static void queue(struct ap_mcp_worker *worker, struct ap_mcp_line *line)
{
    line->next = NULL;
    *worker->last = line;
    worker->last = &line->next;
    worker->session->waiting_count++;
}

static struct ap_mcp_line *unqueue(struct ap_mcp_worker *worker, struct ap_mcp_line **at)
{
    struct ap_mcp_line *line = *at;
    *at = line->next;
    if (worker->last == &line->next)
        worker->last = at;
    worker->session->waiting_count--;
    return line;
}

static struct ap_mcp_line *unqueue_of_id(struct ap_mcp_worker *worker, const struct ap_value *id)
{
    for (struct ap_mcp_line **at = &worker->first; *at; at = &(*at)->next)
        if (ap_mcp_same_id(ap_mcp_line_id(*at), id))
            return unqueue(worker, at);
    return NULL;
}

/* ---- the workers ---- */

/* The next call; NULL = there is none, and none comes. */
static struct ap_mcp_line *next_call(struct ap_mcp_worker *worker)
{
    struct ap_mcp_session *session = worker->session;
    hold(session);
    while (!worker->first && !worker->ended)
        (void)pthread_cond_wait(&session->changed, &session->lock);
    struct ap_mcp_line *line = worker->first ? unqueue(worker, &worker->first) : NULL;
    worker->current = line;
    ap_mcp_stop_reset(&worker->stop); /* of the call before, if that came too late for it */
    let_go(session);
    return line;
}

/* @hand_on: the line, which is not answered yet, is for the worker that reads; unless it was canceled. */
static void done_with(struct ap_mcp_worker *worker, struct ap_mcp_line *line, bool hand_on, enum ap_status status,
                      const struct ap_error *error)
{
    struct ap_mcp_session *session = worker->session;
    hold(session);
    if (status != AP_OK && session->status == AP_OK) {
        session->status = status;
        session->error = *error;
    }
    worker->current = NULL;
    hand_on = hand_on && status == AP_OK && !ap_mcp_stop_why(&worker->stop);
    if (hand_on)
        queue(&session->workers[AP_MCP_FROM_FILES], line);
    let_go(session);
    if (!hand_on)
        free_line(session, line);
}

static void *answer_from_kept(void *self)
{
    struct ap_mcp_worker *worker = self;
    struct ap_mcp_session *session = worker->session;
    for (struct ap_mcp_line *line; (line = next_call(worker)) != NULL;) {
        struct ap_error error;
        bool answered;
        enum ap_status status =
            ap_mcp_line_answer_from_kept(session->server, line, &worker->stop, session->sink, &answered, &error);
        done_with(worker, line, !answered, status, &error);
    }
    return NULL;
}

static void *answer_from_files(void *self)
{
    struct ap_mcp_worker *worker = self;
    struct ap_mcp_session *session = worker->session;
    for (struct ap_mcp_line *line; (line = next_call(worker)) != NULL;) {
        struct ap_error error;
        enum ap_status status = ap_mcp_line_answer(session->server, line, &worker->stop, session->sink, &error);
        done_with(worker, line, false, status, &error);
    }
    return NULL;
}

static void begin_worker(struct ap_mcp_session *session, enum ap_mcp_duty duty, bool may_start)
{
    static void *(*const work[])(void *) = { answer_from_kept, answer_from_files };
    struct ap_mcp_worker *worker = &session->workers[duty];
    worker->session = session;
    worker->last = &worker->first;
    ap_mcp_stop_init(&worker->stop, ap_mcp_server_max_seconds(session->server));
    worker->is_there = may_start && ap_thread_start(&worker->thread, work[duty], worker);
}

void ap_mcp_session_begin(struct ap_mcp_session *session, struct ap_mcp_server *server, struct ap_sink sink)
{
    *session = (struct ap_mcp_session){ .server = server, .status = AP_OK };
    (void)pthread_mutex_init(&session->writing, NULL);
    (void)pthread_mutex_init(&session->lock, NULL);
    (void)pthread_cond_init(&session->changed, NULL);
    session->sink = (struct ap_mcp_sink){ sink, &session->writing };
    begin_worker(session, AP_MCP_FROM_FILES, !ap_mcp_server_has_one_thread(server));
    begin_worker(session, AP_MCP_FROM_KEPT, session->workers[AP_MCP_FROM_FILES].is_there);
}

/* What it does is done; where it may still hand calls on, before the one that takes them. */
static void end_worker(struct ap_mcp_session *session, enum ap_mcp_duty duty)
{
    struct ap_mcp_worker *worker = &session->workers[duty];
    hold(session);
    worker->ended = true;
    let_go(session);
    if (worker->is_there)
        (void)pthread_join(worker->thread, NULL);
    ap_mcp_stop_release(&worker->stop);
}

/* ---- lines ---- */

static void wait_in_line(struct ap_mcp_session *session, struct ap_mcp_line *line)
{
    bool may_be_kept = session->workers[AP_MCP_FROM_KEPT].is_there;
    hold(session);
    while (session->waiting_count >= AP_MCP_MOST_WAITING)
        (void)pthread_cond_wait(&session->changed, &session->lock);
    queue(&session->workers[may_be_kept ? AP_MCP_FROM_KEPT : AP_MCP_FROM_FILES], line);
    let_go(session);
}

/* A call that waits goes, one that is worked on is given up; neither is answered. */
static void cancel(struct ap_mcp_session *session, const struct ap_value *id)
{
    struct ap_mcp_line *gone = NULL;
    hold(session);
    for (size_t i = 0; i < AP_MCP_DUTIES && !gone; i++) {
        struct ap_mcp_worker *worker = &session->workers[i];
        gone = unqueue_of_id(worker, id);
        if (worker->current && ap_mcp_same_id(ap_mcp_line_id(worker->current), id))
            ap_mcp_stop_cancel_any(&worker->stop);
        else if (!gone)
            ap_mcp_stop_cancel(&worker->stop, id); /* one of a list */
    }
    let_go(session);
    if (gone)
        free_line(session, gone);
}

static enum ap_status status_of(struct ap_mcp_session *session, struct ap_error *reterr)
{
    hold(session);
    enum ap_status status = session->status;
    if (status != AP_OK)
        *reterr = session->error;
    let_go(session);
    return status;
}

enum ap_status ap_mcp_session_take(struct ap_mcp_session *session, const char *text, size_t bytes, struct ap_error *reterr)
{
    struct ap_mcp_worker *reader = &session->workers[AP_MCP_FROM_FILES];
    struct ap_mcp_line *line;
    AP_TRY(status_of(session, reterr));
    AP_TRY(AP_ALLOC_CLEARED(ap_mcp_server_gate(session->server), line, 1, reterr));
    ap_mcp_line_read(session->server, text, bytes, line);
    if (ap_mcp_line_cancels(line))
        cancel(session, ap_mcp_line_cancels(line));
    if (reader->is_there && ap_mcp_line_is_work(line)) {
        wait_in_line(session, line);
        return AP_OK;
    }
    /* what is no work is never given up; where nobody else works, this thread does, and sees no cancellation meanwhile */
    enum ap_status status = ap_mcp_line_answer(session->server, line, &reader->stop, session->sink, reterr);
    free_line(session, line);
    return status;
}

static void drop_all(struct ap_mcp_session *session)
{
    for (size_t i = 0; i < AP_MCP_DUTIES; i++) {
        struct ap_mcp_worker *worker = &session->workers[i];
        hold(session);
        struct ap_mcp_line *line = worker->first;
        while (worker->first)
            (void)unqueue(worker, &worker->first);
        ap_mcp_stop_cancel_any(&worker->stop);
        let_go(session);
        while (line) {
            struct ap_mcp_line *next = line->next;
            free_line(session, line);
            line = next;
        }
    }
}

enum ap_status ap_mcp_session_end(struct ap_mcp_session *session, bool drop, struct ap_error *reterr)
{
    if (drop)
        drop_all(session);
    end_worker(session, AP_MCP_FROM_KEPT);
    end_worker(session, AP_MCP_FROM_FILES);
    enum ap_status status = status_of(session, reterr);
    (void)pthread_cond_destroy(&session->changed);
    (void)pthread_mutex_destroy(&session->lock);
    (void)pthread_mutex_destroy(&session->writing);
    return status;
}
