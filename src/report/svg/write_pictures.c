/* SPDX-License-Identifier: MIT
 * The pictures of the HTML report as files of SVG: they are drawn by the same code, one kind after the other. */
#include <string.h>

#include "html_pictures.h"
#include "picture_svg.h"
#include "report.h"

#include "poison.h"

struct markup {
    struct ap_gate *gate;
    char *data;
    size_t bytes, capacity;
};

static enum ap_status collect(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct markup *markup = self;
    AP_TRY(ap_mem_reserve(markup->gate, (void **)&markup->data, &markup->capacity, markup->bytes + bytes, 1, reterr));
    memcpy(markup->data + markup->bytes, data, bytes);
    markup->bytes += bytes;
    return AP_OK;
}

#define NAME_BYTES 64

static enum ap_status give(const struct ap_picture_taker *taker, struct ap_text figure, struct ap_text id,
                           struct ap_error *reterr)
{
    char name[NAME_BYTES] = "";
    struct ap_out out;
    if (id.bytes >= sizeof(name))
        return AP_OK; /* ids are ours, and short */
    memcpy(name, id.data, id.bytes);
    AP_TRY(taker->begin(taker->self, name, reterr));
    ap_out_init(&out, (struct ap_sink){ taker->write, taker->self });
    ap_picture_write(&out, figure);
    AP_TRY(ap_out_finish(&out, reterr));
    return taker->end(taker->self, reterr);
}

/* All figures of one kind. */
static enum ap_status write_kind(struct html *html, size_t kind, struct markup *markup, const struct ap_picture_taker *taker,
                                 struct ap_error *reterr)
{
    struct ap_text figure, id;
    markup->bytes = 0;
    ap_html_picture(html, kind);
    AP_TRY(ap_out_finish(&html->out, reterr));
    struct ap_text rest = { markup->data, markup->bytes };
    while (ap_picture_next(&rest, &figure, &id))
        AP_TRY(give(taker, figure, id, reterr));
    return AP_OK;
}

enum ap_status ap_write_pictures(const struct ap_model *model, const struct ap_picture_taker *taker, struct ap_error *reterr)
{
    struct markup markup = { .gate = model->arena.gate };
    struct html html;
    enum ap_status status = AP_OK;
    ap_html_init(&html, model, (struct ap_sink){ collect, &markup });
    for (size_t i = 0; i < ap_html_picture_count && status == AP_OK; i++)
        status = write_kind(&html, i, &markup, taker, reterr);
    ap_mem_free(markup.gate, markup.data, markup.capacity);
    return status;
}
