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

/* ---- the worker ---- */

/* The next call; NULL = there is none, and none comes. */
static struct ap_mcp_line *next_call(struct ap_mcp_session *session)
{
    hold(session);
    while (!session->first && !session->ended)
        (void)pthread_cond_wait(&session->changed, &session->lock);
    struct ap_mcp_line *line = session->first;
    session->current = line;
    ap_mcp_stop_reset(ap_mcp_server_stop(session->server)); /* of the call before, if that came too late for it */
    if (line) {
        session->first = line->next;
        session->last = line->next ? session->last : &session->first;
        session->waiting_count--;
    }
    let_go(session);
    return line;
}

static void *work(void *self)
{
    struct ap_mcp_session *session = self;
    for (struct ap_mcp_line *line; (line = next_call(session)) != NULL;) {
        struct ap_error error;
        enum ap_status status = ap_mcp_line_answer(session->server, line, session->sink, &error);
        hold(session);
        if (status != AP_OK && session->status == AP_OK) {
            session->status = status;
            session->error = error;
        }
        session->current = NULL;
        let_go(session);
        free_line(session, line);
    }
    return NULL;
}

void ap_mcp_session_begin(struct ap_mcp_session *session, struct ap_mcp_server *server, struct ap_sink sink)
{
    *session = (struct ap_mcp_session){ .server = server, .status = AP_OK };
    session->last = &session->first;
    (void)pthread_mutex_init(&session->writing, NULL);
    (void)pthread_mutex_init(&session->lock, NULL);
    (void)pthread_cond_init(&session->changed, NULL);
    session->sink = (struct ap_mcp_sink){ sink, &session->writing };
    session->has_worker = !ap_mcp_server_has_one_thread(server) && ap_thread_start(&session->worker, work, session);
}

/* ---- lines ---- */

static void wait_in_line(struct ap_mcp_session *session, struct ap_mcp_line *line)
{
    hold(session);
    while (session->waiting_count >= AP_MCP_MOST_WAITING)
        (void)pthread_cond_wait(&session->changed, &session->lock);
    line->next = NULL;
    *session->last = line;
    session->last = &line->next;
    session->waiting_count++;
    let_go(session);
}

/* A call that waits goes, one that is worked on is given up; neither is answered. */
static void cancel(struct ap_mcp_session *session, const struct ap_value *id)
{
    struct ap_mcp_line *gone = NULL;
    hold(session);
    for (struct ap_mcp_line **at = &session->first; *at; at = &(*at)->next) {
        if (!ap_mcp_same_id(ap_mcp_line_id(*at), id))
            continue;
        gone = *at;
        *at = gone->next;
        if (session->last == &gone->next)
            session->last = at;
        session->waiting_count--;
        break;
    }
    if (session->current && ap_mcp_same_id(ap_mcp_line_id(session->current), id))
        ap_mcp_stop_cancel_any(ap_mcp_server_stop(session->server));
    else if (!gone)
        ap_mcp_stop_cancel(ap_mcp_server_stop(session->server), id); /* one of a list */
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
    struct ap_mcp_line *line;
    AP_TRY(status_of(session, reterr));
    AP_TRY(AP_ALLOC_CLEARED(ap_mcp_server_gate(session->server), line, 1, reterr));
    ap_mcp_line_read(session->server, text, bytes, line);
    if (ap_mcp_line_cancels(line))
        cancel(session, ap_mcp_line_cancels(line));
    if (session->has_worker && ap_mcp_line_is_work(line)) {
        wait_in_line(session, line);
        return AP_OK;
    }
    enum ap_status status = ap_mcp_line_answer(session->server, line, session->sink, reterr);
    free_line(session, line);
    return status;
}

static void drop_all(struct ap_mcp_session *session)
{
    hold(session);
    struct ap_mcp_line *line = session->first;
    session->first = NULL;
    session->last = &session->first;
    session->waiting_count = 0;
    ap_mcp_stop_cancel_any(ap_mcp_server_stop(session->server));
    let_go(session);
    while (line) {
        struct ap_mcp_line *next = line->next;
        free_line(session, line);
        line = next;
    }
}

enum ap_status ap_mcp_session_end(struct ap_mcp_session *session, bool drop, struct ap_error *reterr)
{
    if (drop)
        drop_all(session);
    hold(session);
    session->ended = true;
    let_go(session);
    if (session->has_worker)
        (void)pthread_join(session->worker, NULL);
    enum ap_status status = status_of(session, reterr);
    (void)pthread_cond_destroy(&session->changed);
    (void)pthread_mutex_destroy(&session->lock);
    (void)pthread_mutex_destroy(&session->writing);
    return status;
}
