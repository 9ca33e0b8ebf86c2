/* SPDX-License-Identifier: MIT
 * md_operators.c - where the time goes: from the whole run to one operation, phases, operators with their GPU work, modules,
 * lines, forward and backward. */
#include "md.h"

#include "poison.h"

/* Levels that a list is indented by at most: deeper ones stand below each other. */
#define DEEPEST 10

struct tree {
    const char *path, *time_key, *share_key;
    const char *kind_key;  /* a word before the name; NULL = none */
    const char *count_key; /* NULL = none */
};

static void write_share(struct md *md, const struct ap_value *share)
{
    if (!share || share->type == AP_VALUE_NULL)
        return;
    ap_md_string(md, ", ");
    ap_md_value(md, share, AP_TEXT("share_ratio"), MD_FULL);
}

static void write_tree_row(struct md *md, const struct tree *tree, const struct ap_value *row)
{
    int64_t depth = ap_value_integer(ap_value_member(row, "depth"), 0);
    for (int64_t i = 0; i < depth && i < DEEPEST; i++)
        ap_md_string(md, "  ");
    ap_md_string(md, "- ");
    if (tree->kind_key) {
        ap_md_prose(md, ap_value_text(ap_value_member(row, tree->kind_key)));
        ap_md_string(md, " ");
    }
    ap_md_name(md, ap_value_text(ap_value_member(row, "name")));
    const struct ap_value *count = tree->count_key ? ap_value_member(row, tree->count_key) : NULL;
    if (ap_value_integer(count, 0) > 1) {
        ap_md_string(md, " x ");
        ap_md_integer(md, ap_value_integer(count, 0));
    }
    ap_md_string(md, ": ");
    ap_md_rounded(md, ap_value_member(row, tree->time_key));
    write_share(md, ap_value_member(row, tree->share_key));
    ap_md_string(md, "\n");
}

static void write_tree(struct md *md, const struct tree *tree)
{
    ap_md_string(md, "\n");
    for (const struct ap_value *row = ap_value_first(ap_md_at(md, tree->path)); row; row = row->next)
        write_tree_row(md, tree, row);
}

static void write_drilldown(struct md *md)
{
    static const struct tree tree = { "drilldown.rows", "time_us", "share_ratio", "level", NULL };
    if (!ap_md_known(md, "drilldown"))
        return;
    ap_md_string(md, "\n### From the whole run to one operation\n\nBy ");
    ap_md_prose(md, ap_value_text(ap_md_at(md, "drilldown.basis")));
    ap_md_string(md, ", ");
    ap_md_rounded(md, ap_md_at(md, "drilldown.total_us"));
    ap_md_string(md, " in all. Each level adds up to the row above it; the largest of each: ");
    static const char *const levels[] = { "step", "phase", "component", "operation" };
    const struct ap_value *narrowed = ap_md_at(md, "drilldown.narrowed");
    for (size_t i = 0; i < AP_COUNT_OF(levels); i++) {
        ap_md_string(md, i ? " > " : "");
        ap_md_name(md, ap_value_text(ap_value_member(narrowed, levels[i])));
    }
    ap_md_string(md, ".\n");
    write_tree(md, &tree);
}

static void write_phases(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("phase", "Phase", MD_NAME),
        MD_COLUMN("host_us", "Host (us)", MD_FIGURE),
        MD_COLUMN("host_share_ratio", "Share of host", MD_FIGURE),
        MD_COLUMN("host_per_steady_step_us", "Host per steady step (us)", MD_FIGURE),
        MD_COLUMN("device_us", "GPU (us)", MD_FIGURE),
        MD_COLUMN("device_share_ratio", "Share of GPU", MD_FIGURE),
        MD_COLUMN("device_busy_us", "GPU busy (us)", MD_FIGURE),
        MD_COLUMN("device_per_steady_step_us", "GPU per steady step (us)", MD_FIGURE),
    };
    static const struct md_table table = {
        .path = "phases.items",
        .remark = ": host time without overlap, GPU time by what launched it",
        MD_COLUMNS(columns),
    };
    ap_md_table(md, "Phases", &table);
}

#define COST_COLUMNS                                         \
    MD_COLUMN("count", "Count", MD_FIGURE),                  \
    MD_COLUMN("host_total_us", "Host total (us)", MD_FIGURE), \
    MD_COLUMN("host_self_us", "Host self (us)", MD_FIGURE),  \
    MD_COLUMN("device_total_us", "GPU total (us)", MD_FIGURE), \
    MD_COLUMN("device_self_us", "GPU self (us)", MD_FIGURE), \
    MD_COLUMN("device_share_ratio", "Share of GPU", MD_FIGURE)

static void write_operators(struct md *md)
{
    static const struct md_column top[] = {
        MD_COLUMN("name", "Operator", MD_NAME),
        MD_COLUMN("family", "Family", MD_NAME),
        COST_COLUMNS,
        MD_COLUMN("top_frame", "Line above it", MD_NAME),
    };
    static const struct md_column shapes[] = {
        MD_COLUMN("name", "Operator", MD_NAME),
        MD_COLUMN("dims", "Input dims", MD_NAME),
        MD_COLUMN("types", "Input types", MD_NAME),
        COST_COLUMNS,
    };
    static const struct md_column families[] = {
        MD_COLUMN("family", "Family", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("host_self_us", "Host self (us)", MD_FIGURE),
        MD_COLUMN("host_share_ratio", "Share of host", MD_FIGURE),
        MD_COLUMN("device_self_us", "GPU self (us)", MD_FIGURE),
        MD_COLUMN("device_share_ratio", "Share of GPU", MD_FIGURE),
    };
    static const struct md_table top_table = { .path = "operators.top", .remark = ", by own time", MD_COLUMNS(top) };
    static const struct md_table shape_table = { .path = "operators.by_shape", .remark = ", by own time", MD_COLUMNS(shapes) };
    static const struct md_table family_table = { .path = "operators.families", .remark = ", by own time", MD_COLUMNS(families) };
    static const struct md_figure work[] = {
        { "operators.device_us", "GPU work" },
        { "operators.in_operators_device_us", "Launched by operators" },
        { "operators.outside_operators_device_us", "Launched, but by no operator" },
        { "operators.unlinked_device_us", "Launch not in the trace" },
    };
    if (ap_md_known(md, "operators.device_us"))
        ap_md_figures(md, "GPU work by what launched it", work, AP_COUNT_OF(work));
    ap_md_table(md, "Operators with their GPU work", &top_table);
    ap_md_table(md, "Operators by input shapes", &shape_table);
    ap_md_table(md, "Operator families with their GPU work", &family_table);
}

static void write_modules(struct md *md)
{
    static const struct tree by_device = { "modules.items", "device_us", "device_share_ratio", NULL, "instances" };
    static const struct tree by_host = { "modules.items", "host_total_us", "host_share_ratio", NULL, "instances" };
    if (!ap_md_known(md, "modules"))
        return;
    bool has_gpu = ap_md_known(md, "modules.device_us");
    ap_md_string(md, "\n### Modules\n\nRows of `modules.items`: the costliest paths of modules by class, ");
    ap_md_string(md, has_gpu ? "by the GPU work launched in them.\n" : "by host time.\n");
    write_tree(md, has_gpu ? &by_device : &by_host);
}

static void write_frames(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("name", "Line", MD_NAME),
        MD_COLUMN("count", "Calls", MD_FIGURE),
        MD_COLUMN("host_self_us", "Host self (us)", MD_FIGURE),
        MD_COLUMN("device_self_us", "GPU self (us)", MD_FIGURE),
        MD_COLUMN("device_share_ratio", "Share of GPU", MD_FIGURE),
    };
    static const struct md_table table = {
        .path = "frames.items",
        .remark = ": the innermost Python line outside the standard library and PyTorch",
        MD_COLUMNS(columns),
    };
    ap_md_table(md, "Python lines", &table);
}

static void write_autograd(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("forward", "Forward", MD_NAME),
        MD_COLUMN("backward", "Backward", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("forward_host_us", "Forward host (us)", MD_FIGURE),
        MD_COLUMN("backward_host_us", "Backward host (us)", MD_FIGURE),
        MD_COLUMN("forward_device_us", "Forward GPU (us)", MD_FIGURE),
        MD_COLUMN("backward_device_us", "Backward GPU (us)", MD_FIGURE),
        MD_COLUMN("backward_over_forward_ratio", "Backward over forward", MD_FIGURE),
    };
    static const struct md_table table = {
        .path = "autograd.by_forward_op",
        .remark = ", linked by sequence number",
        MD_COLUMNS(columns),
    };
    ap_md_table(md, "Forward operators and their backward", &table);
}

void ap_md_operators(struct md *md)
{
    if (!ap_md_known(md, "phases") && !ap_md_known(md, "drilldown") && !ap_md_known(md, "operators"))
        return;
    ap_md_string(md, "\n## Phases and operators\n");
    write_drilldown(md);
    write_phases(md);
    write_operators(md);
    write_modules(md);
    write_frames(md);
    write_autograd(md);
}
