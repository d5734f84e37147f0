/* in_prof.c: what cProfile writes, as a recording: functions and who called them, no stacks. */
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

static int add_function(struct table *table, const struct cairn_prof *prof,
                        const struct cairn_prof_row *row)
{
    const struct cairn_prof_key *key = &prof->keys.items[row->key];
    struct cairn_inferred_function *function;

    CAIRN_TRY(cairn_vec_reserve(&table->functions, table->functions.count + 1, CALLS_MAX));
    function = &table->functions.items[table->functions.count++];
    function->frame.name = cairn_prof_name(prof, row->key);
    function->frame.file = cairn_prof_file(prof, row->key);
    if (function->frame.file.size_bytes == 1 && function->frame.file.data[0] == '~')
        function->frame.file = (struct cairn_span){NULL, 0}; /* not written in Python */
    if (key->line > 0 && key->line <= INT32_MAX)
        function->frame.first_line = (uint32_t)key->line;
    return ns_of(row->numbers.self_s, &function->self_ns) &&
                   ns_of(row->numbers.total_s, &function->total_ns)
               ? 0
               : -CAIRN_EDAMAGED;
}

/* profile counts the calls of each caller and nothing else: time is shared out by them. */
static int add_calls(struct table *table, const struct cairn_prof *prof, uint32_t callee)
{
    const struct cairn_prof_row *row = &prof->rows.items[callee];
    uint32_t caller;

    for (uint32_t i = row->first; i != CAIRN_PROF_NONE; i = prof->callers.items[i].next) {
        const struct cairn_prof_numbers *numbers = &prof->callers.items[i].numbers;
        struct cairn_inferred_call call = {.callee = callee};

        if (!cairn_prof_find(prof, prof->callers.items[i].key, &caller))
            continue; /* it has no row: what it called begins a stack */
        call.caller = caller;
        call.self = numbers->plain ? (double)numbers->calls : numbers->self_s;
        call.total = numbers->plain ? (double)numbers->calls : numbers->total_s;
        if (!(call.self >= 0 && call.total >= 0))
            continue;
        CAIRN_TRY(cairn_vec_reserve(&table->calls, table->calls.count + 1, CALLS_MAX));
        table->calls.items[table->calls.count++] = call;
    }
    return 0;
}

static int give(const struct cairn_prof *prof, struct table *table, struct cairn_guest *guest)
{
    struct cairn_guest_thread all = {.name = {NULL, 0}};
    uint32_t thread;

    for (uint32_t i = 0; i < prof->rows.count; i++) {
        CAIRN_TRY(add_function(table, prof, &prof->rows.items[i]));
        CAIRN_TRY(add_calls(table, prof, i));
    }
    CAIRN_TRY(cairn_guest_thread(guest, &all, &thread));
    CAIRN_TRY(cairn_inferred_give(guest, thread, table->functions.items, table->functions.count,
                                  table->calls.items, table->calls.count));
    CAIRN_TRY(cairn_guest_fact(guest, "import.stacks", "inferred"));
    CAIRN_TRY(cairn_guest_fact(guest, "import.times", "none"));
    CAIRN_TRY(
        cairn_guest_fact(guest, "import.lost", "numbers of calls, which `cairn pstats` tells"));
    return cairn_guest_fact(guest, "import.values", "time of calls");
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
