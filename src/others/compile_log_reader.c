/* SPDX-License-Identifier: MIT
 * compile_log_reader.c - lines, one after the other. A record goes over several lines: in a text log all begin with the
 * prefix and the same tag, in the structured one they are the payload, each behind a tab. Other lines, those of the program
 * itself among them, end it. */
#include <stdio.h>
#include <string.h>

#include "compile_log.h"
#include "decimal.h"
#include "json_cursor.h"

#include "poison.h"

#define LINE_BYTES ((size_t)65536)    /* what is kept of a line */
#define PLACE_BYTES (LINE_BYTES + 24) /* a text of a line, and a number behind it */
#define BLOCK_BYTES ((size_t)65536)

/* Which compilation of which frame; -1 = not told. */
struct frame_compile {
    int64_t frame, number;
};

struct reading {
    struct ap_compile_log *log;
    struct ap_error *reterr;
    char *line, *place; /* LINE_BYTES; PLACE_BYTES */
    size_t line_bytes;
    bool line_is_cut, line_is_structured;
    uint64_t cut_count;        /* lines that were read for a record */
    struct ap_log_entry entry; /* the record that is open; record AP_LOG_NONE = none */
    bool reason_follows;
    struct ap_str explanation;      /* of a break: what a general reason is about */
    struct ap_str frame_place;      /* the last File "..." of an open record */
    struct frame_compile announced; /* by the last recompilation of the structured log */
    struct {
        int64_t frame;
        struct ap_str function, place;
    } started; /* the last frame whose compilation is known to have begun */
    struct ap_strpool *strings;
    struct files {
        uint32_t *ids; /* texts by their number in the structured log */
        size_t count, capacity;
    } files;
};

/* ------------------------------------------------------------------------------------------------------------ texts */

static enum ap_status intern(struct reading *reading, struct ap_text text, struct ap_str *ret_text)
{
    return ap_strpool_intern(reading->strings, text.data, text.bytes, ret_text, reading->reterr);
}

static struct ap_text behind(struct ap_text text, size_t bytes)
{
    return (struct ap_text){ text.data + bytes, text.bytes - bytes };
}

/* What stands before @mark; false where it is not there. */
static bool split(struct ap_text text, struct ap_text mark, struct ap_text *ret_before, struct ap_text *ret_behind)
{
    for (size_t at = 0; at + mark.bytes <= text.bytes; at++) {
        const char *found = memchr(text.data + at, mark.data[0], text.bytes - at - mark.bytes + 1);
        if (!found)
            return false;
        at = (size_t)(found - text.data);
        if (memcmp(found, mark.data, mark.bytes) == 0) {
            *ret_before = (struct ap_text){ text.data, at };
            *ret_behind = behind(text, at + mark.bytes);
            return true;
        }
    }
    return false;
}

/* "file.py:12" as users of editors know it. */
static enum ap_status intern_place(struct reading *reading, struct ap_text file, int64_t line, struct ap_str *ret_place)
{
    char number[24];
    size_t number_bytes = (size_t)snprintf(number, sizeof(number), ":%lld", (long long)line);
    memcpy(reading->place, file.data, file.bytes);
    memcpy(reading->place + file.bytes, number, number_bytes);
    return intern(reading, (struct ap_text){ reading->place, file.bytes + number_bytes }, ret_place);
}

/* ---------------------------------------------------------------------------------------------------------- records */

/* "Failed to trace builtin operator" may be a print; "marked as skipped" is told of what the program excludes, and of
 * functions of C that nobody has. */
static void take_explanation(const struct reading *reading, struct ap_log_entry *entry)
{
    struct ap_text text = ap_strpool_text(reading->strings, reading->explanation);
    enum ap_break_kind kind = ap_break_kind_of(text);
    if (entry->kind == AP_BREAK_explicit)
        kind = ap_text_contains(text, AP_TEXT("not know how to trace the builtin")) ? AP_BREAK_call : AP_BREAK_other;
    entry->kind = kind == AP_BREAK_other ? entry->kind : (uint8_t)kind;
}

static enum ap_status end_record(struct reading *reading)
{
    struct ap_compile_log *log = reading->log;
    struct ap_log_entry entry = reading->entry;
    reading->entry.record = AP_LOG_NONE;
    reading->reason_follows = false;
    if (entry.record == AP_LOG_NONE || (!entry.place.id && !entry.reason.id))
        return AP_OK;
    if (!entry.place.id)
        entry.place = reading->frame_place;
    struct ap_text reason = ap_strpool_text(reading->strings, entry.reason);
    entry.kind = entry.record == AP_LOG_BREAK ? (uint8_t)ap_break_kind_of(reason) : (uint8_t)ap_recompile_kind_of(reason);
    if (entry.record == AP_LOG_BREAK &&
        (entry.kind == AP_BREAK_call || entry.kind == AP_BREAK_explicit || entry.kind == AP_BREAK_other))
        take_explanation(reading, &entry);
    log->any_structured = log->any_structured || entry.structured;
    AP_TRY_ADD(log->gate, log->entries, log->entry_count, log->entry_capacity, reading->reterr, entry);
    return AP_OK;
}

static enum ap_status begin_record(struct reading *reading, enum ap_log_record record, bool structured)
{
    AP_TRY(end_record(reading));
    reading->entry = (struct ap_log_entry){ .record = (uint8_t)record, .structured = structured };
    reading->frame_place.id = reading->explanation.id = 0;
    return AP_OK;
}

/* File "a.py", line 12, in f */
static enum ap_status take_frame(struct reading *reading, struct ap_text text)
{
    struct ap_text before, file, rest;
    int64_t line = 0;
    if (!split(text, AP_TEXT("File \""), &before, &rest) || !split(rest, AP_TEXT("\", line "), &file, &rest))
        return AP_OK;
    for (size_t i = 0; i < rest.bytes && i < 9 && ap_is_digit(rest.data[i]); i++)
        line = line * 10 + (rest.data[i] - '0');
    return intern_place(reading, file, line, &reading->frame_place);
}

static enum ap_status set_reason(struct reading *reading, struct ap_text text)
{
    reading->reason_follows = false;
    return intern(reading, ap_text_trim(text), &reading->entry.reason);
}

/* "Graph break in user code at a.py:3"; with "(user stack suppressed due to duplicate graph break)" from the second one of
 * that line on. */
static bool is_break(struct ap_text line)
{
    return ap_text_starts_with(line, "Graph break in user code at ") ||
           ap_text_starts_with(line, "Graph break (user stack ");
}

/* A line of the sentences about a graph break. */
static enum ap_status take_break_line(struct reading *reading, struct ap_text text)
{
    static const char encountered[] = "Encountered graph break when attempting to trace";
    struct ap_text before, rest, line = ap_text_trim(text);
    if (is_break(line) && split(line, AP_TEXT(" in user code at "), &before, &rest))
        return intern(reading, rest, &reading->entry.place);
    if (ap_text_starts_with(line, "Graph Break Reason: ")) {
        rest = behind(line, strlen("Graph Break Reason: "));
        reading->reason_follows = ap_text_starts_with(rest, encountered);
        return reading->reason_follows ? AP_OK : set_reason(reading, rest);
    }
    if (!reading->entry.reason.id && ap_text_starts_with(line, "Reason: ")) /* of PyTorch 2.3 to 2.5, behind the place */
        return set_reason(reading, behind(line, strlen("Reason: ")));
    if (reading->reason_follows && line.bytes)
        return set_reason(reading, line);
    if (ap_text_starts_with(line, "Explanation: ") && !reading->explanation.id)
        return intern(reading, line, &reading->explanation);
    return take_frame(reading, line);
}

/* Of several, the structured log makes a JSON list, a line each. */
static struct ap_text without_quotes(struct ap_text line)
{
    if (line.bytes < 2 || line.data[0] != '"')
        return line;
    line = behind(line, 1);
    while (line.bytes && (line.data[line.bytes - 1] == ',' || line.data[line.bytes - 1] == '"'))
        line.bytes--;
    return line;
}

/* "0/7: tensor 'x' size mismatch"; without the number, which guard failed. */
static enum ap_status take_guard_line(struct reading *reading, struct ap_text text)
{
    struct ap_text line = ap_text_trim(text), before, rest;
    if (ap_text_starts_with(line, "- "))
        line = ap_text_trim(behind(line, 2));
    if (reading->entry.reason.id)
        return reading->entry.place.id ? AP_OK : take_frame(reading, line);
    line = without_quotes(line);
    if (!line.bytes || ap_text_is(line, "[") || ap_text_starts_with(line, "triggered by") ||
        ap_text_starts_with(line, "User stack"))
        return AP_OK;
    if (split(line, AP_TEXT(": "), &before, &rest) && before.bytes < 24 && memchr(before.data, '/', before.bytes))
        line = rest;
    if (split(line, AP_TEXT("  # "), &before, &rest)) /* which line has made the guard */
        line = before;
    return set_reason(reading, line);
}

static enum ap_status take_record_line(struct reading *reading, struct ap_text text)
{
    switch ((enum ap_log_record)reading->entry.record) {
    case AP_LOG_BREAK: return take_break_line(reading, text);
    case AP_LOG_RECOMPILE: return take_guard_line(reading, text);
    case AP_LOG_NONE: break;
    }
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------------------- text log */

/* "Recompiling function f in a.py:18" */
static enum ap_status begin_recompile(struct reading *reading, struct ap_text text)
{
    struct ap_text before, function, place;
    AP_TRY(begin_record(reading, AP_LOG_RECOMPILE, false));
    if (split(text, AP_TEXT("Recompiling function "), &before, &place) && split(place, AP_TEXT(" in "), &function, &place)) {
        AP_TRY(intern(reading, function, &reading->entry.function));
        AP_TRY(intern(reading, ap_text_trim(place), &reading->entry.place));
    }
    return AP_OK;
}

static bool is_limit(struct ap_text text)
{
    return ap_text_contains(text, AP_TEXT("torch._dynamo hit config.recompile_limit")) ||
           ap_text_contains(text, AP_TEXT("torch._dynamo hit config.cache_size_limit"));
}

/* What stands behind the tag, which older lines have in the name of their logger. */
static bool is_tagged(const struct ap_log_line *logged, const char *artifact, struct ap_text tag, struct ap_text *ret_text)
{
    struct ap_text before;
    *ret_text = logged->message;
    return logged->artifact.bytes ? ap_text_is(logged->artifact, artifact) : split(logged->message, tag, &before, ret_text);
}

static enum ap_status take_tagged(struct reading *reading, const struct ap_log_line *logged)
{
    struct ap_text text, line;
    if (is_tagged(logged, "__graph_breaks", AP_TEXT("[__graph_breaks]"), &text)) {
        line = ap_text_trim(text);
        if (is_break(line) || ap_text_starts_with(line, "Graph break: "))
            AP_TRY(begin_record(reading, AP_LOG_BREAK, false));
        else if (reading->entry.record != AP_LOG_BREAK)
            return end_record(reading);
        if (ap_text_starts_with(line, "Graph break: ")) { /* of PyTorch up to 2.2: the reason stands there */
            struct ap_text reason = behind(line, strlen("Graph break: "));
            (void)split(reason, AP_TEXT(" from user code at:"), &reason, &text);
            return set_reason(reading, reason);
        }
        return take_break_line(reading, text);
    }
    if (is_tagged(logged, "__recompiles", AP_TEXT("[__recompiles]"), &text)) {
        if (ap_text_starts_with(ap_text_trim(text), "Recompiling function "))
            return begin_recompile(reading, text);
        return reading->entry.record == AP_LOG_RECOMPILE ? take_guard_line(reading, text) : end_record(reading);
    }
    reading->log->limit_lines += is_limit(logged->message);
    return end_record(reading);
}

/* --------------------------------------------------------------------------------------------------- structured log */

/* A member of an object: true, and the cursor stands at its value. False at the end. */
static bool next_member(struct ap_json_cursor *cursor, struct ap_text *ret_key)
{
    bool decode;
    (void)ap_cursor_take(cursor, ',');
    if (ap_cursor_peek(cursor) != '"')
        return false;
    *ret_key = ap_cursor_string(cursor, &decode);
    return ap_cursor_take(cursor, ':');
}

static struct ap_text text_value(struct ap_json_cursor *cursor)
{
    bool decode;
    if (ap_cursor_peek(cursor) == '"')
        return ap_cursor_string(cursor, &decode);
    ap_cursor_skip(cursor);
    return (struct ap_text){ "", 0 };
}

/* Seconds as nanoseconds; -1 where the value is none. */
static int64_t seconds_value(struct ap_json_cursor *cursor)
{
    const char *start;
    int64_t us;
    ap_cursor_space(cursor);
    start = cursor->at;
    ap_cursor_skip(cursor);
    size_t bytes = (size_t)(cursor->at - start);
    if (!bytes || !ap_is_digit(start[0]) || ap_decimal_to_millionths(start, bytes, &us) == AP_DECIMAL_OUT_OF_RANGE ||
        us < 0 || us > AP_MAX_TIME_NS / 1000)
        return -1;
    return us * 1000;
}

/* "0/2": the third compilation of the frame. */
static bool is_again(struct ap_text compile_id)
{
    const char *slash = memchr(compile_id.data, '/', compile_id.bytes);
    size_t at = slash ? (size_t)(slash - compile_id.data) + 1 : compile_id.bytes;
    return at < compile_id.bytes && ap_is_digit(compile_id.data[at]) && compile_id.data[at] != '0';
}

static enum ap_status take_metrics(struct reading *reading, struct ap_json_cursor *cursor)
{
    struct ap_compile_log *log = reading->log;
    struct ap_log_compilation compilation = { .dur_ns = -1 };
    struct ap_text key, file = { "", 0 }, failed;
    int64_t line = 0;
    if (!ap_cursor_take(cursor, '{'))
        return AP_OK;
    while (next_member(cursor, &key)) {
        if (ap_text_is(key, "compile_id")) {
            compilation.again = is_again(text_value(cursor));
        } else if (ap_text_is(key, "co_name")) {
            AP_TRY(intern(reading, text_value(cursor), &compilation.function));
        } else if (ap_text_is(key, "co_filename")) {
            file = text_value(cursor);
        } else if (ap_text_is(key, "co_firstlineno")) {
            (void)ap_cursor_whole(cursor, &line);
        } else if (ap_text_is(key, "entire_frame_compile_time_s")) {
            compilation.dur_ns = seconds_value(cursor);
        } else if (ap_text_is(key, "fail_type")) {
            failed = text_value(cursor);
            compilation.failed = failed.bytes;
            compilation.at_limit = compilation.at_limit || ap_text_contains_folded(failed, "limitexceeded");
        } else if (ap_text_is(key, "fail_reason")) {
            failed = text_value(cursor);
            compilation.at_limit = compilation.at_limit || ap_text_contains_folded(failed, "recompile limit exceeded") ||
                                   ap_text_contains_folded(failed, "cache_size_limit");
        } else {
            ap_cursor_skip(cursor);
        }
    }
    if (file.bytes)
        AP_TRY(intern_place(reading, file, line, &compilation.place));
    AP_TRY_ADD(log->gate, log->compilations, log->compilation_count, log->compilation_capacity, reading->reterr,
               compilation);
    return AP_OK;
}

/* ["a.py", 1] */
static enum ap_status take_file(struct reading *reading, struct ap_json_cursor *cursor)
{
    struct files *files = &reading->files;
    struct ap_str text;
    int64_t number;
    if (!ap_cursor_take(cursor, '['))
        return AP_OK;
    AP_TRY(intern(reading, text_value(cursor), &text));
    if (!ap_cursor_take(cursor, ',') || !ap_cursor_whole(cursor, &number) || number != (int64_t)files->count)
        return AP_OK; /* they are numbered in their order */
    AP_TRY_ADD(reading->log->gate, files->ids, files->count, files->capacity, reading->reterr, text.id);
    return AP_OK;
}

/* {"line": 12, "name": "f", "filename": 1, ...} of a frame: the last one of the stack is what is compiled. */
static enum ap_status take_start_frame(struct reading *reading, struct ap_json_cursor *cursor, struct ap_log_entry *entry)
{
    struct ap_text key;
    int64_t line = 0, file = -1;
    if (!ap_cursor_take(cursor, '{')) {
        ap_cursor_skip(cursor);
        return AP_OK;
    }
    while (next_member(cursor, &key)) {
        if (ap_text_is(key, "name"))
            AP_TRY(intern(reading, text_value(cursor), &entry->function));
        else if (ap_text_is(key, "line"))
            (void)ap_cursor_whole(cursor, &line);
        else if (ap_text_is(key, "filename"))
            (void)ap_cursor_whole(cursor, &file);
        else
            ap_cursor_skip(cursor);
    }
    (void)ap_cursor_take(cursor, '}');
    if (file < 0 || file >= (int64_t)reading->files.count)
        return AP_OK;
    return intern_place(reading, ap_strpool_text(reading->strings, (struct ap_str){ reading->files.ids[file] }), line,
                        &entry->place);
}

static struct frame_compile find_frame_compile(struct ap_text message)
{
    struct ap_json_cursor cursor = { message.data, message.data + message.bytes };
    struct frame_compile found = { -1, -1 };
    struct ap_text key;
    (void)ap_cursor_take(&cursor, '{');
    while (next_member(&cursor, &key)) {
        int64_t *number = ap_text_is(key, "frame_id")           ? &found.frame
                          : ap_text_is(key, "frame_compile_id") ? &found.number
                                                                : NULL;
        if (!number)
            ap_cursor_skip(&cursor);
        else if (!ap_cursor_whole(&cursor, number))
            *number = -1;
    }
    return found;
}

/* The compilation that a recompilation announced begins: now it is told of what. One at the limit never begins: it is of
 * the frame that was compiled before. */
static enum ap_status take_start(struct reading *reading, struct ap_json_cursor *cursor, struct frame_compile of)
{
    struct ap_compile_log *log = reading->log;
    struct ap_log_entry *last = log->entry_count ? &log->entries[log->entry_count - 1] : NULL;
    struct ap_text key;
    struct frame_compile awaited = reading->announced;
    if (!last || last->record != AP_LOG_RECOMPILE || !last->structured)
        return AP_OK;
    if (awaited.frame < 0 ? last->function.id != 0 : of.frame != awaited.frame || of.number != awaited.number)
        return AP_OK;
    if (!ap_cursor_take(cursor, '{') || !next_member(cursor, &key) || !ap_text_is(key, "stack") ||
        !ap_cursor_take(cursor, '['))
        return AP_OK;
    last->place.id = 0;
    do
        AP_TRY(take_start_frame(reading, cursor, last));
    while (ap_cursor_take(cursor, ','));
    reading->started.frame = of.frame;
    reading->started.function = last->function;
    reading->started.place = last->place;
    return AP_OK;
}

static void begin_compilation(struct reading *reading, struct frame_compile announced)
{
    reading->announced = announced;
    if (announced.frame < 0 || announced.frame != reading->started.frame)
        return;
    reading->entry.function = reading->started.function;
    reading->entry.place = reading->started.place;
}

static enum ap_status take_artifact(struct reading *reading, struct ap_json_cursor *cursor, struct frame_compile of)
{
    struct ap_text key;
    if (!ap_cursor_take(cursor, '{'))
        return AP_OK;
    while (next_member(cursor, &key)) {
        struct ap_text value = text_value(cursor);
        if (!ap_text_is(key, "name"))
            continue;
        if (ap_text_is(value, "dynamo_graph_break_reason"))
            return begin_record(reading, AP_LOG_BREAK, true);
        if (ap_text_is(value, "recompile_reasons")) {
            AP_TRY(begin_record(reading, AP_LOG_RECOMPILE, true));
            begin_compilation(reading, of);
            return AP_OK;
        }
    }
    return AP_OK;
}

/* What a line is about is its first member. */
static enum ap_status take_structured(struct reading *reading, struct ap_text message)
{
    struct ap_json_cursor cursor = { message.data, message.data + message.bytes };
    struct ap_text key;
    AP_TRY(end_record(reading));
    if (!ap_cursor_take(&cursor, '{') || !next_member(&cursor, &key))
        return AP_OK;
    reading->log->any_structured = true;
    if (ap_text_is(key, "artifact"))
        return take_artifact(reading, &cursor, find_frame_compile(message));
    if (ap_text_is(key, "compilation_metrics"))
        return take_metrics(reading, &cursor);
    if (ap_text_is(key, "str"))
        return take_file(reading, &cursor);
    return ap_text_is(key, "dynamo_start") ? take_start(reading, &cursor, find_frame_compile(message)) : AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------ lines */

static enum ap_status take_line(struct reading *reading)
{
    struct ap_text line = { reading->line, reading->line_bytes };
    struct ap_log_line logged;
    reading->log->lines++;
    reading->line_is_structured = false;
    if (line.bytes && line.data[line.bytes - 1] == '\r')
        line.bytes--;
    if (line.bytes && line.data[0] == '\t')
        return reading->entry.structured ? take_record_line(reading, behind(line, 1)) : AP_OK;
    if (!ap_log_line_parse(line, &logged))
        return end_record(reading);
    reading->line_is_structured = logged.message.bytes && logged.message.data[0] == '{';
    return reading->line_is_structured ? take_structured(reading, logged.message) : take_tagged(reading, &logged);
}

static enum ap_status end_line(struct reading *reading)
{
    AP_TRY(take_line(reading));
    reading->cut_count += reading->line_is_cut && (reading->line_is_structured || reading->entry.record != AP_LOG_NONE);
    reading->line_is_cut = false;
    reading->line_bytes = 0;
    return AP_OK;
}

static enum ap_status take_block(struct reading *reading, const char *data, size_t bytes)
{
    while (bytes) {
        const char *end = memchr(data, '\n', bytes);
        size_t piece = end ? (size_t)(end - data) : bytes, room = LINE_BYTES - reading->line_bytes;
        memcpy(reading->line + reading->line_bytes, data, piece < room ? piece : room);
        reading->line_bytes += piece < room ? piece : room;
        reading->line_is_cut |= piece > room;
        if (end)
            AP_TRY(end_line(reading));
        data += piece + (end != NULL);
        bytes -= piece + (end != NULL);
    }
    return AP_OK;
}

static enum ap_status read_blocks(struct reading *reading, struct ap_byte_source source, uint8_t *block)
{
    for (;;) {
        size_t bytes = 0;
        AP_TRY(source.read(source.self, block, BLOCK_BYTES, &bytes, reading->reterr));
        if (!bytes)
            break;
        AP_TRY(take_block(reading, (const char *)block, bytes));
    }
    if (reading->line_bytes)
        AP_TRY(end_line(reading));
    return end_record(reading);
}

enum ap_status ap_compile_log_read(struct ap_compile_log *log, struct ap_byte_source source, struct ap_notes *notes,
                                   struct ap_error *reterr)
{
    struct ap_error error = { .status = AP_OK };
    struct reading reading = {
        .log = log, .reterr = &error, .strings = &log->strings, .announced = { -1, -1 }, .started = { .frame = -1 }
    };
    uint8_t *block = NULL;
    uint64_t before = log->lines;
    enum ap_status status = AP_ALLOC(log->gate, reading.line, LINE_BYTES, &error);
    AP_AND_THEN(status, AP_ALLOC(log->gate, reading.place, PLACE_BYTES, &error));
    AP_AND_THEN(status, AP_ALLOC(log->gate, block, BLOCK_BYTES, &error));
    AP_AND_THEN(status, read_blocks(&reading, source, block));
    if (status == AP_ERROR_CUT && log->lines > before) {
        ap_note_many(notes, AP_COUNTER_cut, 1);
        status = end_record(&reading);
    }
    ap_note_many(notes, AP_COUNTER_text_cut, reading.cut_count);
    AP_FREE(log->gate, block, BLOCK_BYTES);
    AP_FREE(log->gate, reading.line, LINE_BYTES);
    AP_FREE(log->gate, reading.place, PLACE_BYTES);
    AP_FREE(log->gate, reading.files.ids, reading.files.capacity);
    if (status != AP_OK && reterr)
        *reterr = error;
    return status;
}
