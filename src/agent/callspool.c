#include "callspool.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "books.h"
#include "clock.h"
#include "exact_parts.h"
#include "linespool.h"
#include "map.h"
#include "spoolfile.h"
#include "ticks.h"
#include "timelinespool.h"
#include "vec.h"
#include "writer.h"

#define MOST_ITEMS ((size_t)1 << 28)
#define MOST_COUNT ((uint64_t)INT64_MAX)
#define DEEPEST ((size_t)1 << 24)
#define LEAST_PIECE_BYTES 32
#define COSTS 8 /* numbers in struct cairn_spool_costs */
#define MOST_COST_NS 1e6
#define LET_GO_SHIFT 32
#define LET_GO (CAIRN_LET_GO_SELF | CAIRN_LET_GO_NATIVES | CAIRN_LET_GO_TIMES)

enum column {
    COL_TRACK,
    COL_STACK,
    COL_CALLS,
    COL_RESUMES,
    COL_SELF,
    COL_TOTAL,
    COL_AWAY,
    COL_LET_GO,
    COLS
};

static const struct cairn_column_def columns[COLS] = {
    [COL_TRACK] = {"track", "id", CAIRN_ENC_RLE},
    [COL_STACK] = {"stack", "id", CAIRN_ENC_DELTA},
    [COL_CALLS] = {"calls", "count", CAIRN_ENC_UVARINT},
    [COL_RESUMES] = {"resumes", "count", CAIRN_ENC_RLE},
    [COL_SELF] = {"self", "ns", CAIRN_ENC_UVARINT},
    [COL_TOTAL] = {"total", "ns", CAIRN_ENC_UVARINT},
    [COL_AWAY] = {"suspended", "ns", CAIRN_ENC_RLE},
    [COL_LET_GO] = {"let_go", "flags", CAIRN_ENC_RLE},
};

/* Times in ticks. They wrap, for what a file says may be anything; above MOST_COUNT: below 0. */
struct sums {
    uint64_t calls, resumes, total, self, suspended;
    uint64_t let_go; /* CAIRN_LET_GO_*, CAIRN_UNTIMED */
};

_Static_assert(sizeof(struct cairn_exact_key) >= LEAST_PIECE_BYTES, "it is the least");
_Static_assert(sizeof(struct cairn_exact_extra) >= LEAST_PIECE_BYTES, "it is the least");
_Static_assert(sizeof(struct cairn_exact_entry) >= LEAST_PIECE_BYTES, "it is the least");
_Static_assert(sizeof(struct cairn_exact_node) >= LEAST_PIECE_BYTES, "it is the least");

struct step { /* a node to be visited */
    uint64_t node;
    uint32_t stack; /* of its parent */
};

struct tree {
    struct cairn_writer *writer;
    struct cairn_err *err;
    double tick_ns;
    struct cairn_timelinespool times;
    const struct cairn_spoolfile *file;
    struct cairn_callspool_result *result;
    uint32_t boot_id, process, thread, truncated; /* strings, tracks, a location */
    struct cairn_map locations; /* of this file: key to location, and what was let go above it */
    struct cairn_map beside;    /* of this thread: node to place in `sums` */
    CAIRN_VEC(struct sums) sums;
    CAIRN_VEC(struct step) steps;
    uint64_t events, lost, strays, healed, folded;
    struct cairn_spool_costs costs; /* of all processes, each times its events; ns */
    double costed;                  /* those events; no whole number, which could wrap */
    struct cairn_books books;
    uint64_t left; /* pieces of this file: no more than have room in it */
    char text_why[sizeof(((struct cairn_spool_head *)NULL)->text_why)]; /* of the first such file */
};

static const void *at(const struct tree *tree, const void *address, size_t size_bytes)
{
    return cairn_spoolfile_at(tree->file, address, size_bytes);
}

/* Before each piece of a list. A list may be a ring, and many may hold the same one: together they
 * have no more pieces than the file has room for. */
static bool goes_on(struct tree *tree)
{
    if (tree->left == 0)
        return false;
    tree->left--;
    return true;
}

static uint64_t to_count(uint64_t value)
{
    return value > MOST_COUNT ? 0 : value;
}

static uint64_t to_ns(const struct tree *tree, uint64_t ticks)
{
    double ns = (double)to_count(ticks) * tree->tick_ns;

    return ns < (double)MOST_COUNT ? (uint64_t)ns : MOST_COUNT;
}

static int put_row(struct tree *tree, uint32_t stack, const struct sums *sums)
{
    const uint64_t values[COLS] = {
        [COL_TRACK] = tree->thread,
        [COL_STACK] = stack,
        [COL_CALLS] = to_count(sums->calls),
        [COL_RESUMES] = to_count(sums->resumes),
        [COL_SELF] = to_ns(tree, sums->self),
        [COL_TOTAL] = to_ns(tree, sums->total),
        [COL_AWAY] = to_ns(tree, sums->suspended),
        [COL_LET_GO] = sums->let_go,
    };
    int code;

    if (values[COL_CALLS] == 0 && values[COL_RESUMES] == 0 && values[COL_TOTAL] == 0)
        return 0;
    tree->events += values[COL_CALLS] + values[COL_RESUMES];
    code = cairn_writer_row(tree->writer, CAIRN_ROW_TREE, columns, COLS, values);
    if (code != -CAIRN_ELIMIT)
        return code;
    CAIRN_TRY(cairn_writer_flush(tree->writer, CAIRN_CHUNK_DATA, tree->err));
    return cairn_writer_row(tree->writer, CAIRN_ROW_TREE, columns, COLS, values);
}

/* --- what callees are called --- */

static int put_string(struct tree *tree, const char **text, size_t size_bytes, uint32_t *ret_id)
{
    const struct cairn_span span = {(const uint8_t *)*text, size_bytes};

    *text += size_bytes;
    return cairn_writer_string(tree->writer, span, ret_id);
}

/* What is not has "~" for a file. */
static bool is_python(const struct tree *tree, const struct cairn_exact_key *key)
{
    const struct cairn_exact_name *name = at(tree, key->name, sizeof(*name));

    return name == NULL || name->file_bytes != 1;
}

static int put_location(struct tree *tree, const struct cairn_exact_key *key)
{
    const struct cairn_exact_name *name = at(tree, key->name, sizeof(*name));
    struct cairn_location_def location = {.kind = CAIRN_LOC_PYTHON, .offset = -1};
    struct cairn_code_def code = {0};
    const char *text;
    uint32_t id;
    uint64_t had;

    uint64_t let_go = (uint64_t)(key->let_go & LET_GO) << LET_GO_SHIFT;

    if (tree->file->head->meter.plain == 1 && is_python(tree, key))
        let_go |= (uint64_t)CAIRN_LET_GO_TIMES << LET_GO_SHIFT;
    /* Threads that came later do not know what was let go. */
    if (cairn_map_get(&tree->locations, (uint64_t)(uintptr_t)key->key, 0, &had))
        return let_go == 0 ? 0
                           : cairn_map_put(&tree->locations, (uint64_t)(uintptr_t)key->key, 0,
                                           had | let_go);
    if (name == NULL || at(tree, key->name,
                           sizeof(*name) + (size_t)name->name_bytes + name->qualname_bytes +
                               name->file_bytes) == NULL)
        return 0;
    text = name->text;
    CAIRN_TRY(put_string(tree, &text, name->name_bytes, &code.name));
    CAIRN_TRY(put_string(tree, &text, name->qualname_bytes, &code.qualname));
    CAIRN_TRY(put_string(tree, &text, name->file_bytes, &code.file));
    code.first_line = name->first_line;
    CAIRN_TRY(cairn_writer_code(tree->writer, &code, &location.ref));
    CAIRN_TRY(cairn_writer_location(tree->writer, &location, &id));
    return cairn_map_put(&tree->locations, (uint64_t)(uintptr_t)key->key, 0, id | let_go);
}

static int put_locations(struct tree *tree, const struct cairn_exact_thread *thread)
{
    const struct cairn_exact_key *key = at(tree, thread->first_key, sizeof(*key));

    while (key != NULL && goes_on(tree)) {
        CAIRN_TRY(put_location(tree, key));
        key = key->next == NULL ? NULL : at(tree, key->next, sizeof(*key));
    }
    return 0;
}

/* The stack of a callee that is called from `parent`; false: nobody knows what it is called. */
static int stack_of(struct tree *tree, uint32_t parent, const void *key, uint32_t *ret_stack,
                    bool *ret_known)
{
    uint64_t location;

    *ret_known = cairn_map_get(&tree->locations, (uint64_t)(uintptr_t)key, 0, &location);
    if (!*ret_known)
        return 0;
    return cairn_writer_stack(tree->writer, parent, (uint32_t)location, ret_stack);
}

/* Flags of a row: what was left out of the callee, and whether these calls are among it. */
static uint64_t flags_of(const struct tree *tree, const void *key)
{
    const void *plain = cairn_exact_plain(key);
    uint64_t location = 0;

    (void)cairn_map_get(&tree->locations, (uint64_t)(uintptr_t)plain, 0, &location);
    return location >> LET_GO_SHIFT | (plain != key ? CAIRN_UNTIMED : 0);
}

/* --- what is not in the nodes: generators, and calls that are not over --- */

static int beside_of(struct tree *tree, const void *node, struct sums **ret_sums)
{
    uint64_t place;

    if (!cairn_map_get(&tree->beside, (uint64_t)(uintptr_t)node, 0, &place)) {
        place = tree->sums.count;
        CAIRN_TRY(cairn_vec_reserve(&tree->sums, place + 1, MOST_ITEMS));
        CAIRN_TRY(cairn_map_put(&tree->beside, (uint64_t)(uintptr_t)node, 0, place));
        tree->sums.items[tree->sums.count++] = (struct sums){0};
    }
    *ret_sums = &tree->sums.items[place];
    return 0;
}

static int take_extras(struct tree *tree, const struct cairn_exact_thread *thread)
{
    const struct cairn_exact_extra *extra = at(tree, thread->first_extra, sizeof(*extra));
    struct sums *sums;

    while (thread->first_extra != NULL && extra != NULL && goes_on(tree)) {
        CAIRN_TRY(beside_of(tree, extra->node, &sums));
        sums->resumes += (uint64_t)extra->resumes;
        sums->suspended += (uint64_t)extra->suspended;
        extra = extra->next == NULL ? NULL : at(tree, extra->next, sizeof(*extra));
    }
    return 0;
}

/* What was on the stack when the process went: it lasted until the thread's last event. */
static int take_open(struct tree *tree, const struct cairn_exact_thread *thread)
{
    size_t depth = thread->depth;
    const struct cairn_exact_entry *stack;
    uint64_t above = 0;
    struct sums *sums;

    if (depth == 0 || depth > DEEPEST)
        return 0;
    stack = at(tree, thread->stack, depth * sizeof(*stack));
    for (; stack != NULL && depth > 0 && goes_on(tree); depth--) {
        const struct cairn_exact_entry *entry = &stack[depth - 1];
        uint64_t total = (uint64_t)thread->last - (uint64_t)entry->start;

        CAIRN_TRY(beside_of(tree, entry->node, &sums));
        sums->calls++;
        sums->total += total;
        sums->self += total - (uint64_t)entry->inside - above;
        above = total;
    }
    return 0;
}

static struct sums sums_of(const struct tree *tree, const void *address,
                           const struct cairn_exact_node *node)
{
    struct sums sums = {.calls = (uint64_t)node->calls,
                        .total = (uint64_t)node->total,
                        .self = (uint64_t)node->self};
    uint64_t place;

    if (cairn_map_get(&tree->beside, (uint64_t)(uintptr_t)address, 0, &place)) {
        const struct sums *beside = &tree->sums.items[place];

        sums.calls += beside->calls;
        sums.resumes += beside->resumes;
        sums.total += beside->total;
        sums.self += beside->self;
        sums.suspended += beside->suspended;
    }
    return sums;
}

/* --- the tree --- */

static int push(struct tree *tree, const void *address, uint32_t stack)
{
    if (address == NULL)
        return 0;
    CAIRN_TRY(cairn_vec_reserve(&tree->steps, tree->steps.count + 1, MOST_ITEMS));
    tree->steps.items[tree->steps.count++] = (struct step){(uint64_t)(uintptr_t)address, stack};
    return 0;
}

static int visit(struct tree *tree, struct step step)
{
    const void *address = (const void *)(uintptr_t)step.node;
    const struct cairn_exact_node *node = at(tree, address, sizeof(*node));
    struct sums sums;
    uint32_t stack;
    bool known;

    if (node == NULL)
        return 0;
    CAIRN_TRY(push(tree, node->next, step.stack));
    sums = sums_of(tree, address, node);
    CAIRN_TRY(stack_of(tree, step.stack, cairn_exact_plain(node->key), &stack, &known));
    if (!known) {
        /* Of one that lives on it came after the copy began, as all that it will count yet. */
        tree->lost += tree->file->grew ? 0 : to_count(sums.calls);
        return 0;
    }
    sums.let_go = flags_of(tree, node->key);
    CAIRN_TRY(put_row(tree, stack, &sums));
    CAIRN_TRY(cairn_timelinespool_learn(&tree->times, step.node, stack));
    return push(tree, node->first, stack);
}

static int put_tree(struct tree *tree, const struct cairn_exact_node *root)
{
    tree->steps.count = 0;
    CAIRN_TRY(push(tree, root->first, 0));
    while (tree->steps.count > 0 && goes_on(tree))
        CAIRN_TRY(visit(tree, tree->steps.items[--tree->steps.count]));
    return 0;
}

/* A pair of caller and callee whose path is not known. Calls that were made below a call of the
 * same callee, or of the same pair, get a stack on which that stands: so what counts recursion once
 * does so here as well. */
static int put_pair(struct tree *tree, const void *address, const struct cairn_exact_fold *fold,
                    unsigned repeated, const struct sums *sums)
{
    const void *callee = cairn_exact_plain(fold->node.key);
    const void *path[] = {fold->caller, callee, fold->caller, callee};
    size_t from = repeated == 2 ? 0 : repeated == 1 ? 1 : 2;
    uint32_t stack;
    bool known = true;

    CAIRN_TRY(cairn_writer_stack(tree->writer, 0, tree->truncated, &stack));
    for (size_t i = from; i < 4 && known; i++)
        if (path[i] != NULL)
            CAIRN_TRY(stack_of(tree, stack, path[i], &stack, &known));
    if (!known)
        return 0;
    if (sums->calls != 0 || sums->resumes != 0 || sums->total != 0)
        CAIRN_TRY(cairn_timelinespool_learn(&tree->times, (uint64_t)(uintptr_t)address, stack));
    return put_row(tree, stack, sums);
}

static int put_fold(struct tree *tree, const void *address, const struct cairn_exact_fold *fold)
{
    struct sums all = sums_of(tree, address, &fold->node), outer, pair, rest;

    outer = (struct sums){.calls = (uint64_t)fold->outer_calls,
                          .resumes = all.resumes,
                          .total = (uint64_t)fold->outer_total,
                          .self = all.self,
                          .suspended = all.suspended,
                          .let_go = flags_of(tree, fold->node.key)};
    pair = (struct sums){.calls = (uint64_t)fold->edge_calls - (uint64_t)fold->outer_calls,
                         .total = (uint64_t)fold->edge_total - (uint64_t)fold->outer_total};
    rest = (struct sums){.calls = all.calls - (uint64_t)fold->edge_calls,
                         .total = all.total - (uint64_t)fold->edge_total};
    CAIRN_TRY(put_pair(tree, address, fold, 0, &outer));
    CAIRN_TRY(put_pair(tree, address, fold, 1, &pair));
    return put_pair(tree, address, fold, 2, &rest);
}

static int put_folds(struct tree *tree, const struct cairn_exact_thread *thread)
{
    const void *address = thread->first_fold;

    while (address != NULL && goes_on(tree)) {
        const struct cairn_exact_fold *fold = at(tree, address, sizeof(*fold));

        if (fold == NULL)
            break;
        CAIRN_TRY(put_fold(tree, address, fold));
        address = fold->node.next;
    }
    return 0;
}

static int put_thread(struct tree *tree, const void *address,
                      const struct cairn_exact_thread *thread)
{
    const struct cairn_track_def track = {.kind = CAIRN_TRACK_THREAD,
                                          .parent = tree->process,
                                          .number = thread->tid,
                                          .start_ns = thread->start_ns};

    tree->thread = 0;
    tree->sums.count = 0;
    cairn_map_clear(&tree->beside);
    CAIRN_TRY(cairn_writer_track(tree->writer, &track, &tree->thread));
    CAIRN_TRY(put_locations(tree, thread));
    CAIRN_TRY(take_extras(tree, thread));
    CAIRN_TRY(take_open(tree, thread));
    CAIRN_TRY(put_tree(tree, &thread->roots[0]));
    tree->lost += thread->tally.lost;
    tree->strays += thread->tally.strays;
    tree->healed += thread->tally.healed;
    tree->folded += thread->tally.folded;
    CAIRN_TRY(put_folds(tree, thread));
    return cairn_timelinespool_put(&tree->times, (uint64_t)(uintptr_t)address, tree->thread,
                                   thread->last);
}

static int put_process(struct tree *tree, const struct cairn_spool_head *head)
{
    const struct cairn_track_def track = {.kind = CAIRN_TRACK_PROCESS,
                                          .number = head->pid,
                                          .start_ns = head->start_ns,
                                          .boot_id = tree->boot_id};
    const struct cairn_exact_thread *thread;
    const void *address = head->root;

    tree->process = 0;
    tree->left = tree->file->size_bytes / LEAST_PIECE_BYTES;
    tree->lost += head->lost;
    cairn_map_clear(&tree->locations);
    CAIRN_TRY(cairn_writer_track(tree->writer, &track, &tree->process));
    CAIRN_TRY(cairn_timelinespool_open(&tree->times, tree->file));
    while (address != NULL && goes_on(tree)) {
        thread = at(tree, address, sizeof(*thread));
        if (thread == NULL)
            break;
        CAIRN_TRY(put_thread(tree, address, thread));
        address = thread->next;
    }
    return 0;
}

/* Counts what the events of a process cost there. What a file says may be anything. */
static void add_costs(struct tree *tree, const struct cairn_spool_costs *costs, uint64_t events)
{
    const double *from = (const double *)(const void *)costs;
    double *to = (double *)(void *)&tree->costs;

    _Static_assert(sizeof(*costs) == COSTS * sizeof(*from), "they are all of one type");
    for (size_t i = 0; i < COSTS; i++)
        if (!(from[i] >= 0 && from[i] < MOST_COST_NS))
            return;
    if (from[0] <= 0) /* they were not measured */
        return;
    for (size_t i = 0; i < COSTS; i++)
        to[i] += from[i] * (double)events;
    tree->costed += (double)events;
}

/* Whether events came by jumps in the text, and why not. */
static void add_text(struct tree *tree, const struct cairn_spool_head *head)
{
    size_t length = 0;

    tree->result->text += head->text == CAIRN_SPOOL_TEXT_USED;
    if (head->text != CAIRN_SPOOL_TEXT_LEFT || tree->text_why[0] != '\0')
        return;
    while (length + 1 < sizeof(tree->text_why) && head->text_why[length] >= ' ' &&
           head->text_why[length] <= '~') {
        tree->text_why[length] = head->text_why[length];
        length++;
    }
    tree->text_why[length] = '\0';
}

static int put_file(void *context, const struct cairn_spoolfile *file)
{
    struct tree *tree = context;
    uint64_t before = tree->events;
    int code;

    tree->file = file;
    tree->result->processes++;
    tree->result->cut_short += file->cut;
    tree->result->displaced += file->head->displaced == 1;
    add_text(tree, file->head);
    code = put_process(tree, file->head);
    add_costs(tree, &file->head->costs, tree->events - before);
    cairn_books_add(&tree->books, &file->head->meter);
    if (tree->times.fd < 0)
        tree->times.untold += tree->events - before;
    return code;
}

static int put_costs(struct tree *tree)
{
    const double *costs = (const double *)(const void *)&tree->costs;
    char text[COSTS * 16];
    size_t length = 0;

    if (tree->costed <= 0)
        return 0;
    for (size_t i = 0; i < COSTS && length < sizeof(text); i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%.1f", i ? " " : "",
                                   costs[i] / tree->costed);
    return length >= sizeof(text)
               ? 0
               : cairn_writer_env(tree->writer, "counting.costs_ns",
                                  (struct cairn_span){(const uint8_t *)text, length});
}

static int put_counters(struct tree *tree, const struct cairn_callspool_result *result)
{
    CAIRN_TRY(cairn_linespool_counters(tree->writer, &result->lines));
    CAIRN_TRY(cairn_regionspool_counters(tree->writer, &result->regions));
    CAIRN_TRY(cairn_books_put(tree->writer, &tree->books, &result->lines.books));
    if (result->processes == 0)
        return 0;
    CAIRN_TRY(put_costs(tree));
    CAIRN_TRY(cairn_timelinespool_counters(&tree->times));
    CAIRN_TRY(cairn_writer_counter(tree->writer, "exact_processes", result->processes));
    CAIRN_TRY(cairn_writer_counter(tree->writer, "exact_cut_short", result->cut_short));
    CAIRN_TRY(cairn_writer_counter(tree->writer, "exact_displaced", result->displaced));
    CAIRN_TRY(cairn_writer_counter(tree->writer, "exact_text_hook", result->text));
    if (tree->text_why[0] != '\0')
        CAIRN_TRY(cairn_writer_env(
            tree->writer, "counting.text_hook",
            (struct cairn_span){(const uint8_t *)tree->text_why, strlen(tree->text_why)}));
    CAIRN_TRY(cairn_writer_counter(tree->writer, "events", tree->events));
    CAIRN_TRY(cairn_writer_counter(tree->writer, "events_lost", tree->lost));
    CAIRN_TRY(cairn_writer_counter(tree->writer, "exact_strays", tree->strays));
    CAIRN_TRY(cairn_writer_counter(tree->writer, "exact_healed", tree->healed));
    return cairn_writer_counter(tree->writer, "exact_folded", tree->folded);
}

static int begin(struct tree *tree)
{
    struct cairn_location_def label = {.kind = CAIRN_LOC_LABEL};
    char boot_id[37];

    cairn_clock_boot_id(boot_id);
    CAIRN_TRY(cairn_writer_str(tree->writer, boot_id, &tree->boot_id));
    CAIRN_TRY(cairn_writer_str(tree->writer, "[truncated]", &label.ref));
    return cairn_writer_location(tree->writer, &label, &tree->truncated);
}

int cairn_callspool_write(const char *folder, struct cairn_sink *sink, uint32_t writer_id,
                          struct cairn_callspool_result *ret_result, struct cairn_err *err)
{
    const struct cairn_writer_options options = {
        .id = writer_id, .role = "agent", .pid = (uint64_t)getpid()};
    struct tree tree = {.err = err, .result = ret_result, .tick_ns = cairn_ticks_ns()};
    int code;

    *ret_result = (struct cairn_callspool_result){0};
    cairn_map_init(&tree.locations, MOST_ITEMS);
    cairn_map_init(&tree.beside, MOST_ITEMS);
    cairn_timelinespool_init(&tree.times);
    code = cairn_writer_open(sink, &options, &tree.writer);
    tree.times.writer = tree.writer;
    tree.times.err = err;
    tree.times.tick_ns = tree.tick_ns;
    if (code == 0)
        code = begin(&tree);
    if (code == 0)
        code = cairn_spoolfile_each(folder, &cairn_spool_calls, put_file, &tree);
    if (code == 0)
        code = cairn_linespool_put(folder, tree.writer, tree.boot_id, &ret_result->lines, err);
    if (code == 0)
        code = cairn_regionspool_put(folder, tree.writer, tree.boot_id, &ret_result->regions, err);
    ret_result->events = tree.events;
    ret_result->lost = tree.lost;
    ret_result->times.kept = tree.times.kept;
    ret_result->times.lost = tree.times.lost;
    ret_result->times.gone = tree.times.gone;
    if (code == 0)
        code = put_counters(&tree, ret_result);
    if (code == 0)
        code = cairn_writer_flush(tree.writer, CAIRN_CHUNK_DATA, err);
    else
        cairn_err_set(err, code, 0, "calls", "the calls that were counted in %.300s: %s", folder,
                      cairn_err_sentence(code));
    cairn_writer_free(tree.writer);
    cairn_map_release(&tree.locations);
    cairn_map_release(&tree.beside);
    cairn_timelinespool_release(&tree.times);
    cairn_vec_release(&tree.sums);
    cairn_vec_release(&tree.steps);
    return code;
}
