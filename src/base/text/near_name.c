/* SPDX-License-Identifier: MIT */
#include "near_name.h"

#include <stdio.h>
#include <string.h>

#include "poison.h"

#define MAX_BYTES 80   /* longest name that letters are counted for */
#define LEAST_PART 3   /* a shorter part is in too many names */
#define LETTERS_EACH 5 /* one mistake for so many letters */

/* Less is better: the beginning, a part, some letters off. */
enum { OF_PART = 1000, OF_LETTERS = 2000, NO_SCORE = 10000 };

static char folded(char c)
{
    return c == '_' || c == ' ' ? '-' : ap_folded(c);
}

static bool is_at(struct ap_text text, size_t at, struct ap_text part)
{
    for (size_t i = 0; i < part.bytes; i++)
        if (folded(text.data[at + i]) != folded(part.data[i]))
            return false;
    return true;
}

/* Where @part stands in @text; its length where nowhere. */
static size_t find(struct ap_text text, struct ap_text part)
{
    for (size_t at = 0; at + part.bytes <= text.bytes; at++)
        if (is_at(text, at, part))
            return at;
    return text.bytes;
}

static bool are_swapped(struct ap_text a, size_t i, struct ap_text b, size_t j)
{
    return i && j && folded(a.data[i]) == folded(b.data[j - 1]) && folded(a.data[i - 1]) == folded(b.data[j]);
}

/* Letters to insert, take away, replace or swap with the next; more than @most where there are more: they are not counted to
 * the end then, for a name is held against some thousand. */
static size_t count_changes(struct ap_text a, struct ap_text b, size_t most)
{
    size_t rows[3][MAX_BYTES + 1], least_above = 0;
    if (a.bytes > b.bytes + most || b.bytes > a.bytes + most)
        return most + 1;
    for (size_t j = 0; j <= b.bytes; j++)
        rows[0][j] = j;
    for (size_t i = 0; i < a.bytes; i++) {
        size_t *row = rows[(i + 1) % 3];
        const size_t *above = rows[i % 3], *two_above = rows[(i + 2) % 3];
        size_t least_here = i + 1;
        row[0] = i + 1;
        for (size_t j = 0; j < b.bytes; j++) {
            size_t least = above[j] + (folded(a.data[i]) != folded(b.data[j]));
            least = row[j] + 1 < least ? row[j] + 1 : least;
            least = above[j + 1] + 1 < least ? above[j + 1] + 1 : least;
            row[j + 1] = are_swapped(a, i, b, j) && two_above[j - 1] + 1 < least ? two_above[j - 1] + 1 : least;
            least_here = row[j + 1] < least_here ? row[j + 1] : least_here;
        }
        if (least_here > most && least_above > most)
            return most + 1;
        least_above = least_here;
    }
    return rows[a.bytes % 3][b.bytes];
}

static struct ap_text last_key(struct ap_text name)
{
    size_t at = name.bytes;
    while (at && name.data[at - 1] != '.')
        at--;
    return (struct ap_text){ name.data + at, name.bytes - at };
}

static size_t score(struct ap_text wanted, struct ap_text candidate)
{
    if (wanted.bytes > MAX_BYTES || candidate.bytes > MAX_BYTES || wanted.bytes < LEAST_PART)
        return NO_SCORE;
    size_t at = find(candidate, wanted);
    if (at < candidate.bytes)
        return (at ? OF_PART : 0) + candidate.bytes;
    size_t most = wanted.bytes / LETTERS_EACH, changes = count_changes(wanted, candidate, most);
    if (changes > most)
        changes = count_changes(wanted, last_key(candidate), most); /* the place is left out */
    return changes > most ? NO_SCORE : OF_LETTERS + changes;
}

void ap_near_names_offer(struct ap_near_names *near, struct ap_text wanted, struct ap_text candidate)
{
    size_t of_candidate = score(wanted, candidate), at = near->count;
    while (at && near->scores[at - 1] > of_candidate)
        at--;
    if (at == AP_NEAR_NAMES || of_candidate == NO_SCORE)
        return;
    near->count += near->count < AP_NEAR_NAMES;
    for (size_t i = near->count - 1; i > at; i--) {
        near->scores[i] = near->scores[i - 1];
        near->names[i] = near->names[i - 1];
    }
    near->scores[at] = of_candidate;
    near->names[at] = candidate;
}

void ap_near_names_write(const struct ap_near_names *near, char *to, size_t capacity)
{
    size_t used = 0;
    to[0] = '\0';
    for (size_t i = 0; i < near->count && used < capacity; i++) {
        const char *before = i == 0 ? "; did you mean " : i + 1 == near->count ? " or " : ", ";
        int bytes = snprintf(to + used, capacity - used, "%s%.*s%s", before, (int)near->names[i].bytes, near->names[i].data,
                             i + 1 == near->count ? "?" : "");
        used += bytes > 0 ? (size_t)bytes : 0;
    }
}
