/* SPDX-License-Identifier: MIT */
#include "request_shape.h"

#include "poison.h"

#define LEAST_REQUEST_BYTES ((int64_t)64 << 20) /* what is smaller needs no explanation, and fits by chance */
#define LEAST_ROWS 16
#define LEAST_WIDTH 64 /* of an embedding */
#define WIDEST_VALUE 4u
#define LEAST_VECTORS 4u
#define LEAST_PRIME 29 /* a product of smaller ones divides what has nothing to do with it: 32,000 does 8 times 4,000 */

static const int64_t vocabularies[] = {
#define AP_VOCABULARY(words) words,
#include "vocabulary_size.def"
};

/* The weight that a vocabulary needs: as many words, a usual width, in values of 2 or 4 bytes. */
static bool is_embedding(const struct ap_owned *owned, int64_t words)
{
    enum ap_owner_category category = ap_owned_category(owned);
    bool may_be = category == AP_OWNER_PARAMETERS || category == AP_OWNER_KEPT || category == AP_OWNER_UNKNOWN ||
                  category == AP_OWNER_GRADIENTS || category == AP_OWNER_OPTIMIZER_STATE;
    int64_t row_bytes = owned->bytes / words;
    return may_be && owned->bytes % words == 0 && row_bytes % (LEAST_WIDTH * 2) == 0 && row_bytes > 0 &&
           row_bytes <= (int64_t)65536 * WIDEST_VALUE;
}

/* Bytes of a row of the largest such weight; 0 = there is none. */
static int64_t row_of_embedding(const struct ap_owned *list, uint32_t count, int64_t words)
{
    int64_t most_bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        if (is_embedding(&list[i], words) && list[i].bytes > most_bytes)
            most_bytes = list[i].bytes;
    return most_bytes / words;
}

/* Vectors as wide as the weight's rows, as norms and biases have them. */
static bool has_vectors(const struct ap_owned *list, uint32_t count, int64_t row_bytes)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += list[i].bytes == row_bytes;
    return found >= LEAST_VECTORS;
}

static bool is_round(int64_t words)
{
    for (int64_t factor = 2; factor < LEAST_PRIME; factor++)
        while (words % factor == 0)
            words /= factor;
    return words == 1;
}

static struct ap_request_shape shape_of(int64_t request_bytes, int64_t words)
{
    int64_t rows = request_bytes / words / 2;
    bool wide = rows % 2 == 0;
    return (struct ap_request_shape){ wide ? rows / 2 : rows, words, wide ? 4 : 2, wide };
}

bool ap_request_shape_find(int64_t request_bytes, const struct ap_owned *list, uint32_t count,
                           struct ap_request_shape *ret_shape)
{
    unsigned found = 0, sure = 0;
    if (request_bytes < LEAST_REQUEST_BYTES)
        return false;
    for (size_t i = 0; i < AP_COUNT_OF(vocabularies); i++) {
        int64_t words = vocabularies[i], row_bytes;
        if (request_bytes % (words * 2) || request_bytes / words / 2 < LEAST_ROWS)
            continue;
        row_bytes = row_of_embedding(list, count, words);
        bool confirmed = row_bytes && has_vectors(list, count, row_bytes);
        if (!row_bytes || ((sure || is_round(words)) && !confirmed))
            continue;
        *ret_shape = shape_of(request_bytes, words);
        found++;
        sure += confirmed;
    }
    return sure ? sure == 1 : found == 1;
}
