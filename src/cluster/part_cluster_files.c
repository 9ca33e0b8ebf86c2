/* SPDX-License-Identifier: MIT
 * part_cluster_files.c - which files the run has. */
#include "cluster_parts.h"

#include "poison.h"

static void add_file(const struct ap_run_file *file, struct ap_model *model, struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    const char *source = ap_rank_source_name(file->rank_source);
    ap_add_text(model, row, "path", ap_text_of(file->path));
    ap_add_known_string(model, row, "kind", !file->why_not, ap_file_kind_name(file->head.kind));
    ap_add_known_count(model, row, "rank", file->head.rank >= 0, file->head.rank);
    ap_add_known_string(model, row, "rank_source", source, source);
    ap_add_known_text(model, row, "host", file->head.host[0], ap_text_of(file->head.host));
    ap_add_known_text(model, row, "why_not", file->why_not, ap_text_of(file->why_not ? file->why_not : ""));
}

void ap_cluster_add_files(const struct ap_run_files *files, struct ap_model *model, struct ap_value *to)
{
    struct ap_value *list = ap_add_list(model, to, "files");
    for (size_t i = 0; i < files->count; i++)
        add_file(&files->files[i], model, list);
}
