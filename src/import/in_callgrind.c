/* in_callgrind.c: valgrind's callgrind.out: the cost of functions, and what calls between them
 * cost; no stacks. The first event is taken. Names stand once, behind a number, and then as the
 * number. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "inferred.h"
#include "intern.h"
#include "jsonin.h"
#include "text.h"

#define TEXT_MAX_BYTES ((size_t)1 << 10)
#define COMMAND_MAX_BYTES ((size_t)1 << 10)
#define NAMES_MAX_BYTES ((size_t)64 << 20)
#define FUNCTIONS_MAX ((size_t)1 << 20)
#define CALLS_MAX ((size_t)1 << 21)

enum space { FILES, FUNCTIONS, SPACES }; /* numbers of files and of functions are apart */

struct callgrind {
    struct cairn_guest *guest;
    struct cairn_intern names;
    struct cairn_map numbers[SPACES];        /* of the file to names */
    struct cairn_map functions_of, calls_of; /* {file, name}, {caller, callee} */
    CAIRN_VEC(struct cairn_inferred_function) functions;
    CAIRN_VEC(struct cairn_inferred_call) calls;
    uint32_t file, place;              /* names: of the function's file; of where it stands */
    uint32_t callee_file, callee_name; /* of the next call */
    uint32_t begun_file, begun_name;   /* names: of the function that has begun */
    uint32_t function;                 /* UINT32_MAX: none yet */
    unsigned positions;
    bool is_call; /* the next line is what so many calls cost: */
    uint64_t made;
    char event[64];
    /* What the file says that it costs in all: of the parts that are over, of the one that is being
     * read; and what its functions do. */
    uint64_t told, told_of_part, found;
    bool has_command;
    /* A function of which no cost was read yet, and which is none without: yappi has a list of all
     * names in front. */
    bool has_begun;
    bool has_ended; /* with a sum, behind which nothing came */
    bool is_torn;   /* the last line has no end */
};

static bool skip_head(struct cairn_span *line, const char *head)
{
    size_t size_bytes = strlen(head);

    if (line->size_bytes < size_bytes || memcmp(line->data, head, size_bytes) != 0)
        return false;
    line->data += size_bytes;
    line->size_bytes -= size_bytes;
    return true;
}

static void skip_blanks(struct cairn_span *text)
{
    while (text->size_bytes > 0 && (text->data[0] == ' ' || text->data[0] == '\t')) {
        text->data++;
        text->size_bytes--;
    }
}

/* "(12) name", "(12)" or "name". */
static int read_name(struct callgrind *c, enum space space, struct cairn_span text,
                     uint32_t *ret_name)
{
    uint64_t number, found;
    const uint8_t *close;
    struct cairn_span digits;

    skip_blanks(&text);
    close = text.size_bytes ? memchr(text.data, ')', text.size_bytes) : NULL;
    if (!close || text.data[0] != '(')
        return cairn_intern_add(&c->names, text, ret_name);
    digits = (struct cairn_span){text.data + 1, (size_t)(close - text.data - 1)};
    if (!cairn_whole_of_text(digits, &number))
        return cairn_intern_add(&c->names, text, ret_name);
    text.size_bytes -= (size_t)(close + 1 - text.data);
    text.data = close + 1;
    skip_blanks(&text);
    if (text.size_bytes == 0) {
        if (!cairn_map_get(&c->numbers[space], number, 0, &found))
            return -CAIRN_EDAMAGED;
        *ret_name = (uint32_t)found;
        return 0;
    }
    CAIRN_TRY(cairn_intern_add(&c->names, text, ret_name));
    return cairn_map_put(&c->numbers[space], number, 0, *ret_name);
}

/* yappi's names hold where the function begins: "parse /srv/app.py:93". */
static void split_place(struct cairn_guest_frame *frame)
{
    struct cairn_span name = frame->name, file = frame->file, digits;
    const uint8_t *colon = name.size_bytes ? memrchr(name.data, ':', name.size_bytes) : NULL;
    size_t before = colon ? (size_t)(colon - name.data) : 0;
    uint64_t line;

    if (file.size_bytes == 0 || before < file.size_bytes + 2 ||
        colon[-(ptrdiff_t)file.size_bytes - 1] != ' ' ||
        memcmp(colon - file.size_bytes, file.data, file.size_bytes) != 0)
        return;
    digits = (struct cairn_span){colon + 1, name.size_bytes - before - 1};
    if (!cairn_whole_of_text(digits, &line) || line > INT32_MAX)
        return;
    frame->name.size_bytes = before - file.size_bytes - 1;
    frame->line = frame->first_line = (uint32_t)line;
}

static int function_of(struct callgrind *c, uint32_t file, uint32_t name, uint32_t *ret_function)
{
    uint64_t found = c->functions.count;
    struct cairn_inferred_function *function;

    if (!cairn_map_get(&c->functions_of, file, name, &found)) {
        CAIRN_TRY(cairn_vec_reserve(&c->functions, c->functions.count + 1, FUNCTIONS_MAX));
        CAIRN_TRY(cairn_map_put(&c->functions_of, file, name, found));
        function = &c->functions.items[c->functions.count++];
        function->frame.name = cairn_intern_get(&c->names, name);
        function->frame.file = cairn_intern_get(&c->names, file);
        split_place(&function->frame);
        if (cairn_span_is(function->frame.file, "???") || cairn_span_is(function->frame.file, "~"))
            function->frame.file = (struct cairn_span){NULL, 0};
    }
    *ret_function = (uint32_t)found;
    return 0;
}

/* The next number of a line, in tens or sixteens; false when there is none. */
static bool take_number(struct cairn_span *line, uint64_t *ret_number)
{
    uint64_t number = 0;
    unsigned base = 10;
    size_t digits = 0;

    skip_blanks(line);
    if (skip_head(line, "0x"))
        base = 16;
    for (; line->size_bytes > 0; line->data++, line->size_bytes--, digits++) {
        uint8_t byte = line->data[0] | 0x20, digit;

        digit = byte >= '0' && byte <= '9'   ? byte - '0'
                : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                                             : 99;
        if (digit >= base || number > CAIRN_GUEST_TIME_MAX_NS)
            break;
        number = number * base + digit;
    }
    *ret_number = number;
    return digits > 0;
}

/* A position: a number, "+3", "-3" or "*", which is as before. */
static bool skip_position(struct cairn_span *line)
{
    uint64_t number;

    skip_blanks(line);
    if (skip_head(line, "*"))
        return true;
    if (!skip_head(line, "+"))
        skip_head(line, "-");
    return take_number(line, &number);
}

static int add_call(struct callgrind *c, uint64_t cost)
{
    struct cairn_inferred_call *call;
    uint32_t callee;
    uint64_t at;

    CAIRN_TRY(function_of(c, c->callee_file, c->callee_name, &callee));
    c->callee_file = c->place; /* unless the next call says otherwise */
    if (callee != c->function)
        c->functions.items[c->function].total_ns += cost;
    at = c->calls.count;
    if (!cairn_map_get(&c->calls_of, c->function, callee, &at)) {
        CAIRN_TRY(cairn_vec_reserve(&c->calls, c->calls.count + 1, CALLS_MAX));
        CAIRN_TRY(cairn_map_put(&c->calls_of, c->function, callee, at));
        c->calls.items[c->calls.count++] =
            (struct cairn_inferred_call){.caller = c->function, .callee = callee};
    }
    call = &c->calls.items[at];
    /* How much of the callee's own cost came this way is not told: as much as of the whole. What a
     * function cost below itself is in the cost of the outermost call already. */
    if (callee != c->function)
        call->self += (double)cost;
    call->total += (double)cost;
    if (c->made > UINT64_MAX - call->calls)
        return -CAIRN_EDAMAGED;
    call->calls += c->made;
    return 0;
}

static int read_cost(struct callgrind *c, struct cairn_span line)
{
    struct cairn_inferred_function *function;
    uint64_t cost = 0;

    for (unsigned i = 0; i < c->positions; i++)
        if (!skip_position(&line))
            return -CAIRN_EDAMAGED;
    skip_blanks(&line);
    if (c->has_begun)
        CAIRN_TRY(function_of(c, c->begun_file, c->begun_name, &c->function));
    c->has_begun = false;
    if (c->function == UINT32_MAX || (line.size_bytes > 0 && !take_number(&line, &cost)))
        return -CAIRN_EDAMAGED;
    if (c->is_call) {
        c->is_call = false;
        return add_call(c, cost);
    }
    function = &c->functions.items[c->function];
    if (function->self_ns > CAIRN_GUEST_TIME_MAX_NS)
        return -CAIRN_EDAMAGED;
    function->self_ns += cost;
    function->total_ns += cost;
    c->found += cost;
    return 0;
}

/* "summary:" stands in front of a part or behind it, "totals:" behind it. */
static int read_sum(struct callgrind *c, struct cairn_span line, bool ends)
{
    uint64_t sum;

    if (!take_number(&line, &sum))
        return 0;
    c->told_of_part = sum;
    if (ends) {
        c->told += sum;
        c->told_of_part = 0;
        c->has_ended = true;
    }
    return 0;
}

static int read_events(struct callgrind *c, struct cairn_span line)
{
    size_t length = 0;

    skip_blanks(&line);
    while (length < line.size_bytes && line.data[length] > ' ' && length + 1 < sizeof(c->event))
        length++;
    memcpy(c->event, line.data, length);
    c->event[length] = 0;
    return length > 0 ? 0 : -CAIRN_EDAMAGED;
}

/* Each part of a file names it. */
static int read_command(struct callgrind *c, struct cairn_span line)
{
    if (c->has_command)
        return 0;
    c->has_command = true;
    skip_blanks(&line);
    return cairn_guest_fact(
        c->guest, "run.command", "%.*s",
        (int)(line.size_bytes < COMMAND_MAX_BYTES ? line.size_bytes : COMMAND_MAX_BYTES),
        (const char *)line.data);
}

static int read_spec(struct callgrind *c, struct cairn_span line)
{
    uint32_t name;

    if (skip_head(&line, "fn=")) {
        CAIRN_TRY(read_name(c, FUNCTIONS, line, &name));
        c->callee_file = c->place = c->file;
        c->has_begun = true;
        c->begun_file = c->file;
        c->begun_name = name;
        return 0;
    }
    if (skip_head(&line, "fl=")) {
        CAIRN_TRY(read_name(c, FILES, line, &c->file));
        c->callee_file = c->place = c->file;
        return 0;
    }
    if (skip_head(&line, "fi=") || skip_head(&line, "fe=")) { /* of inlined code */
        CAIRN_TRY(read_name(c, FILES, line, &c->place));
        c->callee_file = c->place;
        return 0;
    }
    if (skip_head(&line, "cfi=") || skip_head(&line, "cfl="))
        return read_name(c, FILES, line, &c->callee_file);
    if (skip_head(&line, "cfn="))
        return read_name(c, FUNCTIONS, line, &c->callee_name);
    if (skip_head(&line, "calls=")) {
        c->is_call = true;
        if (!take_number(&line, &c->made) || c->made > CAIRN_GUEST_TIME_MAX_NS)
            return -CAIRN_EDAMAGED;
        return c->function == UINT32_MAX && !c->has_begun ? -CAIRN_EDAMAGED : 0;
    }
    if (skip_head(&line, "events:"))
        return read_events(c, line);
    if (skip_head(&line, "summary:"))
        return read_sum(c, line, false);
    if (skip_head(&line, "totals:"))
        return read_sum(c, line, true);
    if (skip_head(&line, "cmd:"))
        return read_command(c, line);
    if (skip_head(&line, "positions:"))
        c->positions = memmem(line.data, line.size_bytes, "instr", 5) &&
                               memmem(line.data, line.size_bytes, "line", 4)
                           ? 2
                           : 1;
    return 0; /* ob=, cob=, jump=, and what stands at the head */
}

/* What is cut off says nothing, but a cost may end where the file does: some tools write no last
 * end of a line. */
static int read_line(struct callgrind *c, struct cairn_span line)
{
    struct cairn_span rest = line;
    int code;

    if (line.size_bytes == 0 || line.data[0] == '#')
        return 0;
    c->has_ended = false;
    if (memchr("0123456789+-*", line.data[0], 13)) {
        code = read_cost(c, line);
        c->is_torn = c->is_torn && code == -CAIRN_EDAMAGED;
        return c->is_torn ? 0 : code;
    }
    c->is_torn = c->is_torn && !skip_head(&rest, "totals:");
    return c->is_torn ? 0 : read_spec(c, line);
}

/* What shows that the file, or a part of it, is not all there; nothing where nothing does. */
static int say_incomplete(struct callgrind *c)
{
    uint64_t told = c->told + c->told_of_part;
    struct cairn_buf text;
    int code;

    cairn_buf_init(&text, TEXT_MAX_BYTES);
    if (c->found < told) {
        cairn_buf_add_str(&text, "its functions have ");
        cairn_text_count(&text, c->found);
        cairn_buf_add_str(&text, " of the ");
        cairn_text_count(&text, told);
        cairn_buf_u8(&text, ' ');
        cairn_buf_add_str(&text, c->event);
        cairn_buf_add_str(&text, " that it tells of");
    } else if (!c->has_ended) {
        cairn_buf_add_str(&text, c->is_call     ? "it ends within a call"
                                 : c->has_begun ? "it ends within a function"
                                 : c->is_torn   ? "its last line has no end"
                                                : "");
    }
    code = text.code;
    if (code == 0 && text.size_bytes > 0)
        code = cairn_guest_fact(c->guest, "import.incomplete", "%s", cairn_buf_cstr(&text));
    cairn_buf_release(&text);
    return code;
}

/* Of an event that is time by its name, what one of it is; else 0. "ns" is Cairn's own, and that of
 * pyprof2calltree; "Time_(10ns)" is Xdebug's. */
static uint64_t time_of_event(const char *event)
{
    static const struct {
        const char *event;
        uint64_t ns;
    } times[] = {
        {"ns", 1},
        {"Nanoseconds", 1},
        {"Time_(10ns)", 10},
        {"us", 1000},
        {"Microseconds", 1000},
        {"ms", 1000000},
        {"Milliseconds", 1000000},
    };

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (strcmp(event, times[i].event) == 0)
            return times[i].ns;
    return 0;
}

static int scale(struct callgrind *c, uint64_t each_ns)
{
    for (size_t i = 0; i < c->functions.count; i++) {
        struct cairn_inferred_function *function = &c->functions.items[i];

        if (__builtin_mul_overflow(function->self_ns, each_ns, &function->self_ns) ||
            __builtin_mul_overflow(function->total_ns, each_ns, &function->total_ns))
            return -CAIRN_EDAMAGED;
    }
    for (size_t i = 0; i < c->calls.count; i++) {
        c->calls.items[i].self *= (double)each_ns;
        c->calls.items[i].total *= (double)each_ns;
    }
    return 0;
}

static int give(struct callgrind *c)
{
    uint64_t each_ns = time_of_event(c->event);
    struct cairn_guest_thread all = {.name = {NULL, 0}};
    uint32_t thread;

    if (c->event[0] == 0)
        return -CAIRN_EDAMAGED;
    if (each_ns > 1)
        CAIRN_TRY(scale(c, each_ns));
    CAIRN_TRY(cairn_guest_thread(c->guest, &all, &thread));
    CAIRN_TRY(cairn_inferred_give_counted(c->guest, thread, c->functions.items, c->functions.count,
                                          c->calls.items, c->calls.count, true));
    CAIRN_TRY(cairn_guest_fact(c->guest, "import.stacks", "inferred"));
    CAIRN_TRY(cairn_guest_fact(c->guest, "import.times", "none"));
    CAIRN_TRY(
        cairn_guest_fact(c->guest, "import.lost",
                         "lines, events but the first, and how often functions that call each "
                         "other recursed"));
    CAIRN_TRY(say_incomplete(c));
    return cairn_guest_fact(c->guest, "import.values",
                            each_ns > 0 ? "time, as %s" : "%s, each shown as 1 ns", c->event);
}

static int read_file(struct callgrind *c, struct cairn_feed *feed, struct cairn_err *err)
{
    struct cairn_span line;
    uint64_t number = 0;
    int code;

    while ((code = cairn_feed_line(feed, &line)) == 0) {
        number++;
        c->is_torn = feed->next == feed->end && feed->next > feed->data && feed->next[-1] != '\n';
        code = read_line(c, line);
        if (code == -CAIRN_EDAMAGED)
            return cairn_err_set(err, code, 0, "import", "line %" PRIu64 " does not belong there",
                                 number);
        CAIRN_TRY(code);
    }
    return code == -CAIRN_EEND ? give(c) : code;
}

int cairn_in_callgrind(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct callgrind c = {.guest = guest, .function = UINT32_MAX, .positions = 1};
    int code = cairn_intern_init(&c.names, NAMES_MAX_BYTES);

    for (int i = 0; i < SPACES; i++)
        cairn_map_init(&c.numbers[i], FUNCTIONS_MAX);
    cairn_map_init(&c.functions_of, FUNCTIONS_MAX);
    cairn_map_init(&c.calls_of, CALLS_MAX);
    if (code == 0)
        code = read_file(&c, feed, err);
    for (int i = 0; i < SPACES; i++)
        cairn_map_release(&c.numbers[i]);
    cairn_map_release(&c.functions_of);
    cairn_map_release(&c.calls_of);
    cairn_vec_release(&c.functions);
    cairn_vec_release(&c.calls);
    cairn_intern_release(&c.names);
    return code;
}
