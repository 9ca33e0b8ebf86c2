/* SPDX-License-Identifier: MIT
 * tree.h - report trees typed by hand: put a value at a dotted path, objects on the way are made as needed; what stands
 * at the path already is replaced.
 *
 *     struct ap_model model;
 *     ap_model_init(&model, &gate);
 *     put_ratio(&model, "gpu.utilization_ratio", 0.5);
 */
#ifndef AP_TREE_H
#define AP_TREE_H

#include <string.h>

#include "model_build.h"

#define TREE_UNUSED __attribute__((unused))

/** A place for a value at @path: an existing one is emptied. The tree belongs to the model, so it may be written. */
TREE_UNUSED static struct ap_value *tree_place(struct ap_model *model, const char *path)
{
    struct ap_value *at = &model->root;
    while (*path) {
        size_t bytes = strcspn(path, ".");
        struct ap_value *child = at->as.children.first;
        while (child && !ap_text_equal(child->key, (struct ap_text){ path, bytes }))
            child = child->next;
        at = child ? child : ap_add_object_named(model, at, (struct ap_text){ path, bytes });
        path += bytes;
        path += *path == '.';
        if (*path && at->type != AP_VALUE_OBJECT) {
            at->type = AP_VALUE_OBJECT;
            at->as.children.first = at->as.children.last = NULL;
        }
    }
    return at;
}

TREE_UNUSED static void put_integer(struct ap_model *model, const char *path, enum ap_value_type type, int64_t integer)
{
    struct ap_value *place = tree_place(model, path);
    place->type = type;
    place->as.integer = integer;
}

TREE_UNUSED static void put_null(struct ap_model *model, const char *path)
{
    tree_place(model, path)->type = AP_VALUE_NULL;
}

TREE_UNUSED static void put_bool(struct ap_model *model, const char *path, bool value)
{
    put_integer(model, path, AP_VALUE_BOOL, value);
}

TREE_UNUSED static void put_count(struct ap_model *model, const char *path, int64_t count)
{
    put_integer(model, path, AP_VALUE_COUNT, count);
}

TREE_UNUSED static void put_bytes(struct ap_model *model, const char *path, int64_t bytes)
{
    put_integer(model, path, AP_VALUE_BYTES, bytes);
}

TREE_UNUSED static void put_time(struct ap_model *model, const char *path, int64_t ns)
{
    put_integer(model, path, AP_VALUE_TIME_NS, ns);
}

TREE_UNUSED static void put_double(struct ap_model *model, const char *path, enum ap_value_type type, double number)
{
    struct ap_value *place = tree_place(model, path);
    place->type = type;
    place->as.number = number;
}

TREE_UNUSED static void put_ratio(struct ap_model *model, const char *path, double ratio)
{
    put_double(model, path, AP_VALUE_RATIO, ratio);
}

TREE_UNUSED static void put_number(struct ap_model *model, const char *path, double number)
{
    put_double(model, path, AP_VALUE_NUMBER, number);
}

TREE_UNUSED static void put_text(struct ap_model *model, const char *path, const char *text)
{
    struct ap_value *place = tree_place(model, path);
    place->type = AP_VALUE_TEXT;
    place->as.text = (struct ap_text){ text, strlen(text) };
}

/** An empty list at @path, to append to with the calls of model_build.h. */
TREE_UNUSED static struct ap_value *put_list(struct ap_model *model, const char *path)
{
    struct ap_value *place = tree_place(model, path);
    place->type = AP_VALUE_LIST;
    place->as.children.first = place->as.children.last = NULL;
    return place;
}

/** Child number @index of a list, or NULL. */
TREE_UNUSED static const struct ap_value *list_item(const struct ap_value *list, size_t index)
{
    const struct ap_value *item = ap_value_first(list);
    while (item && index--)
        item = item->next;
    return item;
}

#endif
