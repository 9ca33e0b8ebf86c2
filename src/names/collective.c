/* SPDX-License-Identifier: MIT */
#include "collective.h"

#include <string.h>

#include "poison.h"

/* ---- operations ---- */

/* Does @name hold @part, leaving its underscores and the case of its letters out? */
static bool holds(struct ap_text name, const char *part)
{
    for (size_t start = 0; start < name.bytes; start++) {
        const char *wanted = part;
        for (size_t at = start; *wanted && at < name.bytes; at++) {
            char letter = name.data[at];
            if (letter == '_' && at != start)
                continue;
            if (ap_folded(letter) != *wanted)
                break;
            wanted++;
        }
        if (!*wanted)
            return true;
    }
    return false;
}

enum ap_collective_operation ap_collective_operation_of(struct ap_text name)
{
    static const struct {
        const char *part;
        enum ap_collective_operation operation;
    } names[] = {
#define AP_COLLECTIVE_NAME(part, operation) { part, AP_COLLECTIVE_##operation },
#include "collective_name.def"
#undef AP_COLLECTIVE_NAME
    };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (holds(name, names[i].part))
            return names[i].operation;
    return AP_COLLECTIVE_unknown;
}

void ap_collective_find_bounds(struct ap_collective_time *times, size_t count)
{
    int64_t least_ns = INT64_MAX;
    double least_per_byte = -1;
    for (size_t i = count; i-- > 0;) {
        if (i + 1 < count && times[i].bytes <= 0 && times[i + 1].bytes > 0)
            least_ns = INT64_MAX;
        least_ns = times[i].dur_ns < least_ns ? times[i].dur_ns : least_ns;
        times[i].bound_ns = least_ns;
    }
    for (size_t i = 0; i < count; i++) {
        double bytes = (double)times[i].bytes, per_byte = bytes > 0 ? (double)times[i].dur_ns / bytes : -1;
        if (least_per_byte >= 0 && bytes > 0 && least_per_byte * bytes < (double)times[i].bound_ns)
            times[i].bound_ns = (int64_t)(least_per_byte * bytes);
        if (per_byte >= 0 && (least_per_byte < 0 || per_byte < least_per_byte))
            least_per_byte = per_byte;
    }
}

bool ap_collective_ends_together(enum ap_collective_operation operation)
{
    return operation == AP_COLLECTIVE_allreduce || operation == AP_COLLECTIVE_allgather ||
           operation == AP_COLLECTIVE_reducescatter || operation == AP_COLLECTIVE_barrier ||
           operation == AP_COLLECTIVE_alltoall;
}

const char *ap_collective_operation_name(enum ap_collective_operation operation)
{
    static const char *const names[] = {
#define AP_COLLECTIVE(id) #id,
#include "collective.def"
    };
    return names[operation];
}

/* ---- element types ---- */

static const struct dtype {
    const char *name, *spellings; /* lower case, '|' between */
    int bytes;
    bool wide_float;
} dtypes[] = {
    { "unknown", "", 0, false },
    { "Float", "float|c10::float", 4, true },
    { "Half", "half|c10::half", 2, false },
    { "BFloat16", "bfloat16|c10::bfloat16", 2, false },
    { "Double", "double", 8, true },
    { "Long", "long|long int", 8, false },
    { "Int", "int", 4, false },
    { "Short", "short|short int", 2, false },
    { "Byte", "byte|unsigned char", 1, false },
    { "Char", "char|signed char", 1, false },
    { "Bool", "bool", 1, false },
    { "Float8_e4m3fn", "float8_e4m3fn|c10::float8_e4m3fn", 1, false },
    { "Float8_e5m2", "float8_e5m2|c10::float8_e5m2", 1, false },
    { "Float8_e4m3fnuz", "float8_e4m3fnuz|c10::float8_e4m3fnuz", 1, false },
    { "Float8_e5m2fnuz", "float8_e5m2fnuz|c10::float8_e5m2fnuz", 1, false },
    { "ComplexFloat", "complexfloat|c10::complex<float>", 8, true },
    { "ComplexDouble", "complexdouble|c10::complex<double>", 16, true },
    { "UInt16", "uint16|unsigned short|short unsigned int", 2, false },
    { "UInt32", "uint32|unsigned int", 4, false },
    { "UInt64", "uint64|unsigned long|long unsigned int", 8, false },
};

static bool is_one_of(struct ap_text name, const char *spellings)
{
    for (const char *end; *spellings; spellings = *end ? end + 1 : end) {
        end = spellings + strcspn(spellings, "|");
        size_t bytes = (size_t)(end - spellings), at = 0;
        if (bytes != name.bytes)
            continue;
        while (at < bytes && ap_folded(name.data[at]) == spellings[at])
            at++;
        if (at == bytes)
            return true;
    }
    return false;
}

unsigned ap_collective_dtype_of(struct ap_text name)
{
    for (unsigned i = 1; name.bytes && i < AP_COUNT_OF(dtypes); i++)
        if (is_one_of(name, dtypes[i].spellings))
            return i;
    return 0;
}

const char *ap_collective_dtype_name(unsigned dtype)
{
    return dtypes[dtype].name;
}

int64_t ap_collective_dtype_bytes(unsigned dtype)
{
    return dtypes[dtype].bytes;
}

bool ap_collective_dtype_is_wide_float(unsigned dtype)
{
    return dtypes[dtype].wide_float;
}

/* ---- sizes ---- */

/* -1 where one is not told (or 0 times) or the product is no size. */
static int64_t product(int64_t a, int64_t b)
{
    return a < 0 || b < 1 || a > INT64_MAX / b ? -1 : a * b;
}

int64_t ap_collective_bytes(enum ap_collective_operation operation, int64_t in_elements, int64_t out_elements,
                            int64_t group_size, unsigned dtype)
{
    int64_t elements = -1;
    switch (operation) {
    case AP_COLLECTIVE_allgather: elements = out_elements >= 0 ? out_elements : product(in_elements, group_size); break;
    case AP_COLLECTIVE_reducescatter: elements = in_elements >= 0 ? in_elements : product(out_elements, group_size); break;
    case AP_COLLECTIVE_gather: elements = product(in_elements, group_size); break;
    case AP_COLLECTIVE_scatter: elements = product(out_elements, group_size); break;
    case AP_COLLECTIVE_recv: elements = out_elements >= 0 ? out_elements : in_elements; break;
    default: elements = in_elements >= 0 ? in_elements : out_elements; break;
    }
    return product(elements, ap_collective_dtype_bytes(dtype));
}

double ap_collective_bus_factor(enum ap_collective_operation operation, int64_t group_size)
{
    double n = (double)group_size;
    if (group_size < 2)
        return 0;
    switch (operation) {
    case AP_COLLECTIVE_allreduce: return 2 * (n - 1) / n;
    case AP_COLLECTIVE_allgather:
    case AP_COLLECTIVE_reducescatter:
    case AP_COLLECTIVE_alltoall:
    case AP_COLLECTIVE_gather:
    case AP_COLLECTIVE_scatter: return (n - 1) / n;
    case AP_COLLECTIVE_broadcast:
    case AP_COLLECTIVE_reduce:
    case AP_COLLECTIVE_send:
    case AP_COLLECTIVE_recv:
    case AP_COLLECTIVE_sendrecv: return 1;
    default: return 0;
    }
}

/* ---- signatures ---- */

static bool is_blank(char c)
{
    return ap_is_space(c) || c == ',';
}

/* [[[2,3],[4]],[],...]: the bracket that opens the list of inputs, that of the first input, and those of its tensors where
 * it is a list. Sums the products of each innermost bracket. */
static int64_t first_elements(struct ap_text dims)
{
    int64_t sum = 0, size = 1, number = -1;
    int depth = 0, deepest = 0;
    for (size_t at = 0; at < dims.bytes; at++) {
        char c = dims.data[at];
        if (ap_is_digit(c)) {
            if (depth < 2 || number > (INT64_MAX - 9) / 10)
                return -1;
            number = (number < 0 ? 0 : number) * 10 + (c - '0');
            continue;
        }
        if (number >= 0)
            size = number ? product(size, number) : 0;
        number = -1;
        if (size < 0)
            return -1;
        if (c == '[') {
            size = 1;
            deepest = ++depth > deepest ? depth : deepest;
        } else if (c == ']') {
            if (depth == deepest) {
                sum = sum > INT64_MAX - size ? -1 : sum + size;
                size = 1;
            }
            if (sum < 0 || --depth == 1)
                return sum;
        } else if (!is_blank(c)) {
            return -1;
        }
        if (depth > 3)
            return -1;
    }
    return -1;
}

static struct ap_text first_type(struct ap_text types)
{
    size_t start = 0;
    while (start < types.bytes && types.data[start] != '"')
        start++;
    size_t end = start + 1;
    while (end < types.bytes && types.data[end] != '"')
        end++;
    return end < types.bytes ? (struct ap_text){ types.data + start + 1, end - start - 1 } : AP_TEXT("");
}

bool ap_collective_first_input(struct ap_text dims, struct ap_text types, int64_t *ret_elements, unsigned *ret_dtype)
{
    unsigned dtype = ap_collective_dtype_of(first_type(types));
    int64_t elements = first_elements(dims);
    if (!dtype || elements < 0)
        return false;
    *ret_elements = elements;
    *ret_dtype = dtype;
    return true;
}
