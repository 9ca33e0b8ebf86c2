/* SPDX-License-Identifier: MIT */
#include "json_names.h"

#include <assert.h>
#include <string.h>

#include "same_bytes.h"

#include "poison.h"

/* The place of the name, or where it would be put: one is always free. */
static unsigned slot_of(const struct ap_names *names, unsigned level, struct ap_text text)
{
    _Static_assert(AP_NAMES_MAX < UINT8_MAX && 2 * AP_NAMES_MAX < AP_NAME_SLOTS, "names are numbered by bytes");
    unsigned slot = (unsigned)ap_hash_bytes(names->hash_key, text.data, text.bytes) + level;
    for (;; slot++) {
        unsigned number = names->slots[slot % AP_NAME_SLOTS];
        const struct ap_name *name = &names->list[number - (number > 0)];
        if (!number ||
            (name->level == level && name->bytes == text.bytes && ap_same_bytes(name->text, text.data, text.bytes)))
            return slot % AP_NAME_SLOTS;
    }
}

static bool is_long(struct ap_text text)
{
    return text.bytes > sizeof(((struct ap_name *)NULL)->text);
}

const struct ap_name *ap_names_find(const struct ap_names *names, unsigned level, struct ap_text text)
{
    unsigned number = is_long(text) ? 0 : names->slots[slot_of(names, level, text)];
    return number ? &names->list[number - 1] : NULL;
}

static bool has_bit_left(const struct ap_names *names, unsigned level)
{
    return names->bits_used[level] < (level ? AP_MEMBER_KEYS : AP_ELEMENT_KEYS);
}

static struct ap_name *add(struct ap_names *names, unsigned slot, unsigned level, struct ap_text text)
{
    struct ap_name *name = &names->list[names->count++];
    *name = (struct ap_name){
        .bytes = (uint8_t)text.bytes, .level = (uint8_t)level, .field = (uint8_t)names->field_count, .parent = AP_NO_FIELD
    };
    if (text.bytes)
        memcpy(name->text, text.data, text.bytes);
    names->slots[slot] = (uint8_t)names->count;
    return name;
}

const struct ap_name *ap_names_meet(struct ap_names *names, unsigned level, struct ap_text text)
{
    if (is_long(text))
        return NULL;
    unsigned slot = slot_of(names, level, text), number = names->slots[slot];
    if (!number && !has_bit_left(names, level))
        return NULL;
    struct ap_name *name = number ? &names->list[number - 1] : add(names, slot, level, text);
    if (!name->bit && has_bit_left(names, level))
        name->bit = (uint64_t)1 << (names->bits_used[level]++ + (level ? AP_ELEMENT_KEYS : 0));
    return name;
}

static struct ap_name *want(struct ap_names *names, unsigned level, const char *key)
{
    struct ap_text text = ap_text_of(key);
    assert(!is_long(text));
    unsigned slot = slot_of(names, level, text), number = names->slots[slot];
    return number ? &names->list[number - 1] : add(names, slot, level, text);
}

void ap_names_init(struct ap_names *names, const struct ap_json_field *fields, unsigned field_count,
                   const struct ap_hash_key *hash_key)
{
    assert(field_count <= AP_FIELDS_MAX);
    *names = (struct ap_names){ .fields = fields, .field_count = field_count, .hash_key = hash_key };
    for (unsigned i = 0; i < field_count; i++) {
        struct ap_name *name = want(names, fields[i].parent != NULL, fields[i].key);
        if (name->field == field_count)
            name->field = (uint8_t)i;
        names->parents[i] = AP_NO_FIELD;
        if (!fields[i].parent)
            continue;
        struct ap_name *parent = want(names, 0, fields[i].parent);
        if (parent->parent == AP_NO_FIELD)
            parent->parent = (uint8_t)i;
        names->parents[i] = parent->parent;
        names->parent_bits[i] = ap_names_meet(names, 0, ap_text_of(fields[i].parent))->bit;
        names->any_parent |= names->parent_bits[i];
    }
}

uint8_t ap_names_field(const struct ap_names *names, const struct ap_name *name, uint8_t parent)
{
    unsigned field = name ? name->field : names->field_count;
    if (field == names->field_count || !name->level || names->parents[field] == parent)
        return (uint8_t)field;
    /* Within another member this name is wanted, too. */
    struct ap_text text = { name->text, name->bytes };
    for (field++; field < names->field_count; field++)
        if (names->parents[field] == parent && ap_text_is(text, names->fields[field].key))
            break;
    return (uint8_t)field;
}
