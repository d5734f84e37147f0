/* in_prof.c: what cProfile writes, as a recording: functions and who called them, no stacks. Its
 * table is kept as it is; stacks are inferred of it. */
#include <math.h>

#include "formats.h"
#include "inferred.h"
#include "prof.h"

#define FILE_MAX_BYTES ((size_t)96 << 20)
#define CALLS_MAX ((size_t)1 << 21)

struct table {
    CAIRN_VEC(struct cairn_inferred_function) functions; /* as the rows of the profile */
    CAIRN_VEC(struct cairn_inferred_call) calls;
};

static bool ns_of(double seconds, uint64_t *ret_ns)
{
    if (seconds * 1e9 > (double)CAIRN_GUEST_TIME_MAX_NS)
        return false;
    *ret_ns = seconds > 0 ? (uint64_t)llround(seconds * 1e9) : 0;
    return true;
}

/* Functions of C are code of the file "~", as where Cairn counts; profile has the empty one. */
static struct cairn_guest_frame frame_of(const struct cairn_prof *prof, uint32_t key)
{
    int64_t line = prof->keys.items[key].line;

    return (struct cairn_guest_frame){
        .name = cairn_prof_name(prof, key),
        .file = cairn_prof_file(prof, key),
        .is_code = true,
        .first_line = line > 0 && line <= INT32_MAX ? (uint32_t)line : 0,
    };
}

/* Calls that no caller accounts for: they began when nothing else that is profiled ran. None of
 * them recursed, so where there are as many primitive calls, all others did. */
static double outside_calls(const struct cairn_prof *prof, const struct cairn_prof_row *row,
                            bool *ret_others_recurse)
{
    double calls = (double)row->numbers.calls;

    for (uint32_t i = row->first; i != CAIRN_PROF_NONE; i = prof->callers.items[i].next)
        calls -= (double)prof->callers.items[i].numbers.calls;
    *ret_others_recurse =
        row->first != CAIRN_PROF_NONE && calls >= 1 && calls == (double)row->numbers.primitive;
    return calls;
}

static void find_outside(struct cairn_inferred_function *function, const struct cairn_prof *prof,
                         const struct cairn_prof_row *row)
{
    double self = row->numbers.self_s, total = row->numbers.total_s, calls;
    bool plain = false, others_recurse;

    for (uint32_t i = row->first; i != CAIRN_PROF_NONE; i = prof->callers.items[i].next) {
        const struct cairn_prof_caller *caller = &prof->callers.items[i];

        self -= caller->numbers.self_s;
        total -= caller->key == row->key ? 0 : caller->numbers.total_s;
        plain |= caller->numbers.plain;
    }
    calls = outside_calls(prof, row, &others_recurse);
    if (row->first == CAIRN_PROF_NONE || !(calls >= 1))
        return;
    if (others_recurse)
        total = row->numbers.total_s;
    function->self = plain ? calls : self > 0 ? self : 0;
    function->total = plain ? calls : total > 0 ? total : 0;
}

static int add_function(struct table *table, const struct cairn_prof *prof,
                        const struct cairn_prof_row *row)
{
    struct cairn_inferred_function *function;

    CAIRN_TRY(cairn_vec_reserve(&table->functions, table->functions.count + 1, CALLS_MAX));
    function = &table->functions.items[table->functions.count++];
    *function = (struct cairn_inferred_function){.frame = frame_of(prof, row->key)};
    find_outside(function, prof, row);
    return ns_of(row->numbers.self_s, &function->self_ns) &&
                   ns_of(row->numbers.total_s, &function->total_ns)
               ? 0
               : -CAIRN_EDAMAGED;
}

/* profile counts the calls of each caller and nothing else: time is shared out by them. */
static int add_calls(struct table *table, const struct cairn_prof *prof, uint32_t callee)
{
    const struct cairn_prof_row *row = &prof->rows.items[callee];
    bool recurse;
    uint32_t caller;

    (void)outside_calls(prof, row, &recurse);
    for (uint32_t i = row->first; i != CAIRN_PROF_NONE; i = prof->callers.items[i].next) {
        const struct cairn_prof_numbers *numbers = &prof->callers.items[i].numbers;
        struct cairn_inferred_call call = {.callee = callee};

        if (!cairn_prof_find(prof, prof->callers.items[i].key, &caller))
            continue; /* it has no row: what it called begins a stack */
        call.caller = caller;
        call.self = numbers->plain ? (double)numbers->calls : numbers->self_s;
        call.total = numbers->plain ? (double)numbers->calls : numbers->total_s;
        if (recurse) /* its time is in that of the call below it */
            call.total = 0;
        if (!(call.self >= 0 && call.total >= 0))
            continue;
        CAIRN_TRY(cairn_vec_reserve(&table->calls, table->calls.count + 1, CALLS_MAX));
        table->calls.items[table->calls.count++] = call;
    }
    return 0;
}

static int count(struct cairn_guest *guest, uint32_t thread, uint32_t stack,
                 const struct cairn_prof_numbers *numbers)
{
    /* pyinstrument writes -1, since it counts none. */
    bool known = numbers->calls >= 0 && numbers->primitive >= 0;
    const struct cairn_guest_calls calls = {
        .thread = thread,
        .stack = stack,
        .calls = known ? (uint64_t)numbers->calls : 0,
        .primitive = known ? (uint64_t)numbers->primitive : 0,
        .unsure = !known,
        .self_s = numbers->self_s,
        .total_s = numbers->total_s,
        .plain = numbers->plain,
    };

    return cairn_guest_count_calls(guest, &calls);
}

/* The table itself: a row, and so much of it for each caller. */
static int count_row(const struct cairn_prof *prof, const struct cairn_prof_row *row,
                     struct cairn_guest *guest, uint32_t thread)
{
    struct cairn_guest_frame frame = frame_of(prof, row->key);
    uint32_t callee, caller, stack;

    CAIRN_TRY(cairn_guest_frame(guest, &frame, &callee));
    CAIRN_TRY(cairn_guest_stack(guest, 0, callee, &stack));
    CAIRN_TRY(count(guest, thread, stack, &row->numbers));
    for (uint32_t i = row->first; i != CAIRN_PROF_NONE; i = prof->callers.items[i].next) {
        frame = frame_of(prof, prof->callers.items[i].key);
        CAIRN_TRY(cairn_guest_frame(guest, &frame, &caller));
        CAIRN_TRY(cairn_guest_stack(guest, 0, caller, &stack));
        CAIRN_TRY(cairn_guest_stack(guest, stack, callee, &stack));
        CAIRN_TRY(count(guest, thread, stack, &prof->callers.items[i].numbers));
    }
    return 0;
}

static int give(const struct cairn_prof *prof, struct table *table, struct cairn_guest *guest)
{
    struct cairn_guest_thread all = {.name = {NULL, 0}};
    uint32_t thread;

    CAIRN_TRY(cairn_guest_thread(guest, &all, &thread));
    for (uint32_t i = 0; i < prof->rows.count; i++) {
        CAIRN_TRY(add_function(table, prof, &prof->rows.items[i]));
        CAIRN_TRY(add_calls(table, prof, i));
        if (!prof->sampled)
            CAIRN_TRY(count_row(prof, &prof->rows.items[i], guest, thread));
    }
    CAIRN_TRY(cairn_inferred_give(guest, thread, table->functions.items, table->functions.count,
                                  table->calls.items, table->calls.count));
    CAIRN_TRY(cairn_guest_fact(guest, "import.stacks", "inferred"));
    CAIRN_TRY(cairn_guest_fact(guest, "import.times", "none"));
    if (prof->sampled)
        CAIRN_TRY(cairn_guest_fact(guest, "import.lost",
                                   "numbers of samples, which `cairn pstats` tells"));
    return cairn_guest_fact(guest, "import.values",
                            prof->sampled ? "time of samples" : "calls and their time");
}

int cairn_in_prof(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct table table = {.functions = {.items = NULL}};
    struct cairn_prof prof;
    struct cairn_span bytes;
    int code = cairn_feed_rest(feed, FILE_MAX_BYTES, &bytes);

    if (code < 0)
        return code;
    code = cairn_prof_init(&prof);
    if (code == 0)
        code = cairn_prof_read(&prof, bytes, err);
    if (code == 0)
        code = give(&prof, &table, guest);
    cairn_prof_release(&prof);
    cairn_vec_release(&table.functions);
    cairn_vec_release(&table.calls);
    return code;
}
