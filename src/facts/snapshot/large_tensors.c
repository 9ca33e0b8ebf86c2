/* SPDX-License-Identifier: MIT
 * large_tensors.c - a few tensors that each hold much of the peak, and how far it falls without them. */
#include "avoidable_search.h"

#include "poison.h"

#define LARGE_PART 20 /* of the peak; our choice */

/* One of those that come and go with a step, or that nothing tells. */
static bool is_large(const struct ap_avoidable_search *search, const struct ap_owned *owned)
{
    enum ap_owner_category category = ap_owned_category(owned);
    return owned->bytes > search->owned->total_bytes / LARGE_PART &&
           (category == AP_OWNER_ACTIVATIONS || category == AP_OWNER_TEMPORARIES || category == AP_OWNER_KEPT ||
            category == AP_OWNER_UNKNOWN);
}

static enum ap_status cut_alike(struct ap_avoidable_search *search, const struct ap_owned *like, struct ap_error *reterr)
{
    const struct ap_stay *list = NULL;
    uint32_t count = 0;
    AP_TRY(ap_search_alike(search, like, &list, &count, reterr));
    for (uint32_t i = 0; i < count; i++)
        AP_TRY(ap_search_cut(search, list[i].alloc, list[i].end == AP_NO_ENTRY ? ap_search_end(search) : list[i].end,
                             list[i].bytes, reterr));
    return AP_OK;
}

/* Those that are alike go wherever they are: the next highest point may have them again. */
enum ap_status ap_search_large(struct ap_avoidable_search *search, struct ap_avoidable *to, struct ap_error *reterr)
{
    const struct ap_owned *list = search->owned->list;
    bool is_cut = false; /* the like of it */
    for (uint32_t i = 0; i < search->owned->count; i++) {
        is_cut = is_cut && list[i - 1].stack == list[i].stack && list[i - 1].bytes == list[i].bytes;
        if (!is_large(search, &list[i]))
            continue;
        ap_avoidable_add(search, to, &list[i]);
        if (list[i].alloc == AP_NO_ENTRY)
            AP_TRY(ap_search_cut(search, AP_NO_ENTRY, list[i].end == AP_NO_ENTRY ? ap_search_end(search) : list[i].end,
                                 list[i].bytes, reterr));
        else if (!is_cut)
            AP_TRY(cut_alike(search, &list[i], reterr));
        is_cut = is_cut || list[i].alloc != AP_NO_ENTRY;
    }
    return AP_OK;
}
