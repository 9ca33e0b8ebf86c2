/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "mcp_stop.h"

#include <time.h>

#include "poison.h"

#define NS_PER_SECOND INT64_C(1000000000)

int64_t ap_mcp_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

bool ap_mcp_same_id(const struct ap_value *a, const struct ap_value *b)
{
    bool have = a && b && a->type == b->type && (a->type == AP_VALUE_TEXT || a->type == AP_VALUE_LITERAL);
    return have && ap_text_equal(a->as.text, b->as.text);
}

void ap_mcp_stop_init(struct ap_mcp_stop *stop, uint32_t max_seconds)
{
    stop->max_seconds = max_seconds;
    stop->id = NULL;
    stop->deadline_ns = 0;
    atomic_init(&stop->canceled, false);
    (void)pthread_mutex_init(&stop->lock, NULL);
}

void ap_mcp_stop_release(struct ap_mcp_stop *stop)
{
    (void)pthread_mutex_destroy(&stop->lock);
}

void ap_mcp_stop_reset(struct ap_mcp_stop *stop)
{
    atomic_store(&stop->canceled, false);
}

void ap_mcp_stop_begin(struct ap_mcp_stop *stop, const struct ap_value *id)
{
    stop->deadline_ns = stop->max_seconds ? ap_mcp_now_ns() + (int64_t)stop->max_seconds * NS_PER_SECOND : 0;
    (void)pthread_mutex_lock(&stop->lock);
    stop->id = id;
    (void)pthread_mutex_unlock(&stop->lock);
}

bool ap_mcp_stop_end(struct ap_mcp_stop *stop)
{
    (void)pthread_mutex_lock(&stop->lock);
    stop->id = NULL;
    bool canceled = atomic_exchange(&stop->canceled, false);
    (void)pthread_mutex_unlock(&stop->lock);
    stop->deadline_ns = 0;
    return canceled;
}

void ap_mcp_stop_cancel(struct ap_mcp_stop *stop, const struct ap_value *id)
{
    (void)pthread_mutex_lock(&stop->lock);
    if (ap_mcp_same_id(stop->id, id))
        atomic_store(&stop->canceled, true);
    (void)pthread_mutex_unlock(&stop->lock);
}

void ap_mcp_stop_cancel_any(struct ap_mcp_stop *stop)
{
    atomic_store(&stop->canceled, true);
}

const char *ap_mcp_stop_why(void *self)
{
    struct ap_mcp_stop *stop = self;
    if (atomic_load_explicit(&stop->canceled, memory_order_relaxed))
        return "the client canceled the request";
    if (stop->deadline_ns && ap_mcp_now_ns() > stop->deadline_ns)
        return "the request took longer than the server allows";
    return NULL;
}
