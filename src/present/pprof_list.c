/* Source with numbers beside its lines (pprof_text.h): as text, and as a page that holds no script.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "escape.h"
#include "io.h"
#include "pprof_text.h"
#include "pprof_units.h"
#include "pyregex.h"

#define FILE_MAX_BYTES ((size_t)16 << 20)
#define PATH_MAX_BYTES 65536
#define MARGIN 5
#define READ_BYTES 65536

static const char page_head[] =
    "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"UTF-8\">\n<title>Pprof listing</title>\n"
    "<style>\n:root { color-scheme: light dark; }\nbody { font-family: sans-serif; }\n"
    ".legend { font-size: 1.25em; }\n.line, .nop { color: GrayText; }\n</style>\n</head>\n<body>\n";

static struct cairn_span text_of(const struct cairn_pprof_report *report, uint32_t id)
{
    return cairn_intern_get(&report->pprof->texts, id);
}

static void put_text(struct cairn_buf *out, struct cairn_span text, bool web)
{
    if (!web) {
        cairn_escape_terminal(out, text);
        return;
    }
    cairn_buf_add_str(out, "<bdi>");
    cairn_escape_xml(out, text);
    cairn_buf_add_str(out, "</bdi>");
}

/* By function, file and line. */
static int compare_nodes(const void *a, const void *b, void *context)
{
    const struct cairn_pprof_graph *g = context;
    const struct cairn_pprof_node *x = &g->nodes.items[*(const uint32_t *)a];
    const struct cairn_pprof_node *y = &g->nodes.items[*(const uint32_t *)b];
    int order = cairn_span_compare(cairn_intern_get(g->texts, x->name),
                                   cairn_intern_get(g->texts, y->name));

    if (order == 0)
        order = cairn_span_compare(cairn_intern_get(g->texts, x->file),
                                   cairn_intern_get(g->texts, y->file));
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* The file's name without what its machine had before it: a prefix that was named, or all up to the
 * folder that is called as the one where sources are looked for. */
static const char *trim(const char *path, const char *prefix, const char *folder)
{
    char want[PATH_MAX_BYTES];
    const char *base = strrchr(folder, '/'), *found;
    size_t size_bytes = prefix ? strlen(prefix) : 0;

    if (size_bytes > 0) {
        if (strncmp(path, prefix, size_bytes) != 0)
            return path;
        if (prefix[size_bytes - 1] == '/')
            return path + size_bytes;
        return path[size_bytes] == '/' ? path + size_bytes + 1 : path;
    }
    base = base ? base + 1 : folder;
    if (base[0] == '\0' || snprintf(want, sizeof(want), "/%s/", base) >= (int)sizeof(want))
        return path;
    found = strstr(path, want);
    return found ? found + strlen(want) : path;
}

/* A regular file, never waited for; or -errno. */
static int open_file(const char *path)
{
    int fd = cairn_io_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    struct stat info;

    if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
        cairn_io_close(&fd);
        return -EINVAL;
    }
    return fd;
}

/* In the folder, or in one that it lies in. */
static int open_below(const char *folder, const char *path)
{
    char dir[PATH_MAX_BYTES], whole[2 * PATH_MAX_BYTES];

    snprintf(dir, sizeof(dir), "%s", folder);
    for (;;) {
        char *slash = strrchr(dir, '/');
        int fd;

        if (snprintf(whole, sizeof(whole), "%s/%s", dir, path) >= (int)sizeof(whole))
            return -ENAMETOOLONG;
        fd = open_file(whole);
        if (fd >= 0 || slash == NULL)
            return fd;
        *slash = '\0';
    }
}

/* All of the source in `text`, or why not in `why`. */
static void read_source(const struct cairn_pprof_report *report, struct cairn_span file,
                        struct cairn_buf *text, struct cairn_buf *why)
{
    char name[PATH_MAX_BYTES], here[PATH_MAX_BYTES], block[READ_BYTES];
    const char *folder = report->look->source_path, *path;
    ssize_t got = 0;
    int fd;

    snprintf(name, sizeof(name), "%.*s", (int)(file.size_bytes & 0xffff), (const char *)file.data);
    if (folder == NULL || folder[0] == '\0')
        folder = getcwd(here, sizeof(here)) ? here : "";
    path = trim(name, report->look->trim_path, folder);
    fd = path[0] == '/' ? open_file(path) : open_below(folder, path);
    if (fd < 0 && path[0] == '/')
        cairn_buf_printf(why, "open %s: %s", path,
                         fd == -ENOENT ? "no such file or directory" : strerror(-fd));
    else if (fd < 0)
        cairn_buf_printf(why, "could not find file %s on path %s", path, folder);
    while (fd >= 0 && text->size_bytes < FILE_MAX_BYTES &&
           (got = cairn_io_read(fd, block, sizeof(block))) > 0)
        cairn_buf_add(text, block, (size_t)got);
    cairn_io_close(&fd);
}

static void add_value(struct cairn_pprof_report *report, int64_t value)
{
    if (value == 0)
        cairn_buf_printf(&report->out->buf, "%10s ", ".");
    else {
        cairn_pprof_value(report, &report->out->buf, value, 10);
        cairn_buf_u8(&report->out->buf, ' ');
    }
}

/* The lines of `text` from some before the first of the nodes to some behind the last, which are
 * sorted by line. */
static int add_lines(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph,
                     const uint32_t *nodes, size_t count, struct cairn_span text, bool web)
{
    struct cairn_buf *out = &report->out->buf;
    uint32_t last = graph->nodes.items[nodes[count - 1]].line + MARGIN, first = UINT32_MAX;
    size_t at = 0, next = 0;

    for (size_t i = 0; i < count; i++) {
        const struct cairn_pprof_node *node = &graph->nodes.items[nodes[i]];
        uint32_t from = node->first_line      ? node->first_line
                        : node->line > MARGIN ? node->line - MARGIN
                                              : 1;

        if (from < first)
            first = from;
    }
    if (web) /* as pprof's page has it */
        first = first > MARGIN ? first - MARGIN : 1;
    for (uint32_t line = 1; line <= last && at < text.size_bytes; line++) {
        const uint8_t *start = text.data + at;
        const uint8_t *end = memchr(start, '\n', text.size_bytes - at);
        size_t size_bytes = end ? (size_t)(end - start) : text.size_bytes - at;
        int64_t flat = 0, cum = 0;

        at += size_bytes + 1;
        for (; next < count && graph->nodes.items[nodes[next]].line <= line; next++) {
            if (graph->nodes.items[nodes[next]].line < line)
                continue;
            flat += graph->nodes.items[nodes[next]].flat;
            cum += graph->nodes.items[nodes[next]].cum;
        }
        if (line < first)
            continue;
        if (size_bytes > 0 && start[size_bytes - 1] == '\r')
            size_bytes--;
        if (web)
            cairn_buf_printf(out, "<span class=line> %6u</span> <span class=%s>  ", line,
                             flat == 0 && cum == 0 ? "nop" : "src");
        add_value(report, flat);
        add_value(report, cum);
        if (web)
            cairn_buf_printf(out, "%10s", "");
        else
            cairn_buf_printf(out, "%6u:", line);
        for (size_t from = 0; from < size_bytes;) { /* tabs stay tabs */
            const uint8_t *tab = memchr(start + from, '\t', size_bytes - from);
            size_t until = tab ? (size_t)(tab - start) : size_bytes;

            put_text(out, (struct cairn_span){start + from, until - from}, web);
            if (tab)
                cairn_buf_u8(out, '\t');
            from = until + 1;
        }
        cairn_buf_add_str(out, web ? " </span>\n" : "\n");
    }
    return cairn_outlet_drain(report->out);
}

static void add_head(struct cairn_pprof_report *report, const struct cairn_pprof_node *node,
                     int64_t flat, int64_t cum, bool web)
{
    struct cairn_buf *out = &report->out->buf;

    cairn_buf_add_str(out, web ? "<h2>" : "ROUTINE ======================== ");
    put_text(out, text_of(report, node->name), web);
    cairn_buf_add_str(out, web ? "</h2><p class=\"filename\">" : " in ");
    put_text(out, text_of(report, node->file), web);
    cairn_buf_add_str(out, web ? "</p>\n<pre>\n  Total:  " : "\n");
    cairn_pprof_value(report, out, flat, 10);
    cairn_buf_u8(out, ' ');
    cairn_pprof_value(report, out, cum, 10);
    cairn_buf_add_str(out, " (flat, cum) ");
    cairn_pprof_share(out, cum, report->pprof->total);
    cairn_buf_add_str(out, web ? "\n" : " of Total\n");
}

/* A function in a file: its nodes, sorted by line. */
static int add_routine(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph,
                       const uint32_t *nodes, size_t count, bool web)
{
    const struct cairn_pprof_node *node = &graph->nodes.items[nodes[0]];
    struct cairn_buf *out = &report->out->buf, text, why;
    struct cairn_span file = text_of(report, node->file);
    int64_t flat = 0, cum = 0;
    int code = 0;

    if (file.size_bytes == 0) {
        cairn_buf_add_str(out,
                          web ? "<p>No source information for " : "No source information for ");
        put_text(out, text_of(report, node->name), web);
        cairn_buf_add_str(out, web ? "</p>\n" : "\n");
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        flat += graph->nodes.items[nodes[i]].flat;
        cum += graph->nodes.items[nodes[i]].cum;
    }
    add_head(report, node, flat, cum, web);
    cairn_buf_init(&text, FILE_MAX_BYTES + READ_BYTES);
    cairn_buf_init(&why, PATH_MAX_BYTES * 4);
    read_source(report, file, &text, &why);
    if (why.size_bytes > 0) {
        cairn_buf_add_str(out, " Error: ");
        put_text(out, cairn_buf_span(&why), web);
        cairn_buf_u8(out, '\n');
    } else {
        code = add_lines(report, graph, nodes, count, cairn_buf_span(&text), web);
    }
    if (web)
        cairn_buf_add_str(out, "</pre>\n");
    cairn_buf_release(&text);
    cairn_buf_release(&why);
    return code;
}

/* Moves the nodes whose function matches to the front; returns how many, or a negative code. */
static int choose(struct cairn_pprof_report *report, struct cairn_pprof_graph *graph,
                  size_t *ret_count)
{
    struct cairn_pyregex *regex;
    size_t count = 0;
    int code =
        cairn_pyregex_make(cairn_span_of(report->look->regex), CAIRN_PYREGEX_AND_GREP, &regex);

    if (code == -CAIRN_EUSAGE)
        cairn_err_set(report->err, code, 0, "pprof", "'%.200s' is no regular expression",
                      report->look->regex);
    CAIRN_TRY(code);
    for (size_t i = 0; i < graph->order.count && code == 0; i++) {
        uint32_t node = graph->order.items[i];
        bool found = false;

        code = cairn_pyregex_search(regex, text_of(report, graph->nodes.items[node].name), &found);
        if (found)
            graph->order.items[count++] = node;
    }
    cairn_pyregex_free(regex);
    *ret_count = count;
    if (code == 0 && count == 0)
        code = cairn_err_set(report->err, -CAIRN_ENOTFOUND, 0, "pprof",
                             "no matches found for regexp: %.200s", report->look->regex);
    return code;
}

/* Each line by itself, which holds foreign text. */
static void put_lines(struct cairn_buf *out, struct cairn_span text)
{
    const uint8_t *at = text.data, *end = text.data + text.size_bytes, *stop;

    for (; at < end && (stop = memchr(at, '\n', (size_t)(end - at))) != NULL; at = stop + 1) {
        put_text(out, (struct cairn_span){at, (size_t)(stop - at)}, true);
        cairn_buf_u8(out, '\n');
    }
}

/* What stands above the functions. */
static void add_total(struct cairn_pprof_report *report, bool web)
{
    struct cairn_buf *out = &report->out->buf, profile;

    if (web) {
        cairn_buf_init(&profile, PATH_MAX_BYTES * 4);
        cairn_pprof_profile(report, &profile);
        cairn_buf_add_str(out, page_head);
        cairn_buf_add_str(out, "<pre class=\"legend\">");
        put_lines(out, cairn_buf_span(&profile));
        if (profile.code == -CAIRN_ENOMEM)
            out->code = profile.code;
        cairn_buf_release(&profile);
    }
    cairn_buf_add_str(out, "Total: ");
    cairn_pprof_value(report, out, report->pprof->total, 0);
    cairn_buf_add_str(out, web ? "</pre>\n<p>Without machine code: frames of Python have none, and "
                                 "of binaries Cairn reads none.</p>\n"
                               : "\n");
}

static int add_routines(struct cairn_pprof_report *report, struct cairn_pprof_graph *graph,
                        bool web)
{
    uint32_t *order = graph->order.items;
    size_t count, end;

    CAIRN_TRY(choose(report, graph, &count));
    if (count > 1)
        qsort_r(order, count, sizeof(*order), compare_nodes, graph);
    report->unit = report->look->unit; /* each value in what suits it */
    add_total(report, web);
    for (size_t i = 0; i < count; i = end) {
        const struct cairn_pprof_node *node = &graph->nodes.items[order[i]];

        for (end = i + 1; end < count && graph->nodes.items[order[end]].name == node->name &&
                          graph->nodes.items[order[end]].file == node->file;
             end++)
            ;
        CAIRN_TRY(add_routine(report, graph, order + i, end - i, web));
    }
    if (web)
        cairn_buf_add_str(&report->out->buf, "</body>\n</html>\n");
    return 0;
}

static int list(struct cairn_pprof_report *report, bool web)
{
    struct cairn_pprof_graph graph;
    int code;

    CAIRN_TRY(cairn_pprof_graph_make(report->pprof, &report->look->graph, &graph));
    code = add_routines(report, &graph, web);
    cairn_pprof_graph_release(&graph);
    return code;
}

int cairn_pprof_list(struct cairn_pprof_report *report)
{
    return list(report, false);
}

int cairn_pprof_weblist(struct cairn_pprof_report *report)
{
    return list(report, true);
}
