/* SPDX-License-Identifier: MIT
 * html_bands.h - memory over time, stacked by what it is for. Private to src/report. */
#ifndef AP_HTML_BANDS_H
#define AP_HTML_BANDS_H

#include "chart_svg.h"

#define AP_MOST_BAND_POINTS 400

/* Where the points of a curve are drawn. */
struct ap_band_places {
    double x[AP_MOST_BAND_POINTS];
    size_t count, peak; /* points; the one of the peak */
    double bottom, per_byte;
};

/** The class of what memory is for, a word of the report: in every picture the same color. */
const char *ap_memory_owner_class(struct ap_text category);
/** The bands of a device, one upon the other; false where there are none. */
bool ap_draw_bands(struct html *html, const struct ap_value *bands, const struct ap_band_places *places);
/** What the script needs to tell single allocations of the bands under the pointer; nothing in pictures that stand alone. */
void ap_put_allocations(struct html *html, const struct ap_value *allocations, const struct ap_band_places *places);
/** Their legend, with what each purpose has at the peak; the list is open already. */
void ap_legend_bands(struct html *html, const struct ap_value *bands, const struct ap_band_places *places);

#endif
