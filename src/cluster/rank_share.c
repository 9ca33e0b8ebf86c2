/* SPDX-License-Identifier: MIT */
#include "rank_share.h"

#include <stdio.h>
#include <string.h>

#include "json_text.h"
#include "rank_json.h"

#include "poison.h"

/* --------------------------------------------------------------------------------------------- the share, as bytes */

struct letter {
    struct ap_gate *gate;
    char *bytes;
    size_t count, capacity;
};

static enum ap_status add_field(struct letter *letter, const char *field, struct ap_error *reterr)
{
    size_t bytes = strlen(field) + 1;
    AP_TRY(AP_RESERVE(letter->gate, letter->bytes, letter->capacity, letter->count + bytes, reterr));
    memcpy(letter->bytes + letter->count, field, bytes);
    letter->count += bytes;
    return AP_OK;
}

static enum ap_status add_number(struct letter *letter, int64_t number, struct ap_error *reterr)
{
    char field[24];
    (void)snprintf(field, sizeof(field), "%lld", (long long)number);
    return add_field(letter, field, reterr);
}

static enum ap_status add_file(struct letter *letter, const struct ap_run_file *file, struct ap_error *reterr)
{
    AP_TRY(add_number(letter, file->head.kind, reterr));
    AP_TRY(add_number(letter, file->head.rank, reterr));
    AP_TRY(add_number(letter, (int64_t)file->size_bytes, reterr));
    AP_TRY(add_field(letter, file->head.host, reterr));
    return add_field(letter, file->path, reterr);
}

enum ap_status ap_share_give(const struct ap_helpers *helpers, size_t helper, const struct ap_run_files *files,
                             struct ap_share share, struct ap_gate *gate, struct ap_error *reterr)
{
    struct letter letter = { .gate = gate };
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < share.count && status == AP_OK; i++)
        status = add_file(&letter, &files->files[share.files[i]], reterr);
    AP_AND_THEN(status, helpers->give(helpers->self, helper, letter.bytes, letter.count, reterr));
    AP_FREE(gate, letter.bytes, letter.capacity);
    return status;
}

/* The next field, which is ended within the text; NULL where there is none. */
static const char *take_field(struct ap_text *rest)
{
    const char *field = rest->data, *end = rest->bytes ? memchr(rest->data, '\0', rest->bytes) : NULL;
    if (!end)
        return NULL;
    rest->bytes -= (size_t)(end + 1 - rest->data);
    rest->data = end + 1;
    return field;
}

static bool take_number(struct ap_text *rest, int64_t *ret_number)
{
    const char *field = take_field(rest);
    long long number;
    if (!field || sscanf(field, "%lld", &number) != 1)
        return false;
    *ret_number = number;
    return true;
}

static bool take_file(struct ap_text *rest, struct ap_run_file *ret_file)
{
    struct ap_run_file file = { .path = NULL };
    int64_t kind, size_bytes;
    if (!take_number(rest, &kind) || !take_number(rest, &file.head.rank) || !take_number(rest, &size_bytes))
        return false;
    const char *host = take_field(rest);
    file.path = host ? take_field(rest) : NULL;
    if (!file.path || strlen(host) >= sizeof(file.head.host) || (kind != AP_FILE_trace && kind != AP_FILE_summary))
        return false;
    memcpy(file.head.host, host, strlen(host) + 1);
    file.head.kind = (enum ap_file_kind)kind;
    file.size_bytes = (uint64_t)size_bytes;
    *ret_file = file;
    return true;
}

static enum ap_status take_files(struct ap_text share, struct ap_run_files *files, struct ap_error *reterr)
{
    while (share.bytes) {
        struct ap_run_file file;
        if (!take_file(&share, &file))
            return ap_fail(reterr, AP_ERROR_USAGE, "not a share of files as this version writes it");
        AP_TRY_ADD(files->arena.gate, files->files, files->count, files->capacity, reterr, file);
    }
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------ the answer */

/* Files by their place in the share. A failure that ends a run, for want of memory, ends that of the report too. */
static void write_failures(struct ap_out *out, const struct ap_rank_failures *failures, size_t duplicates,
                           enum ap_status status, const struct ap_error *error)
{
    const char *between = "";
    ap_out_format(out, "{\"duplicates\":%zu,\"status\":%d,\"message\":", duplicates, (int)status);
    ap_json_write_text(out, ap_text_of(status == AP_OK ? "" : error->message));
    ap_out_string(out, ",\"failures\":[");
    for (size_t i = 0; failures->why && i < failures->count; i++) {
        if (!failures->why[i])
            continue;
        ap_out_format(out, "%s%zu,", between, i);
        ap_json_write_text(out, ap_text_of(failures->why[i]));
        between = ",";
    }
    ap_out_string(out, "]}\n");
}

static enum ap_status write_answer(const struct ap_rank_set *set, const struct ap_rank_failures *failures,
                                   enum ap_status status, const struct ap_error *why, struct ap_sink sink,
                                   struct ap_error *reterr)
{
    struct ap_out out;
    ap_out_init(&out, sink);
    write_failures(&out, failures, set->duplicate_count, status, why);
    AP_TRY(ap_out_finish(&out, reterr));
    return status == AP_OK ? ap_rank_json_write(set, sink, reterr) : AP_OK;
}

enum ap_status ap_share_answer(struct ap_text share, const struct ap_cluster_options *options, struct ap_gate *gate,
                               struct ap_sink sink, struct ap_error *reterr)
{
    struct ap_run_files files = { .count = 0 };
    struct ap_rank_failures failures = { .arena = { .gate = gate } };
    struct ap_rank_set set;
    struct ap_error why = { .status = AP_OK };
    ap_arena_init(&files.arena, gate);
    ap_rank_set_init(&set, gate);
    enum ap_status status = take_files(share, &files, reterr);
    if (status == AP_OK) {
        enum ap_status read = ap_rank_read_all(&set, &failures, &files, options, &why);
        status = write_answer(&set, &failures, read, &why, sink, reterr);
    }
    ap_rank_failures_release(&failures);
    ap_rank_set_release(&set);
    ap_run_files_release(&files);
    return status;
}

/* --------------------------------------------------------------------------------------------------- taking it back */

struct taking {
    const struct ap_helpers *helpers;
    size_t helper;
    struct ap_share share;
    struct ap_rank_set *set; /* of this answer alone */
    struct ap_rank_failures *failures;
    struct ap_json_reader *json;
    int64_t status, duplicates;
    char message[500];
};

static enum ap_status read_bytes(void *self, uint8_t *to, size_t cap_bytes, size_t *ret_bytes, struct ap_error *reterr)
{
    struct taking *taking = self;
    return taking->helpers->take(taking->helpers->self, taking->helper, to, cap_bytes, ret_bytes, reterr);
}

static enum ap_status fail_answer(struct taking *taking, struct ap_error *reterr)
{
    return ap_fail_at(reterr, AP_ERROR_INPUT, ap_json_offset(taking->json), "not an answer as this version writes it");
}

static enum ap_status note_failure(struct taking *taking, int64_t place, struct ap_text why, struct ap_error *reterr)
{
    struct ap_rank_failures *failures = taking->failures;
    if (place < 0 || (uint64_t)place >= taking->share.count)
        return fail_answer(taking, reterr);
    const char *kept = ap_arena_text(&failures->arena, why).data;
    failures->why[taking->share.files[place]] = kept ? kept : "cannot be read";
    return AP_OK;
}

static enum ap_status take_failures(struct taking *taking, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(taking->json, &token, reterr));
    if (token.kind != AP_JSON_ARRAY_BEGIN)
        return fail_answer(taking, reterr);
    for (;;) {
        int64_t place;
        AP_TRY_UNTIL_END(ap_json_next_element(taking->json, &token, reterr));
        if (token.kind != AP_JSON_NUMBER || !ap_json_integer(&token, &place))
            return fail_answer(taking, reterr);
        AP_TRY(ap_json_next_element(taking->json, &token, reterr));
        if (token.kind != AP_JSON_STRING)
            return fail_answer(taking, reterr);
        AP_TRY(note_failure(taking, place, (struct ap_text){ token.text, token.text_bytes }, reterr));
    }
}

static enum ap_status take_whole(struct taking *taking, int64_t *ret_number, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(taking->json, &token, reterr));
    if (token.kind != AP_JSON_NUMBER || !ap_json_integer(&token, ret_number) || *ret_number < 0)
        return fail_answer(taking, reterr);
    return AP_OK;
}

static enum ap_status take_message(struct taking *taking, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(taking->json, &token, reterr));
    if (token.kind != AP_JSON_STRING)
        return fail_answer(taking, reterr);
    (void)snprintf(taking->message, sizeof(taking->message), "%.*s",
                   (int)(token.text_bytes < sizeof(taking->message) ? token.text_bytes : sizeof(taking->message)),
                   token.text);
    return AP_OK;
}

static enum ap_status take_report(struct taking *taking, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(taking->json, &token, reterr));
    if (token.kind != AP_JSON_OBJECT_BEGIN)
        return fail_answer(taking, reterr);
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(taking->json, &token, reterr));
        struct ap_text key = { token.text, token.text_bytes };
        if (ap_text_is(key, "duplicates"))
            AP_TRY(take_whole(taking, &taking->duplicates, reterr));
        else if (ap_text_is(key, "status"))
            AP_TRY(take_whole(taking, &taking->status, reterr));
        else if (ap_text_is(key, "message"))
            AP_TRY(take_message(taking, reterr));
        else if (ap_text_is(key, "failures"))
            AP_TRY(take_failures(taking, reterr));
        else
            AP_TRY(ap_json_skip_value(taking->json, reterr));
    }
}

/* Up to the true end: what was cut off behind the last bracket is no whole answer. */
static enum ap_status take_end(struct taking *taking, struct ap_error *reterr)
{
    struct ap_json_token token;
    enum ap_status status = ap_json_next(taking->json, &token, reterr);
    return status == AP_END ? AP_OK : status == AP_OK ? fail_answer(taking, reterr) : status;
}

static enum ap_status take_answer(struct taking *taking, struct ap_error *reterr)
{
    struct ap_json_limits limits = { .several = true };
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_byte_source source = { .read = read_bytes, .self = taking };
    AP_TRY(ap_json_reader_new(taking->set->gate, source, &notes, &limits, &taking->json, reterr));
    enum ap_status status = take_report(taking, reterr);
    if (status == AP_OK && taking->status == AP_OK)
        status = ap_rank_json_read(taking->json, taking->set, reterr);
    AP_AND_THEN(status, take_end(taking, reterr));
    ap_json_reader_free(taking->json);
    return status;
}

static bool is_want_of_memory(int64_t status)
{
    return status == AP_ERROR_MEMORY || status == AP_ERROR_LIMIT;
}

/* What was noted of single files before the answer broke off says more. */
static enum ap_status give_up_share(const struct taking *taking, const struct ap_error *why)
{
    const char *kept = ap_arena_text(&taking->failures->arena, ap_text_of(why->message)).data;
    for (size_t i = 0; i < taking->share.count; i++) {
        const char **of_file = &taking->failures->why[taking->share.files[i]];
        *of_file = *of_file ? *of_file : kept ? kept : "cannot be read";
    }
    return AP_OK;
}

enum ap_status ap_share_take(const struct ap_helpers *helpers, size_t helper, struct ap_share share, struct ap_rank_set *set,
                             struct ap_rank_failures *failures, struct ap_error *reterr)
{
    struct ap_rank_set answer;
    struct ap_error why = { .status = AP_OK };
    struct taking taking = { .helpers = helpers, .helper = helper, .share = share, .set = &answer, .failures = failures };
    ap_rank_set_init(&answer, set->gate);
    enum ap_status status = take_answer(&taking, &why);
    if (status == AP_OK && taking.status != AP_OK)
        status = ap_fail(&why, is_want_of_memory(taking.status) ? (enum ap_status)taking.status : AP_ERROR_INPUT, "%s",
                         taking.message);
    if (status == AP_OK) {
        answer.duplicate_count = (size_t)taking.duplicates;
        status = ap_rank_set_join(set, &answer, &why);
    }
    ap_rank_set_release(&answer);
    if (status != AP_OK && !is_want_of_memory(status))
        return give_up_share(&taking, &why);
    if (status != AP_OK)
        *reterr = why;
    return status;
}
