/* SPDX-License-Identifier: MIT
 * part_cluster_files.c - which files the run has, and what each is used for. */
#include "cluster_parts.h"
#include "sort.h"

#include "poison.h"

struct listing {
    const struct ap_run_found *found;
    uint32_t *by_path; /* numbers in the set */
};

static struct ap_text path_of(const struct ap_run_view *view, uint32_t number)
{
    return ap_rank_text(view->set, view->set->ranks[number].path);
}

static bool is_path_before(const void *context, uint32_t a, uint32_t b)
{
    int order = ap_text_compare(path_of(context, a), path_of(context, b));
    return order ? order < 0 : a < b;
}

/* Of a file that gave a summary: what became of it. NULL = it is compared. */
static const char *why_not_compared(const struct listing *listing, const struct ap_run_file *file)
{
    const struct ap_run_view *view = listing->found->view;
    struct ap_text path = ap_text_of(file->path);
    size_t low = 0;
    AP_BISECT(low, view->set->count, at, ap_text_compare(path_of(view, listing->by_path[at]), path) < 0);
    if (low == view->set->count || !ap_text_equal(path_of(view, listing->by_path[low]), path))
        return file->head.kind == AP_FILE_trace ? "says the same as another file" : NULL;
    switch ((enum ap_rank_use)view->uses[listing->by_path[low]]) {
    case AP_USE_compared: break;
    case AP_USE_other_window: return "another recording of the rank: one of each is compared";
    case AP_USE_other_run: return "of a run of another size";
    }
    return NULL;
}

static const char *why_not(const struct listing *listing, size_t number)
{
    const struct ap_run_found *found = listing->found;
    const struct ap_run_file *file = &found->files->files[number];
    if (file->why_not)
        return file->why_not;
    if (found->failures->why && found->failures->why[number])
        return found->failures->why[number];
    if (file->head.kind == AP_FILE_profile)
        return "of another profiler: give it alone, or beside the trace of one rank";
    return file->head.kind == AP_FILE_trace ? why_not_compared(listing, file) : NULL;
}

static void add_file(const struct listing *listing, size_t number, struct ap_model *model, struct ap_value *list)
{
    const struct ap_run_file *file = &listing->found->files->files[number];
    struct ap_value *row = ap_add_object(model, list, NULL);
    const char *source = ap_rank_source_name(file->rank_source), *why = why_not(listing, number);
    ap_add_text(model, row, "path", ap_text_of(file->path));
    ap_add_known_string(model, row, "kind", !file->why_not, ap_file_kind_name(file->head.kind));
    ap_add_known_count(model, row, "rank", file->head.rank >= 0, file->head.rank);
    ap_add_known_string(model, row, "rank_source", source, source);
    ap_add_known_text(model, row, "host", file->head.host[0], ap_text_of(file->head.host));
    ap_add_known_text(model, row, "why_not", why, ap_text_of(why ? why : ""));
}

/* What is not compared comes first: that is what somebody has to know. */
static void add_all(const struct listing *listing, struct ap_model *model, struct ap_value *to)
{
    const struct ap_run_found *found = listing->found;
    uint64_t limit = found->options->top_n, added = 0;
    struct ap_value *list = ap_add_list(model, to, "files");
    for (int odd = 1; odd >= 0; odd--)
        for (size_t i = 0; i < found->files->count; i++) {
            if ((why_not(listing, i) != NULL) != (odd == 1) || (limit && added >= limit))
                continue;
            add_file(listing, i, model, list);
            added++;
        }
    ap_add_count(model, to, "files_left_out", (int64_t)(found->files->count - added));
}

enum ap_status ap_cluster_add_files(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to,
                                    struct ap_error *reterr)
{
    const struct ap_run_view *view = found->view;
    struct listing listing = { .found = found };
    size_t count;
    AP_TRY(
        ap_top_indices(view->gate, (uint32_t)view->set->count, 0, is_path_before, view, &listing.by_path, &count, reterr));
    add_all(&listing, model, to);
    AP_FREE(view->gate, listing.by_path, count);
    return AP_OK;
}
