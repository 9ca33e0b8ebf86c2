/* SPDX-License-Identifier: MIT
 * kernel_family.h - the family and subfamily of each kernel name (kernel_family.def), told once for all names of a trace. A
 * name is not the whole truth: a convolution may call a kernel with a plain gemm's name. */
#ifndef AP_KERNEL_FAMILY_H
#define AP_KERNEL_FAMILY_H

#include "lone_groups.h"

enum ap_kernel_family {
#define AP_KERNEL_FAMILY(family, word) AP_KERNEL_FAMILY_##family,
#include "kernel_family.def"
    AP_KERNEL_FAMILY_COUNT_
};

/* What is told of a name: its subfamily in the low bits, and these. */
#define AP_KERNEL_SUBFAMILY_MASK 0x3fu
#define AP_KERNEL_COLLECTIVE 0x40u    /* some kernel of this name says which collective it is part of */
#define AP_KERNEL_COMMUNICATION 0x80u /* moves data between devices, by its name */
#define AP_KERNEL_TENSOR_CORE 0x100u  /* see tensor_core_words.def */
#define AP_KERNEL_ELIGIBLE 0x200u     /* does work that tensor cores can do: multiplies matrices, convolves, attends */
#define AP_KERNEL_PLAIN 0x400u        /* could, and by its name does not; without a word that tells neither is known */
#define AP_KERNEL_SPARSE 0x800u /* leaves zeros out, or looks at a window of unknown size: shapes do not tell its work */
#define AP_KERNEL_DEQUANTIZES 0x2000u /* turns packed weights back to floats, and does nothing else */
#define AP_KERNEL_UNFOLDS 0x1000u     /* makes a matrix of an image for a product, or an image of one: im2col */
#define AP_KERNEL_TURNS 0x4000u       /* changes the layout for a convolution, and does nothing else */

struct ap_kernel_families {
    struct ap_gate *gate;
    uint16_t *of_name; /* by name id; 0 where no kernel has the name */
    size_t name_count;
    struct ap_lone_groups alone;
};

/** Tells the subfamily of each name that a kernel has. @families may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_kernel_families_init(struct ap_kernel_families *families, const struct ap_trace *trace,
                                                     struct ap_gate *gate, struct ap_error *reterr);
void ap_kernel_families_release(struct ap_kernel_families *families);

static inline unsigned ap_kernel_subfamily_of(const struct ap_kernel_families *families, uint32_t name)
{
    return families->of_name[name] & AP_KERNEL_SUBFAMILY_MASK;
}

/** Does this kernel move data between devices? By its name, or because it says so: then other kernels of the name may not.
 *  In a group of one nobody is there to talk to. */
static inline bool ap_kernel_is_communication(const struct ap_kernel_families *families, const struct ap_trace *trace,
                                              uint32_t row)
{
    unsigned told = families->of_name[trace->events.name[row]];
    if (!(told & (AP_KERNEL_COMMUNICATION | AP_KERNEL_COLLECTIVE)))
        return false;
    uint32_t number = ap_row_collective_number(trace, row);
    if (number != AP_NO_ROW)
        return !families->alone.of_collective[number];
    return told & AP_KERNEL_COMMUNICATION && !ap_is_launched_alone(&families->alone, trace, row);
}

/** Subfamilies are 1 .. count; the last one is "other", for names that no row of the table knows. */
unsigned ap_kernel_subfamily_count(void);
const char *ap_kernel_subfamily_name(unsigned subfamily);
enum ap_kernel_family ap_kernel_family_of(unsigned subfamily);
const char *ap_kernel_family_name(enum ap_kernel_family family);

#endif
