/* in_gprof.c: what GNU gprof prints: of each function its own time, and in the call graph how much
 * of the time of each callee came by way of it; no stacks. Where the graph was left out (-p), the
 * flat profile alone.
 * And what VTune Amplifier XE prints as its gprof-cc report ("axe"): such a graph, but what came by
 * way of whom it does not tell. */
#include <inttypes.h>
#include <string.h>

#include "formats.h"
#include "inferred.h"
#include "intern.h"
#include "map.h"

#define NAMES_MAX_BYTES ((size_t)64 << 20)
#define FUNCTIONS_MAX ((size_t)1 << 20)
#define CALLS_MAX ((size_t)1 << 21)
#define NS_PER_S UINT64_C(1000000000)
#define SECONDS_MAX (CAIRN_GUEST_TIME_MAX_NS / NS_PER_S)

enum part { BESIDE, FLAT, GRAPH }; /* where in the text; BESIDE: words about it */

struct gprof {
    struct cairn_guest *guest;
    struct cairn_intern names;
    struct cairn_map by_number; /* of the graph, to functions */
    CAIRN_VEC(struct cairn_inferred_function) functions, flat;
    CAIRN_VEC(struct cairn_inferred_call) calls;
    enum part part;
    bool axe;
    uint32_t function; /* of the entry at hand, once its own line was there; UINT32_MAX: not yet */
};

static bool begins(struct cairn_span line, const char *head)
{
    size_t size_bytes = strlen(head);

    return line.size_bytes >= size_bytes && memcmp(line.data, head, size_bytes) == 0;
}

static void skip(struct cairn_span *text, size_t count)
{
    text->data += count;
    text->size_bytes -= count;
}

static void skip_blanks(struct cairn_span *text)
{
    while (text->size_bytes > 0 && (text->data[0] == ' ' || text->data[0] == '\t'))
        skip(text, 1);
}

static void trim_end(struct cairn_span *text)
{
    while (text->size_bytes > 0 && memchr(" \t", text->data[text->size_bytes - 1], 2))
        text->size_bytes--;
}

/* What stands up to the next blank; it is not taken. */
static struct cairn_span word_of(struct cairn_span *text)
{
    size_t length = 0;

    skip_blanks(text);
    while (length < text->size_bytes && text->data[length] != ' ' && text->data[length] != '\t')
        length++;
    return (struct cairn_span){text->data, length};
}

/* A word of digits with a point in it; `scale`: ns of its unit. False: the next word is none. */
static bool take_decimal(struct cairn_span *text, uint64_t scale, uint64_t *ret_ns)
{
    struct cairn_span word = word_of(text);
    uint64_t whole = 0, part = 0, unit = scale;
    bool point = false;

    for (size_t i = 0; i < word.size_bytes; i++) {
        uint8_t byte = word.data[i];

        if (byte == '.' && !point && i > 0) {
            point = true;
        } else if (byte < '0' || byte > '9' || whole > SECONDS_MAX) {
            return false;
        } else if (point) {
            unit /= 10;
            part += unit * (uint64_t)(byte - '0');
        } else {
            whole = whole * 10 + (uint64_t)(byte - '0');
        }
    }
    if (!point || whole > SECONDS_MAX)
        return false;
    skip(text, word.size_bytes);
    *ret_ns = whole * scale + part;
    return true;
}

/* Digits at the start of a word. */
static uint64_t whole_of(struct cairn_span word)
{
    uint64_t whole = 0;

    for (size_t i = 0; i < word.size_bytes && word.data[i] >= '0' && word.data[i] <= '9'; i++)
        whole = whole > CAIRN_GUEST_TIME_MAX_NS / 10 ? CAIRN_GUEST_TIME_MAX_NS
                                                     : whole * 10 + (uint64_t)(word.data[i] - '0');
    return whole;
}

/* How often it was called: "12"; "12+3", of which 3 by itself; "12/40", so many of 40. False: a
 * name stands there. */
static bool take_called(struct cairn_span *text, uint64_t *ret_calls)
{
    struct cairn_span word = word_of(text);
    size_t digits = 0, plus = 0;

    for (size_t i = 0; i < word.size_bytes; i++) {
        if (word.data[i] >= '0' && word.data[i] <= '9')
            digits++;
        else if ((word.data[i] != '+' && word.data[i] != '/') || i == 0)
            return false;
        else if (word.data[i] == '+')
            plus = i;
    }
    if (digits == 0)
        return false;
    *ret_calls = whole_of(word);
    if (plus > 0)
        *ret_calls +=
            whole_of((struct cairn_span){word.data + plus + 1, word.size_bytes - plus - 1});
    skip(text, word.size_bytes);
    return true;
}

/* "name [7]" or "name <cycle 2> [7]": the number goes to *ret_number. */
static bool take_name(struct cairn_span *text, uint64_t *ret_number)
{
    const uint8_t *open = text->size_bytes ? memrchr(text->data, '[', text->size_bytes) : NULL;
    const uint8_t *cycle;
    struct cairn_span digits;

    if (!open || text->data[text->size_bytes - 1] != ']' || open < text->data + 2)
        return false;
    digits = (struct cairn_span){open + 1, (size_t)(text->data + text->size_bytes - 2 - open)};
    if (!cairn_whole_of_text(digits, ret_number))
        return false;
    text->size_bytes = (size_t)(open - 1 - text->data);
    trim_end(text);
    if (text->size_bytes == 0)
        return false;
    cycle = memrchr(text->data, '<', text->size_bytes);
    if (cycle && cycle > text->data && begins((struct cairn_span){cycle, 7}, "<cycle ") &&
        text->data[text->size_bytes - 1] == '>')
        text->size_bytes = (size_t)(cycle - 1 - text->data);
    trim_end(text);
    return text->size_bytes > 0;
}

static int name_it(struct gprof *g, struct cairn_span name,
                   struct cairn_inferred_function *function)
{
    uint32_t id;

    CAIRN_TRY(cairn_intern_add(&g->names, name, &id));
    function->frame.name = cairn_intern_get(&g->names, id);
    return 0;
}

static int function_of(struct gprof *g, uint64_t number, struct cairn_span name,
                       uint32_t *ret_function)
{
    uint64_t found = g->functions.count;

    if (!cairn_map_get(&g->by_number, number, 0, &found)) {
        CAIRN_TRY(cairn_vec_reserve(&g->functions, found + 1, FUNCTIONS_MAX));
        CAIRN_TRY(cairn_map_put(&g->by_number, number, 0, found));
        g->functions.items[found] = (struct cairn_inferred_function){.self_ns = 0};
        CAIRN_TRY(name_it(g, name, &g->functions.items[found]));
        g->functions.count++;
    }
    *ret_function = (uint32_t)found;
    return 0;
}

/* "[3]  35.0  0.02  0.05  1+7  name [3]" */
static int read_own_line(struct gprof *g, struct cairn_span line)
{
    uint64_t percent, self_ns, below_ns, number, calls = 0;
    struct cairn_inferred_function *function;

    skip(&line, word_of(&line).size_bytes);
    if (!take_decimal(&line, 1, &percent) || !take_decimal(&line, NS_PER_S, &self_ns) ||
        !take_decimal(&line, NS_PER_S, &below_ns))
        return -CAIRN_EDAMAGED;
    take_called(&line, &calls);
    skip_blanks(&line);
    if (begins(line, "<cycle ")) { /* the whole of one: its functions have entries, too */
        g->function = UINT32_MAX;
        return 0;
    }
    if (!take_name(&line, &number))
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(function_of(g, number, line, &g->function));
    function = &g->functions.items[g->function];
    if (function->total_ns > 0)
        return -CAIRN_EDAMAGED;
    function->self_ns = self_ns;
    function->total_ns = self_ns + below_ns;
    function->calls = calls;
    return 0;
}

/* "  0.01  0.03  7/40  name [8]": what of it came from the function of the entry. Calls within a
 * cycle, and of itself, have no times: "  7  name [8]". */
static int read_callee(struct gprof *g, struct cairn_span line)
{
    uint64_t self_ns = 0, below_ns = 0, number, calls;
    bool timed = take_decimal(&line, NS_PER_S, &self_ns);
    uint32_t callee;

    if (timed && !take_decimal(&line, NS_PER_S, &below_ns))
        return -CAIRN_EDAMAGED;
    if (!take_called(&line, &calls))
        return timed ? -CAIRN_EDAMAGED : 0;
    skip_blanks(&line);
    if (begins(line, "<cycle "))
        return 0; /* what it called is told of each of its functions */
    if (!take_name(&line, &number))
        return timed ? -CAIRN_EDAMAGED : 0;
    CAIRN_TRY(function_of(g, number, line, &callee));
    CAIRN_TRY(cairn_vec_reserve(&g->calls, g->calls.count + 1, CALLS_MAX));
    g->calls.items[g->calls.count++] =
        (struct cairn_inferred_call){.caller = g->function,
                                     .callee = callee,
                                     .self = (double)self_ns,
                                     .total = (double)(self_ns + below_ns),
                                     .calls = calls};
    return 0;
}

/* "  0.01  0.03  name [8]": that it was called, and what it took, whoever called it: the weight of
 * a call is what its caller took. */
static int read_axe_callee(struct gprof *g, struct cairn_span line)
{
    uint64_t ignored, number;
    uint32_t callee;
    double weight;

    if (take_decimal(&line, NS_PER_S, &ignored))
        (void)take_decimal(&line, NS_PER_S, &ignored);
    skip_blanks(&line);
    if (!take_name(&line, &number))
        return 0; /* "<spontaneous>", which is nobody */
    CAIRN_TRY(function_of(g, number, line, &callee));
    weight = (double)g->functions.items[g->function].total_ns;
    CAIRN_TRY(cairn_vec_reserve(&g->calls, g->calls.count + 1, CALLS_MAX));
    g->calls.items[g->calls.count++] = (struct cairn_inferred_call){
        .caller = g->function, .callee = callee, .self = weight, .total = weight};
    return 0;
}

static int read_graph_line(struct gprof *g, struct cairn_span line)
{
    if (line.data[0] == '[')
        return read_own_line(g, line);
    if (line.data[0] == '-')
        g->function = UINT32_MAX;
    else if (g->function != UINT32_MAX)
        return g->axe ? read_axe_callee(g, line) : read_callee(g, line);
    return 0; /* in front of the function's own line: who called it, which stands there, too */
}

/* "33.34  0.02  0.02  7208  0.00  0.00  name": times of a call where calls were counted. */
static int read_flat_line(struct gprof *g, struct cairn_span line)
{
    struct cairn_inferred_function function = {.self_ns = 0};
    uint64_t ignored;

    if (!take_decimal(&line, 1, &ignored))
        return begins(line, "time") ? 0 : -CAIRN_EDAMAGED;
    if (!take_decimal(&line, NS_PER_S, &ignored) ||
        !take_decimal(&line, NS_PER_S, &function.self_ns))
        return -CAIRN_EDAMAGED;
    if (take_called(&line, &function.calls) &&
        (!take_decimal(&line, 1, &ignored) || !take_decimal(&line, 1, &ignored)))
        return -CAIRN_EDAMAGED;
    skip_blanks(&line);
    if (line.size_bytes == 0)
        return -CAIRN_EDAMAGED;
    function.total_ns = function.self_ns;
    CAIRN_TRY(name_it(g, line, &function));
    CAIRN_TRY(cairn_vec_reserve(&g->flat, g->flat.count + 1, FUNCTIONS_MAX));
    g->flat.items[g->flat.count++] = function;
    return 0;
}

/* Entries are set apart by blanks; behind the graph stands a list of names. */
static int read_axe_line(struct gprof *g, struct cairn_span line)
{
    bool head = begins(line, "Index ");

    trim_end(&line);
    if (head)
        g->part = g->functions.count > 0 ? BESIDE : GRAPH;
    if (head || begins(line, "-----"))
        return 0;
    if (line.size_bytes == 0)
        g->function = UINT32_MAX;
    else if (g->part == GRAPH)
        return read_graph_line(g, line);
    return 0;
}

static int read_line(struct gprof *g, struct cairn_span line)
{
    if (g->axe)
        return read_axe_line(g, line);
    if (line.size_bytes == 0 || line.data[0] == '\f')
        g->part = BESIDE;
    else if (begins(line, "  %   cumulative"))
        g->part = FLAT;
    else if (begins(line, "index % time"))
        g->part = GRAPH;
    else if (g->part == FLAT)
        return read_flat_line(g, line);
    else if (g->part == GRAPH)
        return read_graph_line(g, line);
    return 0;
}

static int give(struct gprof *g)
{
    struct cairn_guest_thread all = {.name = {NULL, 0}};
    bool graph = g->functions.count > 0;
    uint32_t thread;

    CAIRN_TRY(cairn_guest_thread(g->guest, &all, &thread));
    if (g->axe)
        CAIRN_TRY(cairn_inferred_give(g->guest, thread, g->functions.items, g->functions.count,
                                      g->calls.items, g->calls.count));
    else
        CAIRN_TRY(cairn_inferred_give_counted(
            g->guest, thread, graph ? g->functions.items : g->flat.items,
            graph ? g->functions.count : g->flat.count, g->calls.items, g->calls.count, graph));
    CAIRN_TRY(cairn_guest_fact(g->guest, "import.stacks", "inferred"));
    CAIRN_TRY(cairn_guest_fact(g->guest, "import.times", "none"));
    if (g->axe)
        CAIRN_TRY(cairn_guest_fact(g->guest, "import.lost", "what came by way of which call"));
    else
        CAIRN_TRY(
            cairn_guest_fact(g->guest, "import.lost", "%s",
                             graph ? "times of calls within a cycle, and how often they recursed"
                                   : "who called whom, and how often it recursed"));
    return cairn_guest_fact(g->guest, "import.values", "CPU time of functions");
}

static int read_file(struct gprof *g, struct cairn_feed *feed, struct cairn_err *err)
{
    struct cairn_span line;
    uint64_t number = 0;
    int code;

    while ((code = cairn_feed_line(feed, &line)) == 0) {
        number++;
        code = read_line(g, line);
        if (code == -CAIRN_EDAMAGED)
            return cairn_err_set(err, code, 0, "import", "line %" PRIu64 " does not belong there",
                                 number);
        CAIRN_TRY(code);
    }
    return code == -CAIRN_EEND ? give(g) : code;
}

static int read_as(bool axe, struct cairn_feed *feed, struct cairn_guest *guest,
                   struct cairn_err *err)
{
    struct gprof g = {.guest = guest, .axe = axe, .function = UINT32_MAX};
    int code = cairn_intern_init(&g.names, NAMES_MAX_BYTES);

    cairn_map_init(&g.by_number, FUNCTIONS_MAX);
    if (code == 0)
        code = read_file(&g, feed, err);
    cairn_map_release(&g.by_number);
    cairn_vec_release(&g.functions);
    cairn_vec_release(&g.flat);
    cairn_vec_release(&g.calls);
    cairn_intern_release(&g.names);
    return code;
}

int cairn_in_gprof(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    return read_as(false, feed, guest, err);
}

int cairn_in_axe(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    return read_as(true, feed, guest, err);
}

int cairn_is_axe(struct cairn_feed *feed)
{
    struct cairn_span line;
    int code = cairn_feed_line(feed, &line);

    if (code == 0 && !begins(line, "Index "))
        return 0;
    if (code == 0)
        code = cairn_feed_line(feed, &line);
    if (code < 0)
        return code == -CAIRN_EEND || code == -CAIRN_ELIMIT ? 0 : code;
    return begins(line, "-----");
}
