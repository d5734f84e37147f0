#include "facts.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "program.h"

void cairn_facts_put(struct cairn_json *json, const char *key, uint64_t value)
{
    cairn_json_put_known(json, key, value != CAIRN_FACT_NONE, value);
}

uint64_t cairn_facts_number(const struct cairn_model *model, const char *key)
{
    struct cairn_span text = cairn_model_env(model, key);
    uint64_t value = 0;

    if (text.size_bytes == 0 || text.size_bytes > 19) /* 19 digits always fit */
        return CAIRN_FACT_NONE;
    for (size_t i = 0; i < text.size_bytes; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return CAIRN_FACT_NONE;
        value = value * 10 + (text.data[i] - '0');
    }
    return value;
}

struct cairn_span cairn_facts_layout(const struct cairn_model *model)
{
    struct cairn_span text = cairn_model_env(model, "target.python"); /* "3.9.2 (table+probe)" */
    const uint8_t *start = text.size_bytes ? memchr(text.data, '(', text.size_bytes) : NULL;

    if (!start || text.data[text.size_bytes - 1] != ')')
        return (struct cairn_span){NULL, 0};
    start++;
    return (struct cairn_span){start, (size_t)(text.data + text.size_bytes - 1 - start)};
}

const char *cairn_facts_signal(uint64_t number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
        {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"},
        {SIGSEGV, "SIGSEGV"}, {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
        {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}, {SIGXCPU, "SIGXCPU"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if ((uint64_t)names[i].number == number)
            return names[i].name;
    return NULL;
}

/* "1.500" without help of the locale. */
static double decimal(struct cairn_span text)
{
    double value = 0, scale = 1;
    bool behind_point = false;

    for (size_t i = 0; i < text.size_bytes && i < 24; i++) {
        if (text.data[i] == '.' && !behind_point) {
            behind_point = true;
            continue;
        }
        if (text.data[i] < '0' || text.data[i] > '9')
            return 0;
        value = value * 10 + (text.data[i] - '0');
        if (behind_point)
            scale *= 10;
    }
    return value / scale;
}

static bool equals(struct cairn_span text, const char *str)
{
    return text.size_bytes == strlen(str) && memcmp(text.data, str, text.size_bytes) == 0;
}

/* What importers say of numbers that are no time: "samples, each shown as 1 us". */
static void find_no_time(struct cairn_span values, struct cairn_facts *facts)
{
    static const char shown[] = ", each shown as 1 ";
    const uint8_t *at = NULL;
    size_t unit; /* where it stands: "us" or "ns" */

    if (values.size_bytes > 0)
        at = memmem(values.data, values.size_bytes, shown, strlen(shown));
    if (!at && !equals(values, "numbers without a unit")) /* of import/in_collapsed.c and others */
        return;
    facts->no_time = at ? (struct cairn_span){values.data, (size_t)(at - values.data)} : values;
    unit = facts->no_time.size_bytes + strlen(shown);
    facts->each_ns = unit < values.size_bytes && values.data[unit] == 'n' ? 1 : 1000;
}

uint64_t cairn_facts_each_ns(const struct cairn_model *model)
{
    struct cairn_facts facts = {0};

    find_no_time(cairn_model_env(model, "import.values"), &facts);
    return facts.each_ns;
}

static void gather_environment(const struct cairn_tally *tally, struct cairn_facts *facts)
{
    const struct cairn_model *model = tally->model;

    facts->recordings = cairn_model_recordings(model);
    facts->attached = equals(cairn_model_env(model, "run.mode"), "attach");
    facts->wall_ns = cairn_facts_number(model, "run.wall_ns");
    if (facts->wall_ns == CAIRN_FACT_NONE)
        facts->wall_ns = tally->last_ns - tally->first_ns;
    facts->user_ns = cairn_facts_number(model, "run.user_ns");
    facts->sys_ns = cairn_facts_number(model, "run.sys_ns");
    facts->peak_bytes = cairn_facts_number(model, "run.peak_bytes");
    facts->exit_status = cairn_facts_number(model, "run.exit");
    facts->signal_number = cairn_facts_number(model, "run.signal");
    facts->cores = decimal(cairn_model_env(model, "host.cores_usable"));
    facts->command = cairn_model_env(model, "run.command");
    facts->program = cairn_program_of(facts->command);
    facts->children = cairn_model_env(model, "run.children");
    facts->interval_ns = cairn_facts_number(model, "sampler.interval_ns");
    if (facts->interval_ns == CAIRN_FACT_NONE)
        facts->interval_ns = 0;
    facts->guest = cairn_model_env(model, "import.format");
    facts->values = cairn_model_env(model, "import.values");
    find_no_time(facts->values, facts);
    facts->lost = cairn_model_env(model, "import.lost");
    facts->incomplete = cairn_model_env(model, "import.incomplete");
    facts->callless = equals(cairn_model_env(model, "import.stacks"), "none");
    facts->inferred =
        facts->callless || equals(cairn_model_env(model, "import.stacks"), "inferred");
    facts->timeless = cairn_facts_is_timeless(model);
}

bool cairn_facts_is_timeless(const struct cairn_model *model)
{
    return equals(cairn_model_env(model, "import.times"), "none");
}

const char *cairn_facts_inference(const struct cairn_model *model)
{
    struct cairn_span stacks = cairn_model_env(model, "import.stacks");

    if (equals(stacks, "none"))
        return "stacks and their totals are inferred (the file that was read knows lines, and "
               "nothing of who called whom)";
    if (equals(stacks, "inferred"))
        return "stacks and their totals are inferred (the file that was read knows who called "
               "whom, and no stacks)";
    return NULL;
}

struct gathering {
    const struct cairn_tally *tally;
    struct cairn_facts *facts;
    const struct cairn_node *nodes;
    const struct cairn_frame *frames;
    const struct cairn_function *functions;
    uint64_t *import_ns, *idle_ns; /* of each function */
};

/* Of the stack's outermost import, the function that is its module's code; UINT32_MAX: none yet. */
static uint32_t import_of(const struct gathering *g, uint32_t node)
{
    uint32_t module = UINT32_MAX, found = UINT32_MAX;

    for (; node != 0; node = g->nodes[node].parent) {
        uint32_t index = g->frames[g->nodes[node].frame].function;

        if (equals(g->functions[index].name, "<module>"))
            module = index;
        else if (g->functions[index].origin == CAIRN_ORIGIN_IMPORT && module != UINT32_MAX)
            found = module;
    }
    return found;
}

static void gather_cell(struct gathering *g, const struct cairn_cell *cell)
{
    struct cairn_facts *facts = g->facts;
    struct cairn_weight *phase = &facts->busy_phase[cell->phase];
    struct cairn_weight busy = {cell->weight.ticks - cell->idle.ticks,
                                cell->weight.value_ns - cell->idle.value_ns};

    phase->ticks += busy.ticks;
    phase->value_ns += busy.value_ns;
    facts->busy.ticks += busy.ticks;
    facts->busy.value_ns += busy.value_ns;
    g->idle_ns[g->frames[g->nodes[cell->node].frame].function] += cell->idle.value_ns;
    if (cell->phase == CAIRN_PHASE_IMPORT) {
        uint32_t function = import_of(g, cell->node);

        if (function != UINT32_MAX)
            g->import_ns[function] += busy.value_ns;
    }
    for (int state = 0; cell->phase == CAIRN_PHASE_PROGRAM && state < CAIRN_STATE_COUNT; state++) {
        uint64_t ns = cell->state_ns[state];

        /* Idle is the part of a wait for work in which the thread was off the processor. */
        if (state == CAIRN_STATE_BLOCKED)
            ns -= cell->idle.value_ns < ns ? cell->idle.value_ns : ns;
        facts->program_state_ns[state] += ns;
        facts->program_state_sum_ns += ns;
    }
}

static void gather_places(struct gathering *g, size_t function_count)
{
    uint64_t most_idle_ns = 0;

    g->facts->idle_function = UINT32_MAX;
    for (size_t i = 0; i < function_count; i++) {
        if (g->import_ns[i] > g->facts->import_ns) {
            g->facts->import_ns = g->import_ns[i];
            g->facts->import = g->functions[i].module;
        }
        if (g->idle_ns[i] > most_idle_ns) {
            most_idle_ns = g->idle_ns[i];
            g->facts->idle_function = (uint32_t)i;
        }
    }
}

/* Threads and processes that ran Python: a shell that started one is not what people count. */
static int count_tracks(const struct cairn_tally *tally, struct cairn_facts *facts)
{
    const struct cairn_thread *threads;
    const struct cairn_process *processes;
    size_t process_count = cairn_model_processes(tally->model, &processes);
    bool *seen = cairn_calloc(process_count + 1, sizeof(*seen));
    uint32_t last = UINT32_MAX;

    if (!seen)
        return -CAIRN_ENOMEM;
    cairn_model_threads(tally->model, &threads);
    for (size_t i = 0; i < tally->thread_cell_count; i++) {
        uint32_t thread = tally->thread_cells[i].thread, process = threads[thread].process;

        if (thread == last || !threads[thread].python)
            continue;
        last = thread;
        facts->thread_count++;
        facts->process_count += !seen[process];
        seen[process] = true;
    }
    free(seen);
    return 0;
}

int cairn_facts_make(const struct cairn_tally *tally, struct cairn_facts *ret_facts)
{
    struct gathering g = {.tally = tally, .facts = ret_facts};
    size_t function_count = cairn_model_functions(tally->model, &g.functions);
    int code = -CAIRN_ENOMEM;

    memset(ret_facts, 0, sizeof(*ret_facts));
    cairn_model_nodes(tally->model, &g.nodes);
    cairn_model_frames(tally->model, &g.frames);
    gather_environment(tally, ret_facts);
    g.import_ns = cairn_calloc(function_count + 1, sizeof(*g.import_ns));
    g.idle_ns = cairn_calloc(function_count + 1, sizeof(*g.idle_ns));
    if (g.import_ns && g.idle_ns) {
        for (size_t i = 0; i < tally->cell_count; i++)
            gather_cell(&g, &tally->cells[i]);
        gather_places(&g, function_count);
        code = count_tracks(tally, ret_facts);
    }
    free(g.import_ns);
    free(g.idle_ns);
    return code;
}
