#include "roles.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "format.h"
#include "intern.h"
#include "map.h"
#include "program.h"

#define NAMES_MAX_BYTES ((size_t)256 << 20)
#define LABEL_MAX_BYTES 512

/* What the libraries that start helpers tell Python to run: `-c from … import …`. */
static const struct {
    const char *code, *kind;
} helpers[] = {
    {"multiprocessing.spawn import spawn_main", "worker"},
    {"multiprocessing.forkserver import main", "forkserver"},
    {"multiprocessing.resource_tracker import main", "resource_tracker"},
    {"loky.backend.resource_tracker import main", "resource_tracker"},
};

/* Modules that a worker is started with: `-m …`. */
static const char *const worker_modules[] = {
    "joblib.externals.loky.backend.popen_loky_posix",
    "loky.backend.popen_loky_posix",
};

static struct cairn_span span_of(const char *text)
{
    return (struct cairn_span){(const uint8_t *)text, strlen(text)};
}

static bool equals(struct cairn_span a, struct cairn_span b)
{
    return a.size_bytes == b.size_bytes && memcmp(a.data, b.data, a.size_bytes) == 0;
}

static bool holds(struct cairn_span text, const char *part)
{
    return text.size_bytes && memmem(text.data, text.size_bytes, part, strlen(part));
}

/* "trainer" for "python3 src/trainer.py --fast". */
static struct cairn_span program_kind(const struct cairn_process *process)
{
    static const char *const tails[] = {".py", ".pyz", ":"}; /* ":" of a title */
    struct cairn_span name = cairn_program_of(process->command);

    if (!name.size_bytes)
        return process->name.size_bytes ? process->name : span_of("process");
    if (equals(name, span_of("-c")))
        return span_of("python -c");
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        size_t tail_bytes = strlen(tails[i]);

        if (name.size_bytes > tail_bytes &&
            !memcmp(name.data + name.size_bytes - tail_bytes, tails[i], tail_bytes)) {
            name.size_bytes -= tail_bytes;
            break;
        }
    }
    return name;
}

static struct cairn_span exec_kind(const struct cairn_process *process)
{
    struct cairn_span code = cairn_program_code(process->command);
    struct cairn_span program = cairn_program_of(process->command);

    for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
        if (holds(code, helpers[i].code))
            return span_of(helpers[i].kind);
    for (size_t i = 0; i < sizeof(worker_modules) / sizeof(worker_modules[0]); i++)
        if (equals(program, span_of(worker_modules[i])))
            return span_of("worker");
    return process->entries ? span_of("worker") : program_kind(process);
}

/* Who made the process, or, where that one was over before its command line was known, whose copy
 * it was as far as is known; NULL: nobody was seen. */
static const struct cairn_process *maker_of(const struct cairn_process *processes,
                                            const struct cairn_process *process)
{
    const struct cairn_process *maker = NULL;

    for (uint32_t at = process->parent; at != UINT32_MAX; at = maker->parent) {
        maker = &processes[at];
        if (maker->command.size_bytes)
            break;
    }
    return maker;
}

/* `parent` NULL: it was not seen. */
static struct cairn_span kind_of(const struct cairn_process *process,
                                 const struct cairn_process *parent)
{
    /* Of one that was over at once the command line is not known, only whether it was a copy, or
     * not even that but what the kernel calls it. */
    bool brief = !process->command.size_bytes && process->birth != CAIRN_BIRTH_EXEC;
    bool is_copy = process->birth == CAIRN_BIRTH_FORK;
    bool same = parent && (brief ? is_copy || equals(process->name, parent->name)
                                 : equals(process->command, parent->command));
    bool copy = is_copy || (process->birth != CAIRN_BIRTH_EXEC && same);

    if (!copy || !parent)
        return exec_kind(process);
    /* A copy stands on the stack of its parent, which may be a worker itself; one that a server of
     * copies made is nothing else, seen at work or not. */
    if (process->entries > parent->entries || equals(exec_kind(parent), span_of("forkserver")))
        return span_of("worker");
    return same ? span_of("fork") : program_kind(process); /* it gave itself a title */
}

struct making {
    const struct cairn_process *processes;
    size_t process_count;
    bool *python;    /* of each process: it was met in Python code */
    bool *before;    /* … of what came before the program */
    uint32_t *order; /* processes by birth: parents come before their children */
    struct cairn_intern names;
    struct cairn_map index; /* {role of the parent + 1, name of the kind} to the role */
    struct cairn_map met;   /* name of a kind to how many roles have it */
    struct cairn_roles *roles;
};

/* Whether it is what a shell in front of Python ran before it became the program, as pyenv's does;
 * a Python of its own is a program still. */
static bool is_of_before(const struct making *m, uint32_t process)
{
    uint32_t parent = m->processes[process].parent;

    return !m->python[process] && parent != UINT32_MAX &&
           (m->before[parent] || (m->processes[process].before && m->python[parent]));
}

static int by_birth(const void *left, const void *right, void *ctx)
{
    const struct cairn_process *processes = ctx;
    uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;

    if (processes[i].start_ns != processes[k].start_ns)
        return processes[i].start_ns < processes[k].start_ns ? -1 : 1;
    if (processes[i].pid != processes[k].pid)
        return processes[i].pid < processes[k].pid ? -1 : 1;
    return (i > k) - (i < k);
}

static int place(struct making *m, uint32_t process)
{
    uint32_t above = m->processes[process].parent, parent = UINT32_MAX, kind;
    const struct cairn_process *maker = maker_of(m->processes, &m->processes[process]);
    struct cairn_roles *roles = m->roles;
    struct cairn_span kind_text;
    uint64_t role, same = 0;

    m->before[process] = is_of_before(m, process);
    if (above != UINT32_MAX)
        parent = m->before[above] ? roles->items[roles->of[above]].parent : roles->of[above];
    kind_text = m->before[process] ? span_of("start-up") : kind_of(&m->processes[process], maker);
    CAIRN_TRY(cairn_intern_add(&m->names, kind_text, &kind));
    if (!cairn_map_get(&m->index, (uint64_t)parent + 1, kind, &role)) {
        role = roles->count;
        CAIRN_TRY(cairn_map_put(&m->index, (uint64_t)parent + 1, kind, role));
        cairn_map_get(&m->met, kind, 0, &same);
        CAIRN_TRY(cairn_map_put(&m->met, kind, 0, same + 1));
        roles->items[roles->count++] =
            (struct cairn_role){.kind = cairn_intern_get(&m->names, kind), .parent = parent};
    }
    roles->of[process] = (uint32_t)role;
    roles->numbers[process] = roles->items[role].count++;
    return 0;
}

static struct cairn_span keep_text(struct cairn_roles *roles, const struct cairn_buf *text)
{
    void *copy = cairn_arena_dup(&roles->arena, text->data, text->size_bytes);

    return (struct cairn_span){copy, copy ? text->size_bytes : 0};
}

/* Roles of one kind are told apart by whom they work for. */
static int name_roles(struct making *m)
{
    struct cairn_roles *roles = m->roles;
    struct cairn_buf text;
    int code = 0;

    cairn_buf_init(&text, NAMES_MAX_BYTES);
    for (size_t i = 0; i < roles->count && code == 0; i++) {
        struct cairn_role *role = &roles->items[i];
        uint64_t same = 0;
        uint32_t kind;

        cairn_buf_clear(&text);
        code = cairn_intern_add(&m->names, role->kind, &kind);
        cairn_map_get(&m->met, kind, 0, &same);
        cairn_buf_add(&text, role->kind.data, role->kind.size_bytes);
        role->kind = keep_text(roles, &text);
        role->name = role->kind;
        if (same > 1 && role->parent != UINT32_MAX) {
            const struct cairn_span above = roles->items[role->parent].name;

            cairn_buf_clear(&text);
            cairn_buf_add(&text, above.data, above.size_bytes);
            cairn_buf_u8(&text, ' ');
            cairn_buf_add(&text, role->kind.data, role->kind.size_bytes);
            role->name = keep_text(roles, &text);
        }
        if (code == 0 && (text.code < 0 || !role->kind.data || !role->name.data))
            code = -CAIRN_ENOMEM;
    }
    cairn_buf_release(&text);
    return code;
}

static int make(struct making *m, const struct cairn_model *model)
{
    const struct cairn_thread *threads;
    size_t thread_count;

    if (!m->order || !m->python || !m->before || !m->roles->items || !m->roles->of ||
        !m->roles->numbers)
        return -CAIRN_ENOMEM;
    CAIRN_TRY(cairn_intern_init(&m->names, NAMES_MAX_BYTES));
    for (size_t i = 0; i < m->process_count; i++)
        m->order[i] = (uint32_t)i;
    qsort_r(m->order, m->process_count, sizeof(*m->order), by_birth,
            (void *)(uintptr_t)m->processes);
    thread_count = cairn_model_threads(model, &threads);
    for (size_t i = 0; i < thread_count; i++)
        m->python[threads[i].process] |= threads[i].python;
    for (size_t i = 0; i < m->process_count; i++)
        CAIRN_TRY(place(m, m->order[i]));
    return name_roles(m);
}

int cairn_roles_make(const struct cairn_model *model, struct cairn_roles *ret_roles)
{
    struct making m = {.roles = ret_roles};
    int code;

    m.process_count = cairn_model_processes(model, &m.processes);
    *ret_roles = (struct cairn_roles){
        .items = cairn_calloc(m.process_count + 1, sizeof(*ret_roles->items)),
        .of = cairn_calloc(m.process_count + 1, sizeof(*ret_roles->of)),
        .numbers = cairn_calloc(m.process_count + 1, sizeof(*ret_roles->numbers)),
    };
    cairn_arena_init(&ret_roles->arena, NAMES_MAX_BYTES);
    m.order = cairn_calloc(m.process_count + 1, sizeof(*m.order));
    m.python = cairn_calloc(m.process_count + 1, sizeof(*m.python));
    m.before = cairn_calloc(m.process_count + 1, sizeof(*m.before));
    cairn_map_init(&m.index, m.process_count + 1);
    cairn_map_init(&m.met, m.process_count + 1);
    code = make(&m, model);
    free(m.order);
    free(m.python);
    free(m.before);
    cairn_map_release(&m.index);
    cairn_map_release(&m.met);
    cairn_intern_release(&m.names);
    if (code < 0)
        cairn_roles_release(ret_roles);
    return code < 0 ? -CAIRN_ENOMEM : 0;
}

void cairn_roles_release(struct cairn_roles *roles)
{
    free(roles->items);
    free(roles->of);
    free(roles->numbers);
    cairn_arena_release(&roles->arena);
    *roles = (struct cairn_roles){0};
}

void cairn_roles_label(const struct cairn_roles *roles, uint32_t process, struct cairn_buf *out)
{
    const struct cairn_role *role = &roles->items[roles->of[process]];

    cairn_buf_add(out, role->name.data, role->name.size_bytes);
    if (role->count > 1)
        cairn_buf_printf(out, " %" PRIu32, roles->numbers[process]);
}

bool cairn_roles_match(const struct cairn_roles *roles, uint32_t process, const char *pattern)
{
    const struct cairn_role *role = &roles->items[roles->of[process]];
    char label[LABEL_MAX_BYTES];

    snprintf(label, sizeof(label), "%s %" PRIu32, (const char *)role->name.data,
             roles->numbers[process]);
    return fnmatch(pattern, (const char *)role->kind.data, 0) == 0 ||
           fnmatch(pattern, (const char *)role->name.data, 0) == 0 ||
           fnmatch(pattern, label, 0) == 0;
}
