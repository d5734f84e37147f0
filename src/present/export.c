#include "export.h"

#include <string.h>

#include "exporters.h"

const struct cairn_exporter cairn_exporters[] = {
    {"collapsed", "one line a stack: for flamegraph.pl, inferno, grep", false, false,
     cairn_export_collapsed},
    {"speedscope", "JSON for https://www.speedscope.app", false, true, cairn_export_speedscope},
    {"pprof", "profile.proto, gzipped: for `go tool pprof`", true, true, cairn_export_pprof},
    {"flamegraph", "a picture to search and to zoom: one SVG", false, false,
     cairn_export_flamegraph},
    {NULL, NULL, false, false, NULL},
};

const struct cairn_exporter *cairn_exporter_find(const char *name)
{
    for (const struct cairn_exporter *exporter = cairn_exporters; exporter->name; exporter++)
        if (strcmp(exporter->name, name) == 0)
            return exporter;
    return NULL;
}

int cairn_export(const struct cairn_exporter *exporter, const struct cairn_tally *tally,
                 const struct cairn_export_options *options, struct cairn_outlet *out,
                 struct cairn_err *err)
{
    int code;

    if (!tally->known) {
        code =
            cairn_err_set(err, -CAIRN_EUSAGE, 0, "export", "the metric %s is not there to export",
                          cairn_metric_name(tally->filter.metric));
        if (tally->why)
            cairn_err_add(err, "%s", tally->why);
        return code;
    }
    code = exporter->write(tally, options, out);
    /* What the outlet could not do, cairn_outlet_finish() tells better. */
    if (code < 0 && !out->sys)
        cairn_err_set(err, code, 0, "export", "cannot export as %s: %s", exporter->name,
                      cairn_err_sentence(code));
    return code;
}
