/* SPDX-License-Identifier: MIT */
#include "kernel_tile.h"

#include <string.h>

#include "poison.h"

#define SIDE_MIN 8
#define SIDE_MAX 512
#define WORDS_MAX 8 /* between the mark and the tile: the types of "gemm_bf16_bf16_f32_bf16_bf16_128x256x64" */

/* What stands right before the first side; those of the first lines decide. An empty one: any two sides behind a '_'. */
static const char *const marks[] = { "_MT", "tilesize", "nvjet_", "gemm_", "_bt" };

static size_t read_side(struct ap_text name, size_t at, unsigned *ret_side)
{
    size_t end = at;
    *ret_side = 0;
    while (end < name.bytes && end - at < 4 && ap_is_digit(name.data[end]))
        *ret_side = *ret_side * 10 + (unsigned)(name.data[end++] - '0');
    return end;
}

static bool read_pair(struct ap_text name, size_t at, struct ap_kernel_tile *ret_tile)
{
    unsigned rows, columns;
    size_t middle = read_side(name, at, &rows);
    if (middle == at || middle >= name.bytes || name.data[middle] != 'x')
        return false;
    size_t end = read_side(name, middle + 1, &columns);
    if (end == middle + 1 || rows < SIDE_MIN || columns < SIDE_MIN || rows > SIDE_MAX || columns > SIDE_MAX)
        return false;
    ret_tile->rows = rows;
    ret_tile->columns = columns;
    return true;
}

/* The first pair at or behind @at, within its word or, where @words, behind a '_' of the words that follow. */
static bool find_pair(struct ap_text name, size_t at, bool words, struct ap_kernel_tile *ret_tile)
{
    if (!words)
        return read_pair(name, at, ret_tile);
    for (int word = 0; at < name.bytes && word < WORDS_MAX; word++) {
        if (read_pair(name, at, ret_tile))
            return true;
        const char *next = memchr(name.data + at, '_', name.bytes - at);
        at = next ? (size_t)(next - name.data) + 1 : name.bytes;
    }
    return false;
}

static bool contains(struct ap_text name, const char *word, size_t *ret_end)
{
    size_t bytes = strlen(word);
    for (size_t at = 0; at + bytes <= name.bytes; at++)
        if (name.data[at] == word[0] && !memcmp(name.data + at, word, bytes)) {
            *ret_end = at + bytes;
            return true;
        }
    return false;
}

/* Tensile: "GSU4", or chosen when it is launched. */
bool ap_kernel_splits_inner(struct ap_text name)
{
    size_t end;
    if (ap_text_contains_folded(name, "splitk") || ap_text_contains_folded(name, "split_k") ||
        contains(name, "_GSUAMBSK", &end))
        return true;
    return contains(name, "_GSU", &end) && end < name.bytes && name.data[end] >= '1' && name.data[end] <= '9' &&
           !(name.data[end] == '1' && (end + 1 == name.bytes || name.data[end + 1] == '_'));
}

bool ap_kernel_loads_narrowly(struct ap_text name)
{
    static const char *const usual[] = { "simt", "d884", "d1688", "dgemm" };
    size_t end;
    for (size_t i = 0; i < AP_COUNT_OF(usual); i++)
        if (ap_text_contains_folded(name, usual[i]))
            return false;
    if (!contains(name, "align1", &end) && !contains(name, "align2", &end))
        return false;
    return end == name.bytes || name.data[end] < '0' || name.data[end] > '9';
}

bool ap_kernel_tile_of(struct ap_text name, struct ap_kernel_tile *ret_tile)
{
    size_t end;
    for (size_t i = 0; i < AP_COUNT_OF(marks); i++) {
        bool words = marks[i][0] != '_' && marks[i][0] != 't';
        if (contains(name, marks[i], &end) && find_pair(name, end, words, ret_tile)) {
            ret_tile->splits_inner = ap_kernel_splits_inner(name);
            return true;
        }
    }
    return false;
}

int ap_kernel_generation(struct ap_text name)
{
    static const struct {
        int major;
        const char *words[7];
    } generations[] = {
        { 12, { "sm120", "sm121" } },
        { 10, { "sm100", "sm101", "sm103" } },
        { 9, { "sm90", "wgmma", "hopper" } },
        { 8, { "sm80", "sm86", "sm89", "ampere_", "cutlass_80", "s16816gemm", "s161616gemm" } },
        { 7, { "sm70", "sm75", "volta_", "turing_", "cutlass_70", "cutlass_75", "s884gemm" } },
    };
    for (size_t i = 0; i < AP_COUNT_OF(generations); i++)
        for (size_t word = 0; word < AP_COUNT_OF(generations[i].words) && generations[i].words[word]; word++)
            if (ap_text_contains_folded(name, generations[i].words[word]))
                return generations[i].major;
    return 0;
}
