/* SPDX-License-Identifier: MIT
 * html_assets.h - the style and the script of the HTML report, and what a Content-Security-Policy calls them; put there by
 * tools/embed_html.py at build time. */
#ifndef AP_HTML_ASSETS_H
#define AP_HTML_ASSETS_H

#include <stddef.h>

extern const unsigned char ap_html_style[], ap_html_script[];
extern const size_t ap_html_style_bytes, ap_html_script_bytes;
/** What pictures need of the style when they stand alone: the colors for light, as plain values. */
extern const unsigned char ap_picture_style[];
extern const size_t ap_picture_style_bytes;
extern const char ap_html_style_hash[], ap_html_script_hash[]; /* "sha256-..." */

#endif
