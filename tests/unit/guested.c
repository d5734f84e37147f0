#include "guested.h"

#include <stdlib.h>

#include "import.h"
#include "sink.h"
#include "table.h"

static int read_bytes(guested_reader *reader, struct cairn_span bytes, uint64_t each_ns,
                      struct cairn_sink *sink, struct cairn_err *err)
{
    const struct cairn_import_options options = {.interval_ns = each_ns};
    struct cairn_guest guest;
    struct cairn_feed feed;
    int code = cairn_feed_open_span(&feed, bytes);

    if (code == 0 && !reader) {
        code = cairn_import_feed(&feed, "FILE", &options, sink, err);
    } else if (code == 0) {
        code = cairn_guest_open(&guest, sink, err);
        if (code == 0) {
            guest.interval_ns = each_ns;
            code = reader(&feed, &guest, err);
        }
        if (code == 0)
            code = cairn_guest_finish(&guest);
        cairn_guest_release(&guest);
    }
    cairn_feed_release(&feed);
    return code;
}

int guested_load(guested_reader *reader, struct cairn_span bytes, uint64_t each_ns,
                 struct cairn_model **ret_model, struct cairn_err *err)
{
    struct cairn_sink_options options = {.path = NULL};
    const struct cairn_quality *quality;
    struct cairn_sink *sink;
    int code;

    code = cairn_sink_open(&options, &sink, NULL);
    if (code < 0)
        return code;
    code = read_bytes(reader, bytes, each_ns, sink, err);
    if (code == 0) {
        code = cairn_model_load_fd(cairn_sink_fd(sink), ret_model, NULL);
        if (code < 0 && code != -CAIRN_ENOMEM)
            abort();
    }
    if (code == 0) {
        quality = cairn_model_quality(*ret_model);
        if (quality->unknown_refs || quality->damaged_chunks || !quality->ended)
            abort();
    }
    cairn_sink_close(sink, NULL);
    return code;
}

int guested_fuzz(guested_reader *reader, const uint8_t *data, size_t size_bytes)
{
    struct cairn_rows_options options = {.with_idle = true};
    struct cairn_model *model;
    struct cairn_filter filter;
    struct cairn_tally tally;
    struct cairn_rows rows;
    uint64_t self_ns = 0;

    if (guested_load(reader, (struct cairn_span){data, size_bytes}, 0, &model, NULL) < 0)
        return 0;
    cairn_filter_init(&filter);
    if (cairn_tally_make(model, &filter, &tally, NULL) < 0 ||
        cairn_rows_make(&tally, &options, &rows, NULL) < 0)
        abort();
    for (size_t i = 0; i < rows.count; i++)
        self_ns += rows.items[i].self.value_ns;
    if (self_ns != tally.total.value_ns)
        abort();
    cairn_rows_release(&rows);
    cairn_tally_release(&tally);
    cairn_model_free(model);
    return 0;
}
