#include "html.h"

#include <inttypes.h>

#include "base64_out.h"
#include "escape.h"
#include "gzip_out.h"
#include "html_data.h"
#include "page_css.h"
#include "page_js.h"
#include "program.h"

#define TITLE_MAX_BYTES ((size_t)1 << 16)
#define PACK_LEVEL 5 /* of large pages: half the time of zlib's own choice, 2 % larger */

/* JSON in, base64 of its gzip out. */
struct packer {
    struct cairn_html_sink sink; /* first: the drain gets this address */
    struct cairn_outlet text, packed;
    struct cairn_gzip gzip;
    struct cairn_base64 base64;
};

static int pass_on(struct packer *packer)
{
    CAIRN_TRY(packer->packed.buf.code);
    CAIRN_TRY(
        cairn_base64_add(&packer->base64, packer->packed.buf.data, packer->packed.buf.size_bytes));
    cairn_buf_clear(&packer->packed.buf);
    return 0;
}

static int drain(struct cairn_html_sink *sink)
{
    struct packer *packer = (struct packer *)sink;
    struct cairn_buf *text = &packer->text.buf;

    CAIRN_TRY(text->code);
    CAIRN_TRY(cairn_gzip_add(&packer->gzip, text->data, text->size_bytes));
    cairn_buf_clear(text);
    return pass_on(packer);
}

/* A model as the script element `id`. */
static int put_data(const char *id, const struct cairn_model *model,
                    const struct cairn_html_options *options, struct cairn_outlet *out,
                    struct cairn_err *err)
{
    struct packer packer = {
        .sink = {.out = &packer.text, .drain = drain},
        .base64 = {.out = out},
    };
    int code;

    cairn_buf_printf(&out->buf, "<script type=\"application/gzip\" id=\"%s\">", id);
    cairn_outlet_init(&packer.text, -1, out->name);
    cairn_outlet_init(&packer.packed, -1, out->name);
    code = cairn_gzip_open(&packer.gzip, PACK_LEVEL, &packer.packed);
    if (code == 0) {
        code = cairn_html_data(model, options, &packer.sink, err);
        code = cairn_gzip_close(&packer.gzip, code);
    }
    if (code == 0)
        code = pass_on(&packer);
    if (code == 0)
        code = cairn_base64_end(&packer.base64);
    cairn_outlet_release(&packer.text);
    cairn_outlet_release(&packer.packed);
    cairn_buf_add_str(&out->buf, "</script>\n");
    return code;
}

/* As the page's head has it: of the words of a command a tab would show the way to Python. */
static void put_title(const struct cairn_model *model, const struct cairn_html_options *options,
                      struct cairn_buf *out)
{
    struct cairn_span name = cairn_program_of(cairn_model_env(model, "run.command"));
    struct cairn_buf title;

    cairn_buf_init(&title, TITLE_MAX_BYTES);
    if (name.size_bytes == 0)
        name = cairn_model_env(model, "import.file");
    if (!options->redact.on)
        cairn_redact_text(&options->redact, name, &title);
    cairn_buf_add_str(out, "<title>");
    cairn_escape_xml(out, cairn_buf_span(&title));
    cairn_buf_add_str(out, title.size_bytes ? " - Cairn</title>\n" : "Cairn</title>\n");
    if (title.code == -CAIRN_ENOMEM)
        out->code = title.code;
    cairn_buf_release(&title);
}

void cairn_html_policy(bool asks, struct cairn_buf *out)
{
    cairn_buf_printf(out,
                     "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; "
                     "base-uri 'none'; form-action 'none'%s",
                     page_js_sha256, page_css_sha256, asks ? "; connect-src 'self'" : "");
}

int cairn_html(const struct cairn_model *model, const struct cairn_html_options *options,
               struct cairn_outlet *out, struct cairn_err *err)
{
    struct cairn_buf *buf = &out->buf;
    int code;

    cairn_buf_add_str(buf, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                           "<meta http-equiv=\"Content-Security-Policy\" content=\"");
    cairn_html_policy(options->follows || options->columns, buf);
    cairn_buf_add_str(buf, "\">\n");
    cairn_buf_add_str(buf, "<meta name=\"viewport\" content=\"width=device-width\">\n"
                           "<meta name=\"referrer\" content=\"no-referrer\">\n");
    put_title(model, options, buf);
    cairn_buf_printf(buf, "<style>%s</style>\n</head>\n<body>\n<div id=\"page\"", page_css);
    if (options->follows || options->columns)
        cairn_buf_printf(buf, " data-version=\"%" PRIu64 "\"%s%s", options->version,
                         options->follows ? " data-follows" : "",
                         options->columns ? " data-columns" : "");
    cairn_buf_add_str(buf, "></div>\n");
    cairn_buf_add_str(buf, "<noscript>This page needs its script. "
                           "<code>cairn report</code> shows the same as text.</noscript>\n");
    code = put_data("data", model, options, out, err);
    if (code == 0 && options->before) {
        struct cairn_html_options whole = *options;

        whole.columns = NULL;
        whole.parts = NULL;
        code = put_data("before", options->before, &whole, out, err);
    }
    cairn_buf_printf(buf, "<script>%s</script>\n</body>\n</html>\n", page_js);
    return code < 0 ? code : cairn_outlet_drain(out);
}
