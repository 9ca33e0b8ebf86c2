/* SPDX-License-Identifier: MIT */
#include "code_point.h"

#include "poison.h"

static bool is_tail(struct ap_text text, size_t at)
{
    return at < text.bytes && ((unsigned char)text.data[at] & 0xC0) == 0x80;
}

static uint32_t tail(struct ap_text text, size_t at)
{
    return (unsigned char)text.data[at] & 0x3Fu;
}

uint32_t ap_code_point_of_many_bytes(struct ap_text text, size_t *at)
{
    size_t start = (*at)++;
    uint32_t lead = (unsigned char)text.data[start];
    if (lead >= 0xC2 && lead < 0xE0 && is_tail(text, start + 1)) {
        *at = start + 2;
        return (lead & 0x1F) << 6 | tail(text, start + 1);
    }
    if (lead >= 0xE0 && lead < 0xF0 && is_tail(text, start + 1) && is_tail(text, start + 2)) {
        uint32_t code_point = (lead & 0x0F) << 12 | tail(text, start + 1) << 6 | tail(text, start + 2);
        if (code_point >= 0x800 && (code_point < 0xD800 || code_point > 0xDFFF)) {
            *at = start + 3;
            return code_point;
        }
    }
    if (lead >= 0xF0 && lead < 0xF5 && is_tail(text, start + 1) && is_tail(text, start + 2) && is_tail(text, start + 3)) {
        uint32_t code_point =
            (lead & 0x07) << 18 | tail(text, start + 1) << 12 | tail(text, start + 2) << 6 | tail(text, start + 3);
        if (code_point >= 0x10000 && code_point <= 0x10FFFF) {
            *at = start + 4;
            return code_point;
        }
    }
    return AP_CODE_POINT_REPLACEMENT;
}

size_t ap_code_point_encode(uint32_t code_point, char to[4])
{
    if (code_point < 0x80) {
        to[0] = (char)code_point;
        return 1;
    }
    size_t tails = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = { 0, 0xC0, 0xE0, 0xF0 };
    to[0] = (char)(leads[tails] | code_point >> (6 * tails));
    for (size_t i = 1; i <= tails; i++)
        to[i] = (char)(0x80 | (code_point >> (6 * (tails - i)) & 0x3F));
    return tails + 1;
}

bool ap_code_point_is_hidden_beyond_ascii(uint32_t code_point)
{
    /* Unicode's Cc, Cf, Zl, Zp, Default_Ignorable_Code_Point and noncharacters, in ranges */
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        { 0x007F, 0x009F },   { 0x00AD, 0x00AD },   { 0x034F, 0x034F },   { 0x0600, 0x0605 },   { 0x061C, 0x061C },
        { 0x06DD, 0x06DD },   { 0x070F, 0x070F },   { 0x0890, 0x0891 },   { 0x08E2, 0x08E2 },   { 0x115F, 0x1160 },
        { 0x17B4, 0x17B5 },   { 0x180B, 0x180F },   { 0x200B, 0x200F },   { 0x2028, 0x202E },   { 0x2060, 0x206F },
        { 0x3164, 0x3164 },   { 0xFDD0, 0xFDEF },   { 0xFE00, 0xFE0F },   { 0xFEFF, 0xFEFF },   { 0xFFA0, 0xFFA0 },
        { 0xFFF0, 0xFFFB },   { 0x110BD, 0x110BD }, { 0x110CD, 0x110CD }, { 0x13430, 0x1343F }, { 0x1BCA0, 0x1BCA3 },
        { 0x1D173, 0x1D17A }, { 0xE0000, 0xE0FFF },
    };
    for (size_t i = 0; i < AP_COUNT_OF(hidden) && code_point >= hidden[i].first; i++)
        if (code_point <= hidden[i].last)
            return true;
    return (code_point & 0xFFFE) == 0xFFFE; /* the last two of each plane */
}
