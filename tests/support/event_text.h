/* SPDX-License-Identifier: MIT
 * event_text.h - traces typed as rows:
 *
 *     trace_run_rows(&run, OP("aten::mm", 1, 10, 5, "\"External id\":7") KERNEL("gemm", 7, 20, 3, "\"correlation\":4"));
 *
 * A row is a string literal: name, thread (of process 1; stream of device 0), start, duration in us, args. */
#ifndef AP_EVENT_TEXT_H
#define AP_EVENT_TEXT_H

#include <stdlib.h>
#include <string.h>

#include "trace_run.h"

#define EVENT(cat, name, pid, tid, ts, dur, args)                                                            \
    ",{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts \
    ",\"dur\":" #dur ",\"args\":{" args "}}\n"
#define OP(name, tid, ts, dur, args) EVENT("cpu_op", name, 1, tid, ts, dur, args)
#define ANNOTATION(name, tid, ts, dur, args) EVENT("user_annotation", name, 1, tid, ts, dur, args)
#define CALL(name, tid, ts, dur, args) EVENT("cuda_runtime", name, 1, tid, ts, dur, args)
#define PYTHON(name, tid, ts, dur) EVENT("python_function", name, 1, tid, ts, dur, "")
#define KERNEL(name, tid, ts, dur, args) EVENT("kernel", name, 0, tid, ts, dur, args)
#define COPY(name, tid, ts, dur, args) EVENT("gpu_memcpy", name, 0, tid, ts, dur, args)
#define MEMSET(name, tid, ts, dur, args) EVENT("gpu_memset", name, 0, tid, ts, dur, args)

/** Reads the rows as one trace; release it with trace_run_release. */
static inline void trace_run_rows(struct trace_run *run, const char *rows)
{
    static const char head[] = "{\"schemaVersion\":1,\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,"
                               "\"args\":{\"name\":\"p\"}}\n";
    size_t bytes = sizeof(head) + strlen(rows) + 3;
    char *text = malloc(bytes);
    if (!text)
        abort();
    (void)snprintf(text, bytes, "%s%s]}", head, rows);
    trace_run_text(run, text);
    free(text);
}

#endif
