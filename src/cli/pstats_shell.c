#include "pstats_shell.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "escape.h"
#include "io.h"
#include "pstats_file.h"
#include "pstats_text.h"
#include "pstats_words.h"
#include "say.h"

#define LINE_MAX_BYTES ((size_t)1 << 20)
#define WORDS_MAX ((size_t)1 << 16)
#define READ_BYTES 4096
#define STOP 1 /* what a command answers to end the browser; 0: go on */

struct shell {
    struct cairn_pstats stats;
    bool loaded;
    struct cairn_outlet out;
    struct cairn_buf file; /* what the prompt names */
    struct cairn_buf last; /* the line that an empty one repeats */
    struct cairn_buf input;
    size_t input_start;
    bool input_ended;
    const struct cairn_settings *settings;
    struct cairn_err *err;
};

typedef int command_fn(struct shell *shell, struct cairn_span words);

/* A line to stdout. Texts of files and people do not steer the terminal. */
static int print_span(struct shell *shell, const char *before, struct cairn_span text)
{
    cairn_buf_add_str(&shell->out.buf, before);
    cairn_escape_terminal(&shell->out.buf, text);
    return cairn_buf_u8(&shell->out.buf, '\n');
}

static int print(struct shell *shell, const char *line)
{
    return print_span(shell, line, (struct cairn_span){NULL, 0});
}

static int print_error(struct shell *shell, const struct cairn_err *err)
{
    return print_span(shell, "", cairn_span_of(err->text));
}

static int no_statistics(struct shell *shell)
{
    return print(shell, "No statistics object is loaded.");
}

static int load(struct shell *shell, const char *path, struct cairn_pstats *ret_stats,
                struct cairn_err *err)
{
    bool recording = false;

    CAIRN_TRY(cairn_pstats_file(path, shell->settings, ret_stats, &recording, err));
    if (recording && ret_stats->prof.sampled)
        cairn_say("%s was sampled: nsamples is how many samples met a function", path);
    return 0;
}

/* What stands for a file that holds no function: Python has no statistics then, either. */
static int print_empty(struct shell *shell, const struct cairn_pstats *stats)
{
    struct cairn_span head = cairn_buf_span(&stats->head);

    cairn_buf_add_str(&shell->out.buf, "TypeError: Cannot create or construct a <class "
                                       "'__main__.Stats'> object from '");
    head.size_bytes -= head.size_bytes > 0; /* its end of line */
    cairn_escape_terminal(&shell->out.buf, head);
    return cairn_buf_add_str(&shell->out.buf, "'\n");
}

/* Reads a file instead of what is there. What the system says stands in `err` as well. */
static int read_file(struct shell *shell, const char *path, struct cairn_err *err)
{
    struct cairn_pstats stats;

    CAIRN_TRY(load(shell, path, &stats, err));
    if (stats.prof.rows.count == 0) {
        int code = print_empty(shell, &stats);

        cairn_pstats_release(&stats);
        return code;
    }
    if (shell->loaded)
        cairn_pstats_release(&shell->stats);
    shell->stats = stats;
    shell->loaded = true;
    cairn_buf_clear(&shell->file);
    return cairn_buf_add_str(&shell->file, path);
}

static int add_file(struct shell *shell, const char *path, struct cairn_err *err)
{
    struct cairn_pstats more;
    int code;

    CAIRN_TRY(load(shell, path, &more, err));
    code = cairn_pstats_add(&shell->stats, &more);
    cairn_pstats_release(&more);
    if (code < 0)
        cairn_err_set(err, code, 0, "pstats", "%.300s cannot be added: %s", path,
                      code == -CAIRN_EUSAGE ? "its callers have times and these have not, or "
                                              "these have and its have not"
                                            : cairn_err_sentence(code));
    return code;
}

/* The words of a line as a path with a NUL behind it, in `ret_path`, which the caller releases. */
static const char *path_of(struct cairn_span words, struct cairn_buf *ret_path)
{
    cairn_buf_init(ret_path, LINE_MAX_BYTES);
    cairn_buf_add(ret_path, words.data, words.size_bytes);
    return cairn_buf_cstr(ret_path);
}

static int print_system_error(struct shell *shell, const struct cairn_err *err)
{
    return print(shell, strerror(err->sys));
}

static int do_read(struct shell *shell, struct cairn_span words)
{
    struct cairn_err err = {0};
    struct cairn_buf path;
    const char *name;
    int code;

    if (words.size_bytes == 0)
        words = cairn_buf_span(&shell->file);
    if (words.size_bytes == 0)
        return print(shell, "No statistics object is current -- cannot reload.");
    name = path_of(words, &path);
    code = path.code ? path.code : read_file(shell, name, &err);
    cairn_buf_release(&path);
    if (code == 0 || code == -CAIRN_ENOMEM)
        return code;
    return err.sys ? print_system_error(shell, &err) : print_error(shell, &err);
}

static int print_add_failure(struct shell *shell, const char *path, const struct cairn_err *err)
{
    cairn_buf_add_str(&shell->out.buf, "Failed to load statistics for ");
    cairn_escape_terminal(&shell->out.buf, cairn_span_of(path));
    cairn_buf_printf(&shell->out.buf, ": [Errno %d] %s: '", err->sys, strerror(err->sys));
    cairn_escape_terminal(&shell->out.buf, cairn_span_of(path));
    return cairn_buf_add_str(&shell->out.buf, "'\n");
}

static int do_add(struct shell *shell, struct cairn_span words)
{
    struct cairn_err err = {0};
    struct cairn_buf path;
    const char *name;
    int code;

    if (!shell->loaded)
        return no_statistics(shell);
    name = path_of(words, &path);
    code = path.code ? path.code : add_file(shell, name, &err);
    if (code < 0 && code != -CAIRN_ENOMEM)
        code = err.sys ? print_add_failure(shell, name, &err) : print_error(shell, &err);
    cairn_buf_release(&path);
    return code;
}

CAIRN_VEC_DECLARE(limits, struct cairn_pstats_limit);

static int take_limits(struct shell *shell, struct cairn_span words, struct limits *limits)
{
    struct cairn_span word;

    while (cairn_pstats_word(&words, &word)) {
        CAIRN_TRY(cairn_vec_reserve(limits, limits->count + 1, WORDS_MAX));
        if (cairn_pstats_limit(word, &limits->items[limits->count]))
            limits->count++;
        else
            CAIRN_TRY(print(shell, "Fraction argument must be in [0, 1]"));
    }
    return 0;
}

static int print_table(struct shell *shell, enum cairn_pstats_table table, struct cairn_span words)
{
    struct limits limits = {0};
    int code = take_limits(shell, words, &limits);

    if (code == 0 && !shell->loaded)
        code = no_statistics(shell);
    else if (code == 0)
        code = cairn_pstats_print(&shell->stats, table, limits.items, limits.count, &shell->out);
    if (code == -CAIRN_ELIMIT)
        code = print(shell, "The expression takes too long to search for.");
    cairn_vec_release(&limits);
    return code;
}

static int do_stats(struct shell *shell, struct cairn_span words)
{
    return print_table(shell, CAIRN_PSTATS_STATS, words);
}

static int do_callers(struct shell *shell, struct cairn_span words)
{
    return print_table(shell, CAIRN_PSTATS_CALLERS, words);
}

static int do_callees(struct shell *shell, struct cairn_span words)
{
    return print_table(shell, CAIRN_PSTATS_CALLEES, words);
}

static int print_sort_keys(struct shell *shell)
{
    const char *key, *text;

    print(shell, "Valid sort keys (unique prefixes are accepted):");
    for (size_t i = 0; (key = cairn_pstats_sort_key(i, &text)) != NULL; i++)
        cairn_buf_printf(&shell->out.buf, "%s -- %s\n", key, text);
    return shell->out.buf.code;
}

static int do_sort(struct shell *shell, struct cairn_span words)
{
    CAIRN_VEC(struct cairn_span) keys = {0};
    struct cairn_span word;
    int code = 0;

    if (!shell->loaded)
        return no_statistics(shell);
    while (code == 0 && cairn_pstats_word(&words, &word)) {
        code = cairn_vec_reserve(&keys, keys.count + 1, WORDS_MAX);
        if (code == 0)
            keys.items[keys.count++] = word;
    }
    if (code == 0)
        code =
            keys.count ? cairn_pstats_sort(&shell->stats, keys.items, keys.count) : -CAIRN_EUSAGE;
    cairn_vec_release(&keys);
    return code == -CAIRN_EUSAGE ? print_sort_keys(shell) : code;
}

static int do_strip(struct shell *shell, struct cairn_span words)
{
    (void)words;
    return shell->loaded ? cairn_pstats_strip(&shell->stats) : no_statistics(shell);
}

static int do_reverse(struct shell *shell, struct cairn_span words)
{
    (void)words;
    if (!shell->loaded)
        return no_statistics(shell);
    cairn_pstats_reverse(&shell->stats);
    return 0;
}

static int do_quit(struct shell *shell, struct cairn_span words)
{
    (void)shell;
    (void)words;
    return STOP;
}

static int do_eof(struct shell *shell, struct cairn_span words)
{
    (void)words;
    CAIRN_TRY(print(shell, ""));
    return STOP;
}

static int do_help(struct shell *shell, struct cairn_span words);

#define LIMITS_HELP                                                                                \
    "Arguments may be:\n"                                                                          \
    "* An integer maximum number of entries to print.\n"                                           \
    "* A decimal fractional number between 0 and 1, controlling\n"                                 \
    "  what fraction of selected entries to print.\n"                                              \
    "* A regular expression; only entries with function names\n"                                   \
    "  that match it are printed."

static const struct {
    const char *name;
    command_fn *run;
    const char *help;
} commands[] = {
    {"EOF", do_eof, "Leave the profile browser."},
    {"add", do_add, "Add profile info from given file to current statistics object."},
    {"callees", do_callees, "Print callees statistics from the current stat object.\n" LIMITS_HELP},
    {"callers", do_callers, "Print callers statistics from the current stat object.\n" LIMITS_HELP},
    {"help", do_help, "Show help for a given command."},
    {"quit", do_quit, "Leave the profile browser."},
    {"read", do_read,
     "Read in profile data from a specified file.\nWithout argument, reload the current file."},
    {"reverse", do_reverse, "Reverse the sort order of the profiling report."},
    {"sort", do_sort,
     "Sort profile data according to specified keys.\n"
     "(Typing `sort' without arguments lists valid keys.)"},
    {"stats", do_stats, "Print statistics from the current stat object.\n" LIMITS_HELP},
    {"strip", do_strip, "Strip leading path information from filenames in the report."},
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

/* Its index, COMMAND_COUNT when there is none of that name. */
static size_t find_command(struct cairn_span name)
{
    size_t i = 0;

    while (i < COMMAND_COUNT && (strlen(commands[i].name) != name.size_bytes ||
                                 memcmp(commands[i].name, name.data, name.size_bytes) != 0))
        i++;
    return i;
}

/* The columns are those that Python's cmd finds for these names on 80. */
static int do_help(struct shell *shell, struct cairn_span words)
{
    size_t found = find_command(words);

    if (found < COMMAND_COUNT)
        return print(shell, commands[found].help);
    if (words.size_bytes > 0)
        return print_span(shell, "*** No help on ", words);
    print(shell, "\nDocumented commands (type help <topic>):");
    print(shell, "========================================");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        cairn_buf_printf(&shell->out.buf, "%s%s", i > 0 ? "  " : "", commands[i].name);
    return print(shell, "\n");
}

static bool is_name(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || byte == '_';
}

/* A line without spaces around it and with "help " in place of a question mark. */
static int run_words(struct shell *shell, struct cairn_span line)
{
    struct cairn_span name = {line.data, 0}, rest;
    size_t found;

    while (name.size_bytes < line.size_bytes && is_name(line.data[name.size_bytes]))
        name.size_bytes++;
    rest = (struct cairn_span){line.data + name.size_bytes, line.size_bytes - name.size_bytes};
    found = find_command(name);
    if (found == COMMAND_COUNT)
        return print_span(shell, "*** Unknown syntax: ", line);
    return commands[found].run(shell, cairn_pstats_strip_spaces(rest));
}

/* As Python's cmd: an empty line is the last one again, and "!" would be a shell's. */
static int run_line(struct shell *shell, struct cairn_span line)
{
    struct cairn_buf words;
    int code;

    line = cairn_pstats_strip_spaces(line);
    if (line.size_bytes > 0 && line.data[0] == '!')
        return print_span(shell, "*** Unknown syntax: ", line);
    cairn_buf_init(&words, LINE_MAX_BYTES + 8);
    if (line.size_bytes == 0)
        line = cairn_buf_span(&shell->last);
    if (line.size_bytes == 0)
        return 0;
    if (line.data[0] == '?') {
        cairn_buf_add_str(&words, "help ");
        cairn_buf_add(&words, line.data + 1, line.size_bytes - 1);
    } else {
        cairn_buf_add(&words, line.data, line.size_bytes);
    }
    code = words.code;
    line = cairn_buf_span(&words);
    cairn_buf_clear(&shell->last);
    if (code == 0 && (line.size_bytes != 3 || memcmp(line.data, "EOF", 3) != 0))
        code = cairn_buf_add(&shell->last, line.data, line.size_bytes);
    if (code == 0)
        code = run_words(shell, line);
    cairn_buf_release(&words);
    return code;
}

static int flush(struct shell *shell)
{
    int code = cairn_outlet_finish(&shell->out, 0, shell->err);
    bool gone = shell->out.sys != 0;

    cairn_outlet_init(&shell->out, STDOUT_FILENO, "stdout");
    return gone && code == 0 ? STOP : code; /* nobody reads it any more */
}

/* The next line, without its end, borrowed until the next call; "EOF" at the end of stdin. */
static int next_line(struct shell *shell, struct cairn_span *ret_line)
{
    struct cairn_buf *input = &shell->input;
    size_t searched = shell->input_start;
    ssize_t size_bytes;

    for (;;) {
        uint8_t *end = input->size_bytes > searched
                           ? memchr(input->data + searched, '\n', input->size_bytes - searched)
                           : NULL;

        if (end != NULL || (shell->input_ended && input->size_bytes > shell->input_start)) {
            uint8_t *start = input->data + shell->input_start;

            end = end ? end : input->data + input->size_bytes;
            *ret_line = (struct cairn_span){start, (size_t)(end - start)};
            shell->input_start += ret_line->size_bytes + (end < input->data + input->size_bytes);
            return 0;
        }
        if (shell->input_ended) {
            *ret_line = cairn_span_of("EOF");
            return 0;
        }
        if (shell->input_start > 0)
            memmove(input->data, input->data + shell->input_start,
                    input->size_bytes - shell->input_start);
        input->size_bytes -= shell->input_start;
        shell->input_start = 0;
        searched = input->size_bytes;
        CAIRN_TRY(cairn_buf_reserve(input, READ_BYTES));
        /* One read: a terminal gives a line, and cairn_io_read() would wait for more. */
        do
            size_bytes = read(STDIN_FILENO, input->data + input->size_bytes, READ_BYTES);
        while (size_bytes < 0 && errno == EINTR);
        shell->input_ended = size_bytes <= 0;
        input->size_bytes += size_bytes > 0 ? (size_t)size_bytes : 0;
    }
}

static int loop(struct shell *shell)
{
    int code = 0;

    while (code == 0) {
        struct cairn_span line;

        cairn_escape_terminal(&shell->out.buf, cairn_buf_span(&shell->file));
        cairn_buf_add_str(&shell->out.buf, "% ");
        code = flush(shell);
        if (code == 0)
            code = next_line(shell, &line);
        if (code == 0)
            code = run_line(shell, line);
    }
    return code;
}

/* Files of the command line: one that cannot be opened is told as the browser tells it, which then
 * begins all the same; one that is no profile ends the command. */
static int open_files(struct shell *shell, const struct cairn_words *files)
{
    for (size_t i = 0; i < files->count; i++) {
        struct cairn_err *err = shell->err;
        int code;

        if (i == 0)
            code = read_file(shell, files->items[i], err);
        else
            code = shell->loaded ? add_file(shell, files->items[i], err) : no_statistics(shell);
        if (code < 0 && err->sys != 0) {
            code = i == 0 ? print_system_error(shell, err)
                          : print_add_failure(shell, files->items[i], err);
            *err = (struct cairn_err){0};
        }
        CAIRN_TRY(code);
    }
    return 0;
}

/* Ctrl-C at the prompt, where all has been written, or in the middle of a table: a quiet end. */
static void on_interrupt(int number)
{
    (void)number;
    _exit(0);
}

int cairn_pstats_shell(const struct cairn_words *files, const struct cairn_settings *settings,
                       struct cairn_err *err)
{
    struct shell shell = {.settings = settings, .err = err};
    int code;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, on_interrupt);
    cairn_outlet_init(&shell.out, STDOUT_FILENO, "stdout");
    cairn_buf_init(&shell.file, LINE_MAX_BYTES);
    cairn_buf_init(&shell.last, LINE_MAX_BYTES + 8);
    cairn_buf_init(&shell.input, LINE_MAX_BYTES);
    code = open_files(&shell, files);
    if (code == 0)
        code = print(&shell, "Welcome to the profile statistics browser.");
    if (code == 0)
        code = loop(&shell);
    if (code == STOP) {
        print(&shell, "Goodbye.");
        code = cairn_outlet_finish(&shell.out, 0, err);
    } else if (code < 0 && err->code == 0) {
        cairn_err_set(err, code, 0, "pstats", "the browser cannot go on: %s",
                      cairn_err_sentence(code));
    }
    cairn_outlet_release(&shell.out);
    if (shell.loaded)
        cairn_pstats_release(&shell.stats);
    cairn_buf_release(&shell.file);
    cairn_buf_release(&shell.last);
    cairn_buf_release(&shell.input);
    return code;
}
