/* SPDX-License-Identifier: MIT */
#include "path_pieces.h"

#include "poison.h"

#define DIGIT_BITS 7
#define MORE 0x80u /* another digit of the number stands before this one */
/* In the byte of the class: of the host; and how far its at is, where that is one of the three smallest numbers. */
#define HOST 0x80u
#define NEAR_SHIFT 4
#define FAR 3u /* the number stands before it */
/* Of a piece: its class, a length of 64 bits, a distance of 32 bits. */
#define LARGEST_BYTES 16

/* Its digits from high to low, as it is read from its end. */
static void put_number(struct ap_path_pieces *pieces, uint64_t number)
{
    unsigned shift = 0;
    while (shift + DIGIT_BITS < 64 && number >> (shift + DIGIT_BITS))
        shift += DIGIT_BITS;
    for (unsigned more = 0;; more = MORE, shift -= DIGIT_BITS) {
        pieces->bytes[pieces->used++] = (unsigned char)((number >> shift & (MORE - 1)) | more);
        if (!shift)
            return;
    }
}

static uint64_t take_number(struct ap_path_reader *reader)
{
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += DIGIT_BITS) {
        unsigned char digit = reader->pieces->bytes[--reader->at_byte];
        number |= (uint64_t)(digit & (MORE - 1)) << shift;
        if (!(digit & MORE))
            return number;
    }
}

/* Near ones in both directions are small numbers: 0, -1, 1, -2, ... */
static uint32_t fold(uint32_t distance)
{
    return distance << 1 ^ (distance >> 31 ? UINT32_MAX : 0);
}

static uint32_t unfold(uint64_t folded)
{
    return (uint32_t)folded >> 1 ^ (folded & 1 ? UINT32_MAX : 0);
}

static enum ap_status put_last(struct ap_path_pieces *pieces, struct ap_error *reterr)
{
    const struct ap_path_piece *last = &pieces->last;
    AP_TRY(AP_RESERVE(pieces->gate, pieces->bytes, pieces->capacity, pieces->used + LARGEST_BYTES, reterr));
    put_number(pieces, (uint64_t)last->end_ns - (uint64_t)last->start_ns);
    uint32_t distance = fold(last->at - pieces->at[last->host]);
    if (distance >= FAR)
        put_number(pieces, distance);
    unsigned near = distance < FAR ? distance : FAR;
    pieces->bytes[pieces->used++] = (unsigned char)(last->path_class | near << NEAR_SHIFT | (last->host ? HOST : 0));
    pieces->at[last->host] = last->at;
    return AP_OK;
}

enum ap_status ap_path_pieces_add(struct ap_path_pieces *pieces, const struct ap_path_piece *piece, struct ap_error *reterr)
{
    struct ap_path_piece *last = &pieces->last;
    if (pieces->count && last->path_class == piece->path_class && last->host == piece->host && last->at == piece->at) {
        last->start_ns = piece->start_ns;
        return AP_OK;
    }
    if (pieces->count)
        AP_TRY(put_last(pieces, reterr));
    *last = *piece;
    pieces->count++;
    return AP_OK;
}

void ap_path_pieces_release(struct ap_path_pieces *pieces)
{
    AP_FREE(pieces->gate, pieces->bytes, pieces->capacity);
    *pieces = (struct ap_path_pieces){ .gate = pieces->gate };
}

struct ap_path_reader ap_path_pieces_read(const struct ap_path_pieces *pieces)
{
    return (struct ap_path_reader){
        .pieces = pieces, .left = pieces->count, .at_byte = pieces->used, .at = { pieces->at[0], pieces->at[1] }
    };
}

bool ap_path_reader_next(struct ap_path_reader *reader, struct ap_path_piece *ret_piece)
{
    if (!reader->left)
        return false;
    if (reader->left-- == reader->pieces->count) {
        *ret_piece = reader->pieces->last;
    } else {
        unsigned char told = reader->pieces->bytes[--reader->at_byte];
        bool host = told & HOST;
        uint32_t at = reader->at[host], near = told >> NEAR_SHIFT & FAR;
        reader->at[host] = at - unfold(near == FAR ? take_number(reader) : near);
        int64_t end_ns = (int64_t)((uint64_t)reader->now_ns + take_number(reader));
        *ret_piece = (struct ap_path_piece){ reader->now_ns, end_ns, at, told & (AP_PATH_PIECE_CLASSES - 1), host };
    }
    reader->now_ns = ret_piece->end_ns;
    return true;
}
