/* SPDX-License-Identifier: MIT
 * html_pictures.h - the pictures, each in a file of its own. Each writes nothing where the model has nothing to draw, and is
 * bounded by the limit that stands. Private to src/report. */
#ifndef AP_HTML_PICTURES_H
#define AP_HTML_PICTURES_H

#include "chart_svg.h"

/** The figures of one kind; they are written in this order. */
void ap_html_picture(struct html *html, size_t index);
extern const size_t ap_html_picture_count;
/** Does the bar of owners stand under the verdict, as that of the time does where there is one? */
bool ap_html_owners_lead(const struct html *html);
/** Is there one for the section of pictures? True as long as the contents are not known. */
bool ap_html_has_pictures(const struct html *html);
/** All of them, under a heading; nothing where there is none. */
void ap_html_pictures(struct html *html);

/** The strip over the run: what the GPU did, and why it did nothing. */
void ap_html_utilization(struct html *html);
/** Threads and streams over a part of the run, to zoom into. */
void ap_html_timeline(struct html *html);
/** Where the time of the judged part goes, as one bar. */
void ap_html_split(struct html *html);
/** Does a change gain what a picture can show? */
bool ap_prediction_gains(const struct ap_value *prediction);
/** A step as it is, and as changes would make it. */
void ap_html_prediction(struct html *html);
/** How long each step took. */
void ap_html_steps(struct html *html);
/** What the steps are made of. */
void ap_html_step_parts(struct html *html);
/** Python frames and operators of the host by time. */
void ap_html_host_flame(struct html *html);
/** The stacks that hold the peak, by bytes. */
void ap_html_memory_flame(struct html *html);
/** Kernels as areas, by family, and the collectives. */
void ap_html_kernels(struct html *html);
/** Operators under the roofline of the device. */
void ap_html_roofline(struct html *html);
/** Their time against what they reach of it. */
void ap_html_efficiency(struct html *html);
/** What the memory of the main device is for, as one bar. */
void ap_html_memory_owners(struct html *html);
/** The snapshot's curves, device by device. */
void ap_html_memory(struct html *html);
/** Memory over time as the trace tells it. */
void ap_html_trace_memory(struct html *html);
/** The allocator's segments and the blocks in them. */
void ap_html_segments(struct html *html);
/** Of a run of many ranks: ranks by figure, by step, and when they came to collectives. */
void ap_html_cluster_ranks(struct html *html);
void ap_html_cluster_steps(struct html *html);
void ap_html_cluster_arrivals(struct html *html);
void ap_html_cluster_step(struct html *html);
/** Of the memory of those ranks. */
void ap_html_cluster_memory(struct html *html);
/** Of a file of another profiler: what takes most. */
void ap_html_profile(struct html *html);
/** Of several runs, so not among those that a run has. */
void ap_html_series(struct html *html);

/* The parts that time is divided into: classes of GPU work, then causes of idle time. */
struct html_time_part {
    const char *id, *label;
    bool is_cause;
};
extern const struct html_time_part ap_html_time_parts[];
extern const size_t ap_html_time_part_count;

/** Causes are explained with the split, elsewhere their name does. */
void ap_html_time_part_label(struct html *html, const struct html_time_part *part);

#endif
