/* cmd_gprof2dot.c: `cairn gprof2dot [OPTIONS] [FILE …]`: a profile in, a graph of calls out, with
 * gprof2dot's words. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command.h"
#include "dot.h"
#include "io.h"
#include "jsonin.h"
#include "output.h"
#include "prof_rows.h"
#include "pstats_file.h"
#include "say.h"
#include "show.h"

#define PATH_MAX_BYTES (1 << 16)
#define COPY_BYTES (1 << 16)

/* stdin as a file that can be read more than once, which importers want. */
static int copy_stdin(int *ret_fd, struct cairn_err *err)
{
    int fd = memfd_create("stdin", MFD_CLOEXEC);
    char buf[COPY_BYTES];
    ssize_t got = 0;

    while (fd >= 0 && (got = cairn_io_read(STDIN_FILENO, buf, sizeof(buf))) > 0)
        if (cairn_io_write(fd, buf, (size_t)got) < 0)
            break;
    if (fd < 0 || got != 0)
        return cairn_err_set(err, -CAIRN_EIO, 0, "gprof2dot", "stdin cannot be read");
    *ret_fd = fd;
    return 0;
}

/* A file of another tool, by way of a recording in memory. */
/* Whether it is of the format that -f names, if one is named; a recording has none. */
static int check_format(const char *path, const struct cairn_settings *settings,
                        struct cairn_span format, struct cairn_err *err)
{
    static const char *const names[] = {
        [CAIRN_PROF_FORMAT_AXE] = "axe",
        [CAIRN_PROF_FORMAT_CALLGRIND] = "callgrind",
        [CAIRN_PROF_FORMAT_COLLAPSE] = "collapsed",
        [CAIRN_PROF_FORMAT_DTRACE] = "dtrace",
        [CAIRN_PROF_FORMAT_HPROF] = "hprof",
        [CAIRN_PROF_FORMAT_JSON] = "gprof2dot",
        [CAIRN_PROF_FORMAT_OPROFILE] = "oprofile",
        [CAIRN_PROF_FORMAT_PERF] = "perf",
        [CAIRN_PROF_FORMAT_PROF] = "gprof",
        [CAIRN_PROF_FORMAT_SLEEPY] = "sleepy",
        [CAIRN_PROF_FORMAT_SYSPROF] = "sysprof",
        [CAIRN_PROF_FORMAT_XPERF] = "xperf",
    };

    if (settings->prof_format == CAIRN_CHOICE_NONE || format.size_bytes == 0 ||
        cairn_span_is(format, names[settings->prof_format]))
        return 0;
    cairn_err_set(err, -CAIRN_EFOREIGN, 0, "gprof2dot", "%.300s is no %s file", path,
                  names[settings->prof_format]);
    cairn_err_add(err, "It is a %.*s file: without -f it is read as what it is.",
                  (int)format.size_bytes, (const char *)format.data);
    return -CAIRN_EFOREIGN;
}

static int load_guest(char *path, const struct cairn_settings *settings, struct cairn_prof *prof,
                      struct cairn_err *err)
{
    const struct cairn_words words = {&path, 1};
    struct cairn_filter filter;
    struct cairn_model *model;
    struct cairn_tally tally;
    struct cairn_buf unused;
    int code;

    cairn_buf_init(&unused, PATH_MAX_BYTES);
    code = cairn_show_load(&words, &settings->reading, NULL, &model, &unused, err);
    cairn_buf_release(&unused);
    if (code < 0)
        return code;
    code = check_format(path, settings, cairn_model_env(model, "import.format"), err);
    if (code == 0)
        code = cairn_show_filter(settings, &filter, err);
    filter.threads_joined = true;
    if (code == 0)
        code = cairn_tally_make(model, &filter, &tally, err);
    if (code == 0) {
        code = cairn_prof_rows(&tally, prof);
        cairn_tally_release(&tally);
    }
    cairn_model_free(model);
    return code;
}

static int load_one(char *path, const struct cairn_settings *settings, struct cairn_prof *prof,
                    struct cairn_err *err)
{
    bool recording;
    int code = -CAIRN_EFOREIGN;

    if (settings->prof_format == CAIRN_PROF_FORMAT_PSTATS ||
        settings->prof_format == CAIRN_CHOICE_NONE)
        code = cairn_pstats_prof(path, settings, prof, &recording, err);
    if (code != -CAIRN_EFOREIGN || settings->prof_format == CAIRN_PROF_FORMAT_PSTATS)
        return code;
    *err = (struct cairn_err){0};
    return load_guest(path, settings, prof, err);
}

/* The first so many files, added up; 0: stdin. */
static int load(const struct cairn_call *call, size_t count, struct cairn_prof *prof,
                struct cairn_err *err)
{
    char name[32];
    int fd, code;

    if (count == 0) {
        CAIRN_TRY(copy_stdin(&fd, err));
        (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        code = load_one(name, &call->settings, prof, err);
        cairn_io_close(&fd);
        return code;
    }
    CAIRN_TRY(load_one(call->words.items[0], &call->settings, prof, err));
    for (size_t i = 1; i < count; i++) {
        struct cairn_prof more;

        code = cairn_prof_init(&more);
        if (code == 0)
            code = load_one(call->words.items[i], &call->settings, &more, err);
        if (code == 0)
            code = cairn_prof_merge(prof, &more);
        cairn_prof_release(&more);
        CAIRN_TRY(code);
    }
    return 0;
}

static int read_number(const char *text, const char *option, double *ret_value,
                       struct cairn_err *err)
{
    char *end;

    *ret_value = strtod(text, &end);
    if (end != text && *end == '\0' && *ret_value >= 0 && isfinite(*ret_value))
        return 0;
    return cairn_err_set(err, -CAIRN_EUSAGE, 0, "gprof2dot", "%s: '%.100s' is no number above 0",
                         option, text);
}

static int read_labels(const struct cairn_places *words, struct cairn_dot_options *options,
                       struct cairn_err *err)
{
    static const char *const names[CAIRN_DOT_MEASURES] = {
        [CAIRN_DOT_TOTAL_SHARE] = "total-time-percentage",
        [CAIRN_DOT_SELF_SHARE] = "self-time-percentage",
        [CAIRN_DOT_TOTAL_TIME] = "total-time",
        [CAIRN_DOT_SELF_TIME] = "self-time",
    };

    for (size_t i = 0; i < words->count && i < CAIRN_DOT_LABELS_MAX; i++) {
        size_t measure = 0;

        while (measure < CAIRN_DOT_MEASURES && strcmp(names[measure], words->items[i]) != 0)
            measure++;
        if (measure == CAIRN_DOT_MEASURES) {
            cairn_err_set(err, -CAIRN_EUSAGE, 0, "gprof2dot",
                          "--node-label: there is no MEASURE '%.100s'", words->items[i]);
            cairn_err_add(err, "It is one of: self-time self-time-percentage total-time "
                               "total-time-percentage");
            return -CAIRN_EUSAGE;
        }
        options->labels[options->label_count++] = (enum cairn_dot_measure)measure;
    }
    return 0;
}

static int choose(const struct cairn_settings *settings, struct cairn_dot_options *options,
                  struct cairn_err *err)
{
    *options = (struct cairn_dot_options){
        .node_least = (double)settings->node_least_ppm / 1e6,
        .edge_least = (double)settings->edge_least_ppm / 1e6,
        .theme = cairn_dot_theme(cairn_option_colormap(settings->colormap)),
        .by_self = settings->by_self,
        .strip = settings->strip,
        .wrap = settings->wrap,
        .root = settings->root,
        .leaf = settings->leaf,
        .depth = settings->graph_depth == CAIRN_CHOICE_NONE ? -1 : (long)settings->graph_depth,
        .paths = settings->paths.items,
        .path_count = settings->paths.count,
        .time_format = settings->time_format,
        .list = settings->list_functions,
    };
    if (options->time_format && !cairn_dot_is_time_format(options->time_format)) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "gprof2dot",
                      "--time-format: '%.100s' writes no number", options->time_format);
        cairn_err_add(err, "It has one place for one, such as %%.3f.");
        return -CAIRN_EUSAGE;
    }
    if (options->list != NULL && strcmp(options->list, "+") == 0)
        options->list = "*";
    if (settings->skew != NULL)
        CAIRN_TRY(read_number(settings->skew, "--skew", &options->skew, err));
    return read_labels(&settings->node_labels, options, err);
}

#define TOLERANCE 0.001 /* points of a percentage */

static int read_compare(const struct cairn_call *call, struct cairn_dot_compare *compare,
                        struct cairn_err *err)
{
    const struct cairn_settings *settings = &call->settings;

    *compare = (struct cairn_dot_compare){
        .tolerance = TOLERANCE,
        .only_slower = settings->dot_slower,
        .only_faster = settings->dot_faster,
        .by_difference = settings->dot_by_difference,
    };
    if (!settings->dot_compare)
        return 0;
    if (call->words.count != 2)
        return cairn_err_set(err, -CAIRN_EUSAGE, 0, "gprof2dot",
                             "--compare is of two files, and %zu are named", call->words.count);
    if (settings->list_functions)
        return cairn_err_set(err, -CAIRN_EUSAGE, 0, "gprof2dot",
                             "--list-functions is of one graph, and --compare makes none");
    if (settings->dot_tolerance)
        CAIRN_TRY(
            read_number(settings->dot_tolerance, "--compare-tolerance", &compare->tolerance, err));
    return compare->tolerance > 0
               ? 0
               : cairn_err_set(err, -CAIRN_EUSAGE, 0, "gprof2dot",
                               "--compare-tolerance: '%.100s' is no number above 0",
                               settings->dot_tolerance);
}

static int write_compared(const struct cairn_call *call, const struct cairn_prof *before,
                          const struct cairn_dot_options *options,
                          const struct cairn_dot_compare *compare, struct cairn_outlet *out,
                          struct cairn_err *err)
{
    struct cairn_prof after;
    int code = cairn_prof_init(&after);

    if (code == 0)
        code = load_one(call->words.items[1], &call->settings, &after, err);
    if (code == 0)
        code = cairn_dot_compare(before, &after, options, compare, out, err);
    cairn_prof_release(&after);
    return code;
}

static void say_lost(const struct cairn_prof *prof)
{
    struct cairn_buf lost;

    cairn_buf_init(&lost, PATH_MAX_BYTES);
    cairn_prof_put_unsure(prof, &lost);
    if (lost.size_bytes > 0 && lost.code == 0)
        cairn_say("the graph does not hold %s", cairn_buf_cstr(&lost));
    cairn_buf_release(&lost);
}

int cairn_cmd_gprof2dot(struct cairn_call *call)
{
    struct cairn_output output = cairn_output_borrow(STDOUT_FILENO, "stdout");
    const char *name = call->settings.output;
    struct cairn_dot_options options;
    struct cairn_dot_compare compare;
    struct cairn_outlet outlet;
    struct cairn_err err = {0};
    struct cairn_prof prof;
    int code, closed;

    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is the outlet's to see */
    code = cairn_prof_init(&prof);
    if (code == 0 && name != NULL)
        code = cairn_show_check_output(&call->words, name, &err);
    if (code == 0)
        code = choose(&call->settings, &options, &err);
    if (code == 0)
        code = read_compare(call, &compare, &err);
    if (code == 0)
        code = load(call, call->settings.dot_compare ? 1 : call->words.count, &prof, &err);
    if (code == 0 && name != NULL && strcmp(name, "-") != 0)
        code = cairn_output_open(name, true, &output, &err); /* as gprof2dot does */
    if (code == 0) {
        cairn_outlet_init(&outlet, output.fd, output.name);
        if (call->settings.dot_compare)
            code = write_compared(call, &prof, &options, &compare, &outlet, &err);
        else
            code = cairn_dot_write(&prof, &options, &outlet, &err);
        code = cairn_outlet_finish(&outlet, code, &err);
        closed = cairn_output_close(&output, code == 0, &err);
        code = code < 0 ? code : closed;
    }
    if (code == 0)
        say_lost(&prof);
    if (code < 0 && err.code == 0)
        cairn_err_set(&err, code, 0, "gprof2dot", "%s", cairn_err_sentence(code));
    cairn_prof_release(&prof);
    return code < 0 ? cairn_say_err(&err) : 0;
}
