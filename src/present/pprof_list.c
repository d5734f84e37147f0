/* Source with numbers beside its lines (pprof_text.h). */
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

static struct cairn_span text_of(const struct cairn_pprof_report *report, uint32_t id)
{
    return cairn_intern_get(&report->pprof->texts, id);
}

static int compare_spans(struct cairn_span x, struct cairn_span y)
{
    size_t both = x.size_bytes < y.size_bytes ? x.size_bytes : y.size_bytes;
    int order = both > 0 ? memcmp(x.data, y.data, both) : 0;

    return order ? order : (x.size_bytes > y.size_bytes) - (x.size_bytes < y.size_bytes);
}

/* By function, file and line. */
static int compare_nodes(const void *a, const void *b, void *context)
{
    const struct cairn_pprof_graph *g = context;
    const struct cairn_pprof_node *x = &g->nodes.items[*(const uint32_t *)a];
    const struct cairn_pprof_node *y = &g->nodes.items[*(const uint32_t *)b];
    int order =
        compare_spans(cairn_intern_get(g->texts, x->name), cairn_intern_get(g->texts, y->name));

    if (order == 0)
        order =
            compare_spans(cairn_intern_get(g->texts, x->file), cairn_intern_get(g->texts, y->file));
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
                     const uint32_t *nodes, size_t count, struct cairn_span text)
{
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
        add_value(report, flat);
        add_value(report, cum);
        cairn_buf_printf(&report->out->buf, "%6u:", line);
        for (size_t from = 0; from < size_bytes;) { /* tabs stay tabs */
            const uint8_t *tab = memchr(start + from, '\t', size_bytes - from);
            size_t until = tab ? (size_t)(tab - start) : size_bytes;

            cairn_escape_terminal(&report->out->buf,
                                  (struct cairn_span){start + from, until - from});
            if (tab)
                cairn_buf_u8(&report->out->buf, '\t');
            from = until + 1;
        }
        cairn_buf_u8(&report->out->buf, '\n');
    }
    return cairn_outlet_drain(report->out);
}

/* A function in a file: its nodes, sorted by line. */
static int add_routine(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph,
                       const uint32_t *nodes, size_t count)
{
    const struct cairn_pprof_node *node = &graph->nodes.items[nodes[0]];
    struct cairn_buf *out = &report->out->buf, text, why;
    struct cairn_span file = text_of(report, node->file);
    int64_t flat = 0, cum = 0;
    int code = 0;

    if (file.size_bytes == 0) {
        cairn_buf_add_str(out, "No source information for ");
        cairn_escape_terminal(out, text_of(report, node->name));
        cairn_buf_u8(out, '\n');
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        flat += graph->nodes.items[nodes[i]].flat;
        cum += graph->nodes.items[nodes[i]].cum;
    }
    cairn_buf_add_str(out, "ROUTINE ======================== ");
    cairn_escape_terminal(out, text_of(report, node->name));
    cairn_buf_add_str(out, " in ");
    cairn_escape_terminal(out, file);
    cairn_buf_u8(out, '\n');
    cairn_pprof_value(report, out, flat, 10);
    cairn_buf_u8(out, ' ');
    cairn_pprof_value(report, out, cum, 10);
    cairn_buf_add_str(out, " (flat, cum) ");
    cairn_pprof_share(out, cum, report->pprof->total);
    cairn_buf_add_str(out, " of Total\n");
    cairn_buf_init(&text, FILE_MAX_BYTES + READ_BYTES);
    cairn_buf_init(&why, PATH_MAX_BYTES * 4);
    read_source(report, file, &text, &why);
    if (why.size_bytes > 0) {
        cairn_buf_add_str(out, " Error: ");
        cairn_escape_terminal(out, cairn_buf_span(&why));
        cairn_buf_u8(out, '\n');
    } else {
        code = add_lines(report, graph, nodes, count, cairn_buf_span(&text));
    }
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
    int code = cairn_pyregex_make(cairn_span_of(report->look->regex), &regex);

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

static int add_routines(struct cairn_pprof_report *report, struct cairn_pprof_graph *graph)
{
    uint32_t *order = graph->order.items;
    size_t count, end;

    CAIRN_TRY(choose(report, graph, &count));
    if (count > 1)
        qsort_r(order, count, sizeof(*order), compare_nodes, graph);
    report->unit = report->look->unit; /* each value in what suits it */
    cairn_buf_add_str(&report->out->buf, "Total: ");
    cairn_pprof_value(report, &report->out->buf, report->pprof->total, 0);
    cairn_buf_u8(&report->out->buf, '\n');
    for (size_t i = 0; i < count; i = end) {
        const struct cairn_pprof_node *node = &graph->nodes.items[order[i]];

        for (end = i + 1; end < count && graph->nodes.items[order[end]].name == node->name &&
                          graph->nodes.items[order[end]].file == node->file;
             end++)
            ;
        CAIRN_TRY(add_routine(report, graph, order + i, end - i));
    }
    return 0;
}

int cairn_pprof_list(struct cairn_pprof_report *report)
{
    struct cairn_pprof_graph graph;
    int code;

    CAIRN_TRY(cairn_pprof_graph_make(report->pprof, &report->look->graph, &graph));
    code = add_routines(report, &graph);
    cairn_pprof_graph_release(&graph);
    return code;
}
