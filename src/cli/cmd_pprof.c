/* cmd_pprof.c: `cairn pprof [FLAGS] [BINARY] FILE …`: google/pprof's reports, with its words. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "escape.h"
#include "help.h"
#include "io.h"
#include "output.h"
#include "pprof_flags.h"
#include "pprof_text.h"
#include "progress_line.h"
#include "say.h"
#include "serving.h"
#include "show.h"

#define PATH_MAX_BYTES (1 << 16)
#define HELP_MAX_BYTES (1 << 18)
#define NODES_USUAL 80
#define NAMES_MAX 1000

extern char **environ;

struct format {
    const char *name;
    int (*write)(struct cairn_pprof_report *report);
    const char *picture; /* what graphviz makes of it, NULL: it is written as it is */
    bool all;            /* not trimmed */
    const char *ending;  /* of a file that is nothing for a terminal; NULL: it is text */
};

static const struct format formats[] = {
    {"top", cairn_pprof_top, NULL, false, NULL},
    {"text", cairn_pprof_top, NULL, false, NULL},
    {"tree", cairn_pprof_tree, NULL, false, NULL},
    {"peek", cairn_pprof_tree, NULL, true, NULL},
    {"list", cairn_pprof_list, NULL, true, NULL},
    {"weblist", cairn_pprof_weblist, NULL, true, "html"},
    {"traces", cairn_pprof_traces, NULL, false, NULL},
    {"tags", cairn_pprof_tags, NULL, false, NULL},
    {"comments", cairn_pprof_comments, NULL, false, NULL},
    {"raw", cairn_pprof_raw, NULL, true, NULL},
    {"proto", cairn_pprof_proto, NULL, true, "pb.gz"},
    {"topproto", cairn_pprof_topproto, NULL, false, "pb.gz"},
    {"callgrind", cairn_pprof_callgrind, NULL, true, "callgraph.out"},
    {"dot", cairn_pprof_dot, NULL, false, NULL},
    {"svg", cairn_pprof_dot, "svg", false, "svg"},
    {"png", cairn_pprof_dot, "png", false, "png"},
    {"gif", cairn_pprof_dot, "gif", false, "gif"},
    {"pdf", cairn_pprof_dot, "pdf", false, "pdf"},
    {"ps", cairn_pprof_dot, "ps", false, "ps"},
};

static const struct format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* Whether it names a program and no profile: what people write in front of the file. */
static bool is_binary(const char *path)
{
    char magic[4];
    int fd;
    ssize_t got;

    if (path[0] != '\0' && path[strspn(path, "0123456789abcdefABCDEF")] == '\0' &&
        access(path, F_OK) != 0)
        return true; /* a build id */
    fd = cairn_io_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return false;
    got = cairn_io_pread(fd, magic, sizeof(magic), 0);
    cairn_io_close(&fd);
    return (got == 4 && memcmp(magic, "\177ELF", 4) == 0) ||
           (got >= 2 && memcmp(magic, "#!", 2) == 0);
}

/* A file with its samples, of all threads. */
struct source {
    struct cairn_model *model;
    struct cairn_tally tally;
    bool tallied;
    struct cairn_pprof_kind kind;
};

static void release_source(struct source *source)
{
    if (source->tallied)
        cairn_tally_release(&source->tally);
    cairn_model_free(source->model);
}

static int refuse_index(const char *index, const struct cairn_pprof_kind *kinds, size_t count,
                        struct cairn_err *err)
{
    char names[CAIRN_PPROF_COLUMNS * 70] = "";

    for (size_t i = 0; i < count; i++) {
        strncat(names, i > 0 ? " " : "", sizeof(names) - strlen(names) - 1);
        strncat(names, kinds[i].type, sizeof(names) - strlen(names) - 1);
    }
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "pprof", "sample_index '%.100s' must be one of: %s", index,
                  names);
    cairn_err_add(err, "Their numbers from 0 on will do, too.");
    return -CAIRN_EUSAGE;
}

static int choose_kind(struct source *source, const char *index, struct cairn_err *err)
{
    struct cairn_pprof_kind kinds[CAIRN_PPROF_COLUMNS];
    size_t usual, count = cairn_pprof_kinds(source->model, kinds, &usual);
    char *end;
    unsigned long number;

    source->kind = kinds[usual];
    if (index == NULL || index[0] == '\0')
        return 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(kinds[i].type, index) == 0) {
            source->kind = kinds[i];
            return 0;
        }
    number = strtoul(index, &end, 10);
    if (!isdigit((unsigned char)index[0]) || *end != '\0' || number >= count)
        return refuse_index(index, kinds, count, err);
    source->kind = kinds[number];
    return 0;
}

/* `path` NULL: the newest recording here. */
static int load_source(const char *path, const struct cairn_pprof_flags *flags,
                       struct source *source, struct cairn_err *err)
{
    char *items[] = {(char *)(uintptr_t)path, NULL};
    const struct cairn_words words = {items, path != NULL};
    const struct cairn_reading reading = {.named = true, .binary = flags->binary};
    struct cairn_progress_line line;
    struct cairn_filter filter;
    struct cairn_buf found;
    int code;

    *source = (struct source){.model = NULL};
    cairn_buf_init(&found, PATH_MAX_BYTES);
    cairn_progress_line_begin(&line);
    code = cairn_show_load(&words, &reading, &line.progress, &source->model, &found, err);
    cairn_filter_init(&filter);
    if (code == 0)
        code = cairn_tally_make(source->model, &filter, &source->tally, err);
    source->tallied = code == 0;
    cairn_progress_line_end(&line);
    cairn_buf_release(&found);
    if (code == 0)
        code = choose_kind(source, flags->sample_index, err);
    if (code == 0 && !source->tally.counted &&
        (flags->mean || source->kind.column == CAIRN_PPROF_SAMPLES)) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "pprof", "there are no numbers of samples");
        cairn_err_add(err, "The file does not count them: leave out -mean or -sample_index.");
        code = -CAIRN_EUSAGE;
    }
    return code;
}

/* Which addresses are shown as numbers. */
static void tell_unnamed(const struct cairn_model *model)
{
    struct cairn_span unnamed = cairn_model_env(model, "import.unnamed");
    struct cairn_buf text;

    if (unnamed.size_bytes == 0)
        return;
    cairn_buf_init(&text, PATH_MAX_BYTES);
    cairn_escape_terminal(&text, unnamed);
    cairn_say("%s", cairn_buf_cstr(&text));
    cairn_buf_release(&text);
}

static int add_source(const char *path, const struct cairn_pprof_flags *flags,
                      enum cairn_pprof_role role, double scale, struct cairn_pprof *pprof,
                      struct cairn_err *err)
{
    struct source source;
    int code = load_source(path, flags, &source, err);

    if (code == 0 && pprof->kind.type[0] == '\0')
        code = cairn_pprof_init(pprof, &source.kind);
    if (code == 0 && strcmp(pprof->kind.type, source.kind.type) != 0)
        code = cairn_err_set(err, -CAIRN_EUSAGE, 0, "pprof",
                             "%.300s holds '%s', and another file '%s'", path, source.kind.type,
                             pprof->kind.type);
    if (code == 0)
        code = cairn_pprof_add(pprof, &source.tally, &source.kind, role, scale);
    if (code == 0)
        tell_unnamed(source.model);
    release_source(&source);
    return code;
}

static int add_sum(const char *path, const struct cairn_pprof_flags *flags, int64_t *sum,
                   struct cairn_err *err)
{
    struct source source;
    int code = load_source(path, flags, &source, err);

    if (code == 0)
        *sum += cairn_pprof_column_sum(&source.tally, &source.kind);
    release_source(&source);
    return code;
}

static int load_all(const struct cairn_words *files, const struct cairn_pprof_flags *flags,
                    struct cairn_pprof *pprof, struct cairn_err *err)
{
    const struct cairn_pprof_list_flag *base =
        flags->diff_base.count > 0 ? &flags->diff_base : &flags->base;
    size_t count = files->count > 0 ? files->count : 1;
    double scale = 1;

    if (flags->normalize) {
        int64_t own = 0, other = 0;

        for (size_t i = 0; i < count; i++)
            CAIRN_TRY(add_sum(files->count > 0 ? files->items[i] : NULL, flags, &own, err));
        for (size_t i = 0; i < base->count; i++)
            CAIRN_TRY(add_sum(base->items[i], flags, &other, err));
        scale = own == 0 ? 1 : (double)other / (double)own;
    }
    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(add_source(files->count > 0 ? files->items[i] : NULL, flags, CAIRN_PPROF_PLUS,
                             scale, pprof, err));
    for (size_t i = 0; i < base->count; i++)
        CAIRN_TRY(
            add_source(base->items[i], flags,
                       flags->diff_base.count > 0 ? CAIRN_PPROF_MINUS_BASE : CAIRN_PPROF_MINUS, 1,
                       pprof, err));
    return 0;
}

static void warn_idle(unsigned idle)
{
    static const char *const names[] = {"Focus",    "Ignore",   "Hide",     "Show",
                                        "ShowFrom", "TagFocus", "TagIgnore"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (idle & (1u << i))
            cairn_say("%s expression matched no samples", names[i]);
}

/* Which filters are told above a report. */
static void tell_filters(const struct cairn_pprof_flags *flags, struct cairn_pprof_look *look)
{
    const struct {
        const char *name, *value;
    } all[] = {
        {"focus", flags->focus},
        {"ignore", flags->ignore},
        {"hide", flags->hide},
        {"show", flags->show},
        {"show_from", flags->show_from},
        {"tagfocus", flags->tag_focus},
        {"tagignore", flags->tag_ignore},
        {"tagshow", flags->tag_show},
        {"taghide", flags->tag_hide},
    };
    size_t count = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].value != NULL && all[i].value[0] != '\0') {
            look->active[count] = all[i].name;
            look->values[count++] = all[i].value;
        }
}

/* Frames of Python have no addresses: by them, pprof tells lines apart. */
static enum cairn_pprof_granularity granularity(const char *word)
{
    if (word == NULL || strcmp(word, "functions") == 0)
        return CAIRN_PPROF_FUNCTIONS;
    if (strcmp(word, "filefunctions") == 0)
        return CAIRN_PPROF_FILEFUNCTIONS;
    return strcmp(word, "files") == 0 ? CAIRN_PPROF_FILES : CAIRN_PPROF_LINES;
}

static void choose_look(const struct cairn_pprof_flags *flags, const struct format *format,
                        struct cairn_pprof_look *look)
{
    bool listed = format->write == cairn_pprof_list || format->write == cairn_pprof_weblist;
    bool trimmed = flags->trim && !format->all;
    bool lines = listed || format->write == cairn_pprof_callgrind;
    bool top = format->write == cairn_pprof_top || format->write == cairn_pprof_topproto;
    long usual = top ? 0 : NODES_USUAL;
    long nodes = flags->node_count < 0 ? usual : flags->node_count;

    *look = (struct cairn_pprof_look){
        .graph = {.by = lines ? CAIRN_PPROF_LINES : granularity(flags->by),
                  .node_count = trimmed ? (size_t)nodes : 0,
                  .node_least = trimmed ? flags->node_least : 0,
                  .edge_least = trimmed ? flags->edge_least : 0,
                  .by_cum = flags->cum,
                  .drop_negative = flags->drop_negative,
                  .mean = flags->mean,
                  .drawn = format->write == cairn_pprof_dot,
                  .with_starts = lines,
                  .all_nodes = listed},
        .unit = flags->unit,
        .regex = flags->regex,
        .ratio = 1 / flags->divide_by,
        .integers = format->write == cairn_pprof_callgrind,
        .compact = flags->compact,
        .source_path = flags->source_path,
        .trim_path = flags->trim_path,
        .tag_show = flags->tag_show,
        .tag_hide = flags->tag_hide,
        .comment = flags->comment,
    };
    tell_filters(flags, look);
}

/* The text of a graph through graphviz. */
static int draw(const char *picture, struct cairn_span text, int out, struct cairn_err *err)
{
    char kind[8], *argv[] = {(char *)(uintptr_t) "dot", kind, NULL};
    posix_spawn_file_actions_t actions;
    int fd = memfd_create("dot", MFD_CLOEXEC), sys, status = 0;
    pid_t pid;

    snprintf(kind, sizeof(kind), "-T%s", picture);
    if (fd < 0 || cairn_io_write(fd, text.data, text.size_bytes) < 0 ||
        lseek(fd, 0, SEEK_SET) < 0) {
        cairn_io_close(&fd);
        return cairn_err_set(err, -CAIRN_EIO, 0, "pprof", "the graph has no room");
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    sys = posix_spawnp(&pid, "dot", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    cairn_io_close(&fd);
    if (sys != 0) {
        cairn_err_set(err, -CAIRN_ENOTFOUND, sys, "pprof", "dot cannot be started");
        cairn_err_add(err,
                      "It draws -%s: install graphviz (apt-get install graphviz), or take "
                      "-dot, -http or `cairn export -f flamegraph`.",
                      picture);
        return -CAIRN_ENOTFOUND;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0)
        return cairn_err_set(err, -CAIRN_EIO, 0, "pprof", "dot failed: its words are above");
    return 0;
}

/* A picture is nothing for a terminal: it goes to the first profileNNN.EXT that is free. */
static int name_file(const char *ending, char *name, size_t room, struct cairn_output *output,
                     struct cairn_err *err)
{
    int code = -CAIRN_EEXISTS;

    for (int i = 1; i < NAMES_MAX && code == -CAIRN_EEXISTS; i++) {
        *err = (struct cairn_err){0};
        snprintf(name, room, "profile%03d.%s", i, ending);
        code = cairn_output_open(name, false, output, err);
    }
    return code;
}

static int write_report(struct cairn_pprof_report *report, const struct format *format,
                        const char *name, struct cairn_err *err)
{
    struct cairn_output output = cairn_output_borrow(STDOUT_FILENO, "stdout");
    struct cairn_outlet text;
    char own[32];
    int code = 0, closed;

    if (name != NULL && name[0] != '\0')
        code = cairn_output_open(name, true, &output, err); /* as pprof does */
    else if (format->ending && isatty(STDOUT_FILENO))
        code = name_file(format->ending, own, sizeof(own), &output, err);
    if (code < 0)
        return code;
    if (output.fd != STDOUT_FILENO)
        cairn_say("Generating report in %s", output.name);
    cairn_outlet_init(&text, format->picture ? -1 : output.fd, output.name);
    report->out = &text;
    code = format->write(report);
    code = cairn_outlet_finish(&text, code, err);
    if (format->picture) {
        if (code == 0)
            code = draw(format->picture, cairn_buf_span(&text.buf), output.fd, err);
        cairn_outlet_release(&text);
    }
    closed = cairn_output_close(&output, code == 0, err);
    return code < 0 ? code : closed;
}

/* Which pprof itself would write over. */
static int check_output(const struct cairn_words *files, const struct cairn_pprof_flags *flags,
                        struct cairn_err *err)
{
    if (flags->output == NULL || flags->output[0] == '\0')
        return 0;
    CAIRN_TRY(cairn_show_check_output(files, flags->output, err));
    for (size_t i = 0; i < flags->diff_base.count; i++)
        CAIRN_TRY(cairn_output_check(flags->output, flags->diff_base.items[i], err));
    for (size_t i = 0; i < flags->base.count; i++)
        CAIRN_TRY(cairn_output_check(flags->output, flags->base.items[i], err));
    return 0;
}

static int report_on(const struct cairn_words *files, const struct cairn_pprof_flags *flags,
                     const struct format *format, struct cairn_err *err)
{
    const struct cairn_pprof_filters filters = {
        .focus = flags->focus,
        .ignore = flags->ignore,
        .hide = flags->hide,
        .show = flags->show,
        .show_from = flags->show_from,
        .prune_from = flags->prune_from,
        .tag_focus = flags->tag_focus,
        .tag_ignore = flags->tag_ignore,
    };
    struct cairn_pprof pprof = {.kind = {.type = ""}};
    struct cairn_pprof_look look;
    struct cairn_pprof_report report = {.pprof = &pprof, .look = &look, .err = err};
    unsigned idle = 0;
    int code = check_output(files, flags, err);

    if (code == 0)
        code = load_all(files, flags, &pprof, err);
    choose_look(flags, format, &look);
    if (code == 0 && !flags->relative) /* shares are of all, also of what is filtered out */
        cairn_pprof_sum(&pprof, flags->mean);
    if (code == 0)
        code = cairn_pprof_filter(&pprof, &filters, &idle, err);
    if (code == 0 && flags->relative)
        cairn_pprof_sum(&pprof, flags->mean);
    warn_idle(idle);
    if (code == 0)
        code = write_report(&report, format, flags->output, err);
    if (code == 0 && pprof.inference && !report.commented)
        cairn_say("%s", pprof.inference);
    if (pprof.kind.type[0] != '\0')
        cairn_pprof_release(&pprof);
    return code;
}

static void tell(const struct cairn_serving *serving, const struct cairn_server *server,
                 struct cairn_buf *out)
{
    (void)serving;
    cairn_buf_add_str(out, "Serving web UI on ");
    cairn_server_link(server, NULL, false, out);
    cairn_buf_u8(out, '\n');
}

/* HOST:PORT, of which either may be missing: localhost, and a port that is free. */
static int read_address(const char *text, char *host, size_t room, uint16_t *ret_port,
                        struct cairn_err *err)
{
    const char *colon = strrchr(text, ':');
    size_t size_bytes = colon ? (size_t)(colon - text) : strlen(text);
    unsigned long port = 0;
    char *end;

    if (size_bytes > 1 && text[0] == '[' && text[size_bytes - 1] == ']') {
        text++;
        size_bytes -= 2;
    }
    snprintf(host, room, "%.*s", (int)(size_bytes & 0xff), text);
    if (host[0] == '\0')
        snprintf(host, room, "localhost");
    if (colon != NULL && colon[1] != '\0') {
        port = strtoul(colon + 1, &end, 10);
        if (!isdigit((unsigned char)colon[1]) || *end != '\0' || port > UINT16_MAX)
            colon = NULL;
    }
    if (colon == NULL) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "pprof", "-http: '%.100s' is not HOST:PORT", text);
        cairn_err_add(err, "Either may be left out: -http=:8080 or -http=localhost:");
        return -CAIRN_EUSAGE;
    }
    *ret_port = (uint16_t)port;
    return 0;
}

static int serve(struct cairn_call *call, const struct cairn_words *files,
                 const struct cairn_pprof_flags *flags)
{
    struct cairn_serving serving = {.fd = STDERR_FILENO, .tell = tell};
    struct cairn_err err = {0};
    char host[256];

    if (flags->base.count + flags->diff_base.count > 0) {
        cairn_err_set(&err, -CAIRN_EUSAGE, 0, "pprof", "the page shows no difference");
        cairn_err_add(&err, "`cairn diff BEFORE AFTER` tells it, or -top -diff_base BEFORE AFTER.");
        return cairn_say_err(&err);
    }
    if (read_address(flags->http, host, sizeof(host), &serving.port, &err) < 0)
        return cairn_say_err(&err);
    serving.address = host;
    call->settings.no_open = flags->no_browser;
    call->settings.reading.named = true;
    call->settings.reading.binary = flags->binary;
    call->words = *files;
    return cairn_serve(&serving, call);
}

static int show_help(const struct cairn_call *call)
{
    struct cairn_buf out;
    int status;

    cairn_buf_init(&out, HELP_MAX_BYTES);
    cairn_help_command(call->command, true, &out);
    status = cairn_say_out(&out);
    cairn_buf_release(&out);
    return status;
}

int cairn_cmd_pprof(struct cairn_call *call)
{
    struct cairn_pprof_flags flags;
    struct cairn_words files;
    struct cairn_err err = {0};
    int code;

    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is the outlet's to see */
    if (cairn_pprof_flags_read(&call->words, &flags, &files, &err) < 0)
        return cairn_say_err(&err);
    if (flags.help)
        return show_help(call);
    if (files.count > 1 && is_binary(files.items[0])) {
        flags.binary = files.items[0];
        files.items++;
        files.count--;
    }
    if (flags.http != NULL)
        return serve(call, &files, &flags);
    if (flags.format == NULL) {
        cairn_err_set(&err, -CAIRN_EUSAGE, 0, "pprof", "Cairn has no shell for pprof's commands");
        cairn_err_add(&err, "Say what is wanted: -top, -tree, -peek=REGEX, -list=REGEX, -traces, "
                            "-dot, -svg, -png, or -http=:8080 for a page.");
        return cairn_say_err(&err);
    }
    if (flags.call_tree && (find_format(flags.format)->write == cairn_pprof_dot ||
                            find_format(flags.format)->write == cairn_pprof_callgrind)) {
        cairn_err_set(&err, -CAIRN_EUSAGE, 0, "pprof", "`cairn pprof` draws no tree of calls");
        cairn_err_add(
            &err, "-call_tree is for -dot, -callgrind and pictures: `cairn export -f flamegraph` "
                  "draws each path by itself.");
        return cairn_say_err(&err);
    }
    code = report_on(&files, &flags, find_format(flags.format), &err);
    if (code < 0 && err.code == 0)
        cairn_err_set(&err, code, 0, "pprof", "%s", cairn_err_sentence(code));
    return code < 0 ? cairn_say_err(&err) : 0;
}
