/* SPDX-License-Identifier: MIT
 * tensor_dims.h - "Input Dims" and "Input type" of an operator, read: the sizes of its tensors. */
#ifndef AP_TENSOR_DIMS_H
#define AP_TENSOR_DIMS_H

#include "base.h"

#define AP_DIMS_MAX 6
#define AP_TENSORS_MAX 16

/** What a tensor holds. */
enum ap_element {
    AP_ELEMENT_unknown,
#define AP_ELEMENT(id, bytes, words) AP_ELEMENT_##id,
#include "element_type.def"
#undef AP_ELEMENT
    AP_ELEMENT_COUNT_
};

/** Of one; 0 where it is not known. */
int ap_element_bytes(enum ap_element element);
/** "bf16"; "unknown". */
const char *ap_element_name(enum ap_element element);

/** A tensor of one dimension at least. Sizes are below 2^31. */
struct ap_tensor_dims {
    int64_t dims[AP_DIMS_MAX];
    int count; /* of dims */
    int input; /* which input of the operator; the tensors of a list share one */
    enum ap_element element;
};

struct ap_tensor_list {
    struct ap_tensor_dims tensors[AP_TENSORS_MAX];
    int count;
    bool leaves_out; /* tensors of more dimensions, with larger sizes or with negative ones */
};

/** Those tensors and what stands behind the last that has room are left out. Any text is fine. */
void ap_tensor_list_read(struct ap_tensor_list *list, struct ap_text dims, struct ap_text types);

/** Of all dimensions from @first on to before @end; saturates. */
double ap_tensor_elements(const struct ap_tensor_dims *tensor, int first, int end);
bool ap_tensor_equal(const struct ap_tensor_dims *a, const struct ap_tensor_dims *b);

#endif
