#include "export.h"

#include "exactrows.h"
#include "exporters.h"
#include "facts.h"

const struct cairn_exporter cairn_exporters[] = {
    {"collapsed", "one line a stack: for flamegraph.pl, inferno, grep",
     "when things happened, and states; threads and processes only with --threads and --processes",
     false, false, true, cairn_export_collapsed},
    {"speedscope", "JSON for https://www.speedscope.app", "when things happened, and states", false,
     true, true, cairn_export_speedscope},
    {"pprof", "profile.proto, gzipped: for `go tool pprof`", "when things happened", true, true,
     true, cairn_export_pprof},
    {"perfetto", "a trace for https://ui.perfetto.dev: slices, states and samples of each thread",
     "which part of a sample each state took (the one that took most is shown), nor when each of "
     "the samples was that follow one another on one stack (they are one, with their sum)",
     true, true, true, cairn_export_perfetto},
    {"chrome", "its slices as JSON: for chrome://tracing as well", "states and stack samples",
     false, true, true, cairn_export_chrome},
    {"firefox", "JSON for https://profiler.firefox.com, with states as markers",
     "which part of a sample each state took: the one that took most is shown", false, true, true,
     cairn_export_firefox},
    {"cpuprofile", "V8's format: for VS Code, Chromium's tools", "states", false, true, true,
     cairn_export_cpuprofile},
    {"csv", "rows of the table, for spreadsheets", "stacks, when things happened, and states",
     false, false, false, cairn_export_csv},
    {"flamegraph", "a picture to search and to zoom: one SVG",
     "when things happened, states, threads and processes", false, false, true,
     cairn_export_flamegraph},
    {"pstats", "what cProfile writes: for pstats, snakeviz, gprof2dot",
     "stacks, lines, threads, processes or states: each function has its direct callers alone",
     true, false, false, cairn_export_pstats},
    {"callgrind", "for KCachegrind and callgrind_annotate",
     "stacks, threads, processes or states: lines and calls alone, and calls, where they were "
     "not counted, is how many samples met one",
     false, false, false, cairn_export_callgrind},
    {"dot", "a graph of calls in gprof2dot's look: for graphviz",
     "stacks, but each function with its direct callers alone, and not what is below --node-thres "
     "and --edge-thres",
     false, false, false, cairn_export_dot},
    {NULL, NULL, NULL, false, false, false, NULL},
};

enum cairn_export_lines cairn_export_lines_or(const struct cairn_export_options *options,
                                              enum cairn_export_lines usual)
{
    return options->lines == CAIRN_EXPORT_LINES_DEFAULT ? usual : options->lines;
}

/* Whether it shows when things were, which nobody knows of sums. */
static bool needs_moments(const struct cairn_exporter *exporter)
{
    return exporter->write == cairn_export_chrome || exporter->write == cairn_export_perfetto ||
           exporter->write == cairn_export_firefox || exporter->write == cairn_export_cpuprofile;
}

/* Whether a number goes out that comes of stacks. Rows of functions are the file's own where it
 * tells of calls. */
static bool gives_stacks(const struct cairn_exporter *exporter, const struct cairn_tally *tally,
                         const struct cairn_export_options *options)
{
    bool by_function = exporter->write != cairn_export_csv || options->by == CAIRN_BY_FUNCTION;

    return exporter->stacks || !by_function || !cairn_exact_table_has(tally);
}

static void put_inference(const struct cairn_exporter *exporter, const struct cairn_tally *tally,
                          const struct cairn_export_options *options)
{
    const char *inference = cairn_facts_inference(tally->model);

    if (!inference || !options->lost || !gives_stacks(exporter, tally, options))
        return;
    if (options->lost->size_bytes > 0)
        cairn_buf_add_str(options->lost, "; ");
    cairn_buf_printf(options->lost, "true stacks: %s", inference);
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
    if (cairn_filter_is_of_sums(&tally->filter) && needs_moments(exporter)) {
        code = cairn_err_set(err, -CAIRN_EUSAGE, 0, "export",
                             "%s shows when things were, and sums of %s do not tell",
                             exporter->name, tally->filter.task ? "tasks" : "calls");
        cairn_err_add(err, tally->filter.task ? "Leave out --task."
                                              : "Leave out --metric counted; what `cairn run "
                                                "--timeline` kept perfetto and chrome draw.");
        return code;
    }
    code = exporter->write(tally, options, out);
    put_inference(exporter, tally, options);
    /* What the outlet could not do, cairn_outlet_finish() tells better. */
    if (code < 0 && !out->sys)
        cairn_err_set(err, code, 0, "export", "cannot export as %s: %s", exporter->name,
                      cairn_err_sentence(code));
    return code;
}
