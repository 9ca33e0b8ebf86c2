/* SPDX-License-Identifier: MIT
 * gpu_peaks.c - reading the tables of a document: a table is one of devices where its first column is headed so. */
#include "gpu_peaks.h"

#include <string.h>

#include "decimal.h"
#include "gpu_peaks_text.h"

#include "poison.h"

#define COLUMNS_MAX 24
#define DEFAULT_MATMUL_RATIO 0.7

enum column {
    DEVICE,
    KIND,
    CAPABILITY,
    SMS,
    MEMORY,
    FIRST_RATE,
    RATE_BYTES = FIRST_RATE + AP_PEAK_TYPE_COUNT_,
    MATMUL,
    NONE
};

static const char *const headings[NONE] = {
    [DEVICE] = "Device",
    [KIND] = "Kind",
    [CAPABILITY] = "Capability",
    [SMS] = "SMs",
    [MEMORY] = "GB",
    [FIRST_RATE + AP_PEAK_fp64] = "fp64",
    [FIRST_RATE + AP_PEAK_fp32] = "fp32",
    [FIRST_RATE + AP_PEAK_tf32] = "tf32",
    [FIRST_RATE + AP_PEAK_16_bit] = "16 bit",
    [FIRST_RATE + AP_PEAK_fp8] = "fp8",
    [FIRST_RATE + AP_PEAK_int8] = "int8",
    [FIRST_RATE + AP_PEAK_fp4] = "fp4",
    [RATE_BYTES] = "GB/s",
    [MATMUL] = "Matmul %",
};

const char *ap_peak_type_name(enum ap_peak_type type)
{
    return headings[FIRST_RATE + type];
}

struct ap_text ap_gpu_peaks_builtin(void)
{
    return (struct ap_text){ (const char *)ap_gpu_peaks_text, ap_gpu_peaks_text_bytes };
}

struct reading {
    struct ap_gpu_peaks *peaks;
    struct ap_error *reterr;
    unsigned line;
    enum column columns[COLUMNS_MAX]; /* of the table that is open */
    int column_count;                 /* 0 = none is */
    bool in_table;                    /* of whatever is in it */
};

/* Between bars; how many there are. */
static int read_cells(struct ap_text line, struct ap_text *ret_cells)
{
    int count = 0;
    line = ap_text_trim(line);
    if (!line.bytes || *line.data != '|')
        return 0;
    for (size_t start = 1; start < line.bytes && count < COLUMNS_MAX;) {
        const char *bar = memchr(line.data + start, '|', line.bytes - start);
        size_t end = bar ? (size_t)(bar - line.data) : line.bytes;
        ret_cells[count++] = ap_text_trim((struct ap_text){ line.data + start, end - start });
        start = end + 1;
    }
    return count;
}

static enum ap_status read_heading(struct reading *reading, const struct ap_text *cells, int count)
{
    for (int i = 0; i < count; i++) {
        enum column column = DEVICE;
        while (column < NONE && !ap_text_is(cells[i], headings[column]))
            column++;
        if (column == NONE)
            return ap_fail(reading->reterr, AP_ERROR_USAGE, "line %u: no column is called '%.*s'", reading->line,
                           (int)(cells[i].bytes < 40 ? cells[i].bytes : 40), cells[i].data);
        reading->columns[i] = column;
    }
    reading->column_count = count;
    return AP_OK;
}

static enum ap_status read_number(const struct reading *reading, struct ap_text cell, double *ret_number)
{
    int64_t millionths;
    *ret_number = 0;
    if (ap_text_is(cell, "-"))
        return AP_OK;
    if (ap_decimal_to_millionths(cell.data, cell.bytes, &millionths) == AP_DECIMAL_OUT_OF_RANGE || millionths <= 0)
        return ap_fail(reading->reterr, AP_ERROR_USAGE, "line %u: '%.*s' is no number above 0, and no dash", reading->line,
                       (int)(cell.bytes < 40 ? cell.bytes : 40), cell.data);
    *ret_number = (double)millionths / 1e6;
    return AP_OK;
}

static enum ap_status read_kind(const struct reading *reading, struct ap_text cell, bool *ret_is_amd)
{
    *ret_is_amd = ap_text_is(cell, "AMD");
    if (*ret_is_amd || ap_text_is(cell, "NVIDIA"))
        return AP_OK;
    return ap_fail(reading->reterr, AP_ERROR_USAGE, "line %u: NVIDIA or AMD was expected", reading->line);
}

static enum ap_status read_cell(const struct reading *reading, enum column column, struct ap_text cell,
                                struct ap_gpu_peak *peak)
{
    double number;
    if (column == DEVICE) {
        peak->device = cell;
        return cell.bytes ? AP_OK : ap_fail(reading->reterr, AP_ERROR_USAGE, "line %u: no device is named", reading->line);
    }
    if (column == KIND)
        return read_kind(reading, cell, &peak->is_amd);
    AP_TRY(read_number(reading, cell, &number));
    if (column == CAPABILITY) {
        int64_t tenths = (int64_t)(number * 10 + 0.5);
        peak->major = tenths / 10;
        peak->minor = tenths % 10;
    } else if (column == SMS)
        peak->sm_count = number;
    else if (column == MEMORY)
        peak->memory_gb = number;
    else if (column == RATE_BYTES)
        peak->gb_s = number;
    else if (column == MATMUL && number > 0)
        peak->matmul_ratio = number < 100 ? number / 100 : 1;
    else if (column >= FIRST_RATE && column < RATE_BYTES)
        peak->tflop_s[column - FIRST_RATE] = number;
    return AP_OK;
}

static enum ap_status read_row(struct reading *reading, const struct ap_text *cells, int count)
{
    struct ap_gpu_peak peak = { .matmul_ratio = DEFAULT_MATMUL_RATIO };
    if (count != reading->column_count)
        return ap_fail(reading->reterr, AP_ERROR_USAGE, "line %u: %d cells where the heading has %d", reading->line, count,
                       reading->column_count);
    for (int i = 0; i < count; i++)
        AP_TRY(read_cell(reading, reading->columns[i], cells[i], &peak));
    if (reading->peaks->count == AP_GPU_PEAKS_MAX)
        return ap_fail(reading->reterr, AP_ERROR_USAGE, "line %u: more than %d devices", reading->line, AP_GPU_PEAKS_MAX);
    reading->peaks->rows[reading->peaks->count++] = peak;
    return AP_OK;
}

static bool is_rule(struct ap_text cell)
{
    return cell.bytes >= 3 && !memcmp(cell.data, "---", 3);
}

static enum ap_status read_line(struct reading *reading, struct ap_text line)
{
    struct ap_text cells[COLUMNS_MAX];
    int count = read_cells(line, cells);
    bool is_first = count && !reading->in_table;
    reading->in_table = count;
    if (!count)
        reading->column_count = 0;
    else if (is_first && ap_text_is(cells[0], headings[DEVICE]))
        return read_heading(reading, cells, count);
    else if (reading->column_count && !is_rule(cells[0]))
        return read_row(reading, cells, count);
    return AP_OK;
}

enum ap_status ap_gpu_peaks_add(struct ap_gpu_peaks *peaks, struct ap_text document, struct ap_error *reterr)
{
    struct reading reading = { .peaks = peaks, .reterr = reterr };
    size_t before = peaks->count;
    for (size_t start = 0; start < document.bytes;) {
        const char *newline = memchr(document.data + start, '\n', document.bytes - start);
        size_t end = newline ? (size_t)(newline - document.data) : document.bytes;
        struct ap_text line = { document.data + start, end - start };
        reading.line++;
        if (line.bytes && line.data[line.bytes - 1] == '\r')
            line.bytes--;
        AP_TRY(read_line(&reading, line));
        start = end + 1;
    }
    return peaks->count > before ? AP_OK : ap_fail(reterr, AP_ERROR_USAGE, "no table with a column Device was found");
}
