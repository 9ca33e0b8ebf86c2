/* SPDX-License-Identifier: MIT
 * json_names.h - inside the json stage: which names of members are wanted, and a bit for each of those that came first. */
#ifndef AP_JSON_NAMES_H
#define AP_JSON_NAMES_H

#include "hash.h"
#include "json_element.h"

#define AP_NO_FIELD 255
#define AP_FIELDS_MAX 64
#define AP_ELEMENT_KEYS 16
#define AP_MEMBER_KEYS 48
#define AP_NAMES_MAX (2 * AP_FIELDS_MAX + AP_ELEMENT_KEYS + AP_MEMBER_KEYS)
#define AP_NAME_SLOTS 512

/** A name that is wanted or has a bit. Where the bits of its level are used up, one that is new has none: then nobody
 *  notices that it stands twice. */
struct ap_name {
    char text[47];
    uint8_t bytes;
    uint8_t level;  /* 0 = of the element, 1 = of a member object that is entered */
    uint8_t field;  /* the first one of that level with this key; field_count = none */
    uint8_t parent; /* at level 0: the first field within the member of this name; AP_NO_FIELD = none */
    uint64_t bit;   /* 0 = none */
};

struct ap_names {
    const struct ap_json_field *fields;
    unsigned field_count;
    const struct ap_hash_key *hash_key;
    struct ap_name list[AP_NAMES_MAX];
    unsigned count;
    unsigned bits_used[2];               /* by level */
    uint8_t slots[AP_NAME_SLOTS];        /* open addressing: number + 1 of a name; 0 = free */
    uint8_t parents[AP_FIELDS_MAX];      /* of each field: the first one within the same member; AP_NO_FIELD = in none */
    uint64_t parent_bits[AP_FIELDS_MAX]; /* of each field: the bit of the member that it is in; 0 = in none */
    uint64_t any_parent;                 /* all of them */
};

/** The names of the @fields, which are borrowed: at most AP_FIELDS_MAX. Members that are entered have a bit at once. */
void ap_names_init(struct ap_names *names, const struct ap_json_field *fields, unsigned field_count,
                   const struct ap_hash_key *hash_key);
/** NULL where the name is neither wanted nor has a bit. */
const struct ap_name *ap_names_find(const struct ap_names *names, unsigned level, struct ap_text text);
/** Likewise, once it got its bit where one is left. */
const struct ap_name *ap_names_meet(struct ap_names *names, unsigned level, struct ap_text text);
/** The field of this name; field_count, the place for unwanted values, where there is none. @parent: at level 1, a field of
 *  the member object, as its name tells it. */
uint8_t ap_names_field(const struct ap_names *names, const struct ap_name *name, uint8_t parent);

#endif
