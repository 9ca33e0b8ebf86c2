/* SPDX-License-Identifier: MIT
 * Tensors that the host computes with in a run on a device: operators that launch nothing and take long. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_NS INT64_C(500000)     /* shorter ones may be held up by something else */
#define MOST_GAP_NS INT64_C(5000000) /* from one to the next: what the first one made is freed */

/* A call of the program that is looked at. */
struct call {
    size_t item;
    int64_t end_ns;
    bool asks_device; /* launches, copies or waits */
};

/* That go over all elements; others may take long by the number of tensors alone. */
static const char *const over_elements[] = {
    "aten::to",    "aten::_to_copy", "aten::copy_", "aten::clone",  "aten::contiguous", "aten::cat",    "aten::stack",
    "aten::pad",   "aten::add",      "aten::add_",  "aten::sub",    "aten::sub_",       "aten::mul",    "aten::mul_",
    "aten::div",   "aten::div_",     "aten::pow",   "aten::clamp",  "aten::where",      "aten::index",  "aten::index_select",
    "aten::flip",  "aten::roll",     "aten::sum",   "aten::mean",   "aten::std",        "aten::sort",   "aten::topk",
    "aten::exp",   "aten::log",      "aten::stft",  "aten::linear", "aten::matmul",     "aten::mm",     "aten::conv2d",
    "aten::randn", "aten::rand",     "aten::round", "aten::max",    "aten::argmax",     "aten::softmax"
};

static bool may_compute(const struct ap_habit_rows *rows, const struct ap_habit_item *item)
{
    bool is_told = false;
    for (size_t i = 0; i < AP_COUNT_OF(over_elements) && !is_told; i++)
        is_told = ap_text_is(ap_trace_text(rows->trace, item->name), over_elements[i]);
    return is_told;
}

/* Adds the call, with the way from the one before where that was of this kind, too. */
static void end_call(struct ap_habit_rows *rows, const struct call *call, int64_t *last_end_ns)
{
    const struct ap_habit_item *item = &rows->items[call->item];
    int64_t start_ns = ap_item_start_ns(rows, item), dur_ns = call->end_ns - start_ns;
    bool is_long = dur_ns >= LEAST_NS;
    if (call->asks_device || (is_long && !may_compute(rows, item)))
        *last_end_ns = INT64_MIN;
    if (call->asks_device || !is_long || !may_compute(rows, item))
        return;
    if (*last_end_ns != INT64_MIN && start_ns - *last_end_ns <= MOST_GAP_NS)
        start_ns = *last_end_ns;
    ap_habit_add_time(rows->habits, AP_HABIT_host_tensor, start_ns, call->end_ns);
    (void)ap_habit_add_in_pieces(rows->habits, AP_HABIT_host_tensor, item->row, call->end_ns - start_ns,
                                 call->end_ns - start_ns);
    *last_end_ns = call->end_ns;
}

void ap_habit_find_host_tensors(struct ap_habit_rows *rows, size_t track)
{
    const struct ap_row_order *order = &rows->facts->order;
    struct call call = { .end_ns = INT64_MIN };
    int64_t last_end_ns = INT64_MIN;
    size_t next = 0;
    if (!rows->facts->links.count)
        return;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        if (call.end_ns != INT64_MIN && rows->trace->events.start_ns[row] >= call.end_ns) {
            end_call(rows, &call, &last_end_ns);
            call.end_ns = INT64_MIN;
        }
        if (next < rows->item_count && rows->items[next].row == row) {
            call = (struct call){ .item = next, .end_ns = ap_row_end_ns(rows->trace, row) };
            next++;
        }
        call.asks_device |= ap_row_is_of(rows->trace, row, 1u << AP_KIND_runtime);
    }
    if (call.end_ns != INT64_MIN)
        end_call(rows, &call, &last_end_ns);
}
