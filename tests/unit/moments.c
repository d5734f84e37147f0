/* moments: reads the stack of a thread that goes on while it is read, and says what came of it.
 *
 *     moments SEED TICKS python3 tests/targets/many_stops.py
 *
 * The program, which has one thread and does the same over and over, is stopped at each system
 * call. First its stack is read at rest at each of these stops. Then it is let go on by some of
 * them between two parts of what a tick reads, some times a tick, wherever chance wants it: what is
 * read is of these stops and of no other place, so a stack that is called whole is one of those
 * seen at rest, and what is left of a torn one begins like one. Of a text that is run and dropped
 * the code may be gone before its name is read: then the stack is one seen at rest but for that
 * name. Prints {"ticks", "whole", "torn", "nameless", "reread", "stops", "stacks", "wrong", "cut"}.
 * The first wrong ones go to stderr.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "err.h"
#include "map.h"
#include "pyread.h"
#include "rng.h"

#define STEPS_MAX 24 /* more than a turn has */
#define SHIFTS 4     /* at most, in a tick … */
#define NEAR_PARTS 8 /* … all but the first a few parts after the one before */
#define NEVER UINT64_MAX
#define LEARNED 1000    /* stops at which nothing was new */
#define LEARN_MAX 20000 /* stops */
#define TELL_MAX 5
#define SEEN_MAX 1000000
#define NOTHING 1 /* the hash of no frame */
#define FORMS 8   /* of a stack: with and without the names of texts in it */

enum { WHOLE, OUTER_PART }; /* what a hash is of */

struct probe {
    pid_t pid;
    struct cairn_remote live;
    uint64_t parts; /* read in this tick */
    uint64_t shift_at[SHIFTS];
    unsigned steps[SHIFTS];
    uint64_t seed, drawn;
    bool moved, last_whole;  /* in this tick, the last one */
    uint64_t usual_parts[2]; /* of a tick that wants nothing, and of one that wants the stack */
    uint64_t stops, stacks;  /* learned from, learned */
    struct cairn_map seen;   /* {hash, what of} */
    uint64_t ticks, whole, torn, nameless, wrong, cut, told;
};

struct key {
    uint64_t names[FORMS]; /* hashes of the functions; the first is of those that were read */
    size_t forms;
    bool whole, nameless;
};

static uint64_t draw(struct probe *probe, uint64_t below)
{
    return cairn_rng_at(probe->seed, probe->drawn++) % below;
}

/* It sends itself SIGSTOP when it is; the first stop is of the program being loaded. */
static bool wait_ready(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        if (WSTOPSIG(status) == SIGSTOP)
            return true;
        ptrace(PTRACE_CONT, pid, NULL, NULL);
    }
    return false;
}

static bool go_on(const struct probe *probe, unsigned steps)
{
    int status;

    for (; steps; steps--) {
        if (ptrace(PTRACE_SYSCALL, probe->pid, NULL, NULL) < 0 ||
            waitpid(probe->pid, &status, 0) != probe->pid || !WIFSTOPPED(status))
            return false;
    }
    return true;
}

static int read_parts(void *ctx, const struct cairn_remote_part *parts, size_t count,
                      size_t *ret_parts)
{
    struct probe *probe = ctx;

    for (*ret_parts = 0; *ret_parts < count; ++*ret_parts) {
        size_t done;
        int code;

        for (size_t i = 0; i < SHIFTS; i++) {
            if (probe->parts != probe->shift_at[i])
                continue;
            if (!go_on(probe, probe->steps[i]))
                return -CAIRN_EGONE;
            probe->moved |= probe->steps[i] != 0;
        }
        probe->parts++;
        code = cairn_remote_read(&probe->live, &parts[*ret_parts], 1, &done);
        if (code < 0)
            return *ret_parts && code == -CAIRN_EUNREADABLE ? -CAIRN_ESHORT : code;
    }
    return 0;
}

static bool holds(const struct cairn_pythread *thread)
{
    return thread->status != CAIRN_PYSTACK_TORN && thread->status != CAIRN_PYSTACK_UNREADABLE &&
           !thread->apart;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return cairn_rng_at(hash, value);
}

static bool is_text(const struct cairn_pycode *code)
{
    static const char name[] = "<module>";

    return code && code->name.size_bytes == sizeof(name) - 1 &&
           memcmp(code->name.data, name, sizeof(name) - 1) == 0;
}

/* What `key` says of the frame; frames of code that was not read are all the same. */
static void add_frame(const struct cairn_pyframe *frame, struct key *key)
{
    const struct cairn_pycode *code = frame->code;
    uint64_t name = code ? code->first_line : 0;
    size_t forms = key->forms;

    for (size_t i = 0; code && i < code->name.size_bytes; i++)
        name = mix(name, code->name.data[i]);
    for (size_t i = 0; i < forms && is_text(code) && key->forms < FORMS; i++)
        key->names[key->forms++] = mix(key->names[i], 0);
    for (size_t i = 0; i < forms; i++)
        key->names[i] = mix(key->names[i], name);
    key->nameless |= !code;
}

static int note(struct probe *probe, const struct key *key, uint64_t kind)
{
    for (size_t i = 0; i < key->forms; i++)
        CAIRN_TRY(cairn_map_put(&probe->seen, key->names[i], kind, 0));
    return 0;
}

/* The stack from the outside on, as far as it holds. Each outer part of it is `learned`, too. */
static int make_key(struct probe *probe, const struct cairn_pythread *at, bool learned,
                    struct key *ret)
{
    *ret = (struct key){.names = {NOTHING}, .forms = 1, .whole = true};
    for (; at && ret->whole; at = at->inner) {
        ret->whole = holds(at);
        for (uint32_t i = 0; i < at->depth && !at->apart; i++) {
            add_frame(&at->frames[i], ret);
            if (learned)
                CAIRN_TRY(note(probe, ret, OUTER_PART));
        }
    }
    return 0;
}

static void show(const struct cairn_pythread *at)
{
    for (; at; at = at->inner) {
        fprintf(stderr, " [%d%s]", at->status, at->apart ? " apart" : "");
        for (uint32_t i = 0; i < at->depth; i++) {
            const struct cairn_pycode *code = at->frames[i].code;

            if (code)
                fprintf(stderr, " %.*s+%d", (int)code->name.size_bytes,
                        (const char *)code->name.data, at->frames[i].offset);
            else
                fputs(" ?", stderr);
        }
    }
    fputc('\n', stderr);
}

/* The outermost state of the only thread; NULL: it has no stack. */
static struct cairn_pythread *find(const struct cairn_pyread *read)
{
    size_t count;
    struct cairn_pythread *const *threads = cairn_pyread_threads(read, &count);

    for (size_t i = 0; i < count; i++) {
        if (!threads[i]->outer && cairn_pythread_has_stack(threads[i]))
            return threads[i];
    }
    return NULL;
}

static void want(const struct cairn_pyread *read, bool wanted)
{
    size_t count;
    struct cairn_pythread *const *threads = cairn_pyread_threads(read, &count);

    for (size_t i = 0; i < count; i++)
        threads[i]->wanted = wanted;
}

static void tell(struct probe *probe, const struct cairn_pythread *stack)
{
    if (probe->told++ >= TELL_MAX)
        return;
    fprintf(stderr, "tick %llu, of %llu parts:", (unsigned long long)probe->ticks,
            (unsigned long long)probe->parts);
    for (size_t i = 0; i < SHIFTS; i++)
        fprintf(stderr, " after %llu on by %u;", (unsigned long long)probe->shift_at[i],
                probe->steps[i]);
    show(stack);
}

static bool is_seen(const struct probe *probe, uint64_t hash, uint64_t kind)
{
    uint64_t ignored;

    return cairn_map_get(&probe->seen, hash, kind, &ignored);
}

static int judge(struct probe *probe, const struct cairn_pythread *stack)
{
    struct key key;

    probe->ticks++;
    if (!stack)
        return 0;
    CAIRN_TRY(make_key(probe, stack, false, &key));
    probe->whole += key.whole;
    probe->torn += !key.whole;
    probe->nameless += key.nameless;
    probe->last_whole = key.whole;
    if (key.names[0] != NOTHING && !is_seen(probe, key.names[0], OUTER_PART)) {
        probe->wrong++;
        tell(probe, stack);
    } else if (key.whole && !is_seen(probe, key.names[0], WHOLE)) {
        probe->cut++;
    }
    return 0;
}

/* At rest, at one stop after the other until nothing is new. */
static int learn(struct probe *probe, struct cairn_pyread *read)
{
    struct cairn_err err = {0};
    struct key key;
    uint64_t new_at = 0;

    while (probe->stops < LEARN_MAX && probe->stops - new_at < LEARNED) {
        if (!go_on(probe, 1))
            return -CAIRN_EGONE;
        want(read, true);
        CAIRN_TRY(cairn_pyread_tick(read, &err));
        probe->stops++;
        if (!find(read))
            continue;
        CAIRN_TRY(make_key(probe, find(read), true, &key));
        if (!key.whole || is_seen(probe, key.names[0], WHOLE))
            continue;
        new_at = probe->stops;
        probe->stacks++;
        CAIRN_TRY(note(probe, &key, WHOLE));
    }
    return 0;
}

/* A stack that was read whole is not asked for again while the thread rests, as far as is known. */
static int tick(struct probe *probe, struct cairn_pyread *read)
{
    struct cairn_err err = {0};
    bool wanted = probe->moved || !probe->last_whole, still = wanted && draw(probe, 2);
    uint64_t at = 0;

    want(read, wanted);
    probe->parts = 0;
    probe->moved = false;
    for (size_t i = 0; i < SHIFTS; i++) {
        at += draw(probe, i ? NEAR_PARTS : probe->usual_parts[wanted] + NEAR_PARTS);
        probe->shift_at[i] = at;
        probe->steps[i] = still ? 0 : (unsigned)draw(probe, STEPS_MAX);
    }
    CAIRN_TRY(cairn_pyread_tick(read, &err));
    if (probe->parts)
        probe->usual_parts[wanted] = probe->parts;
    return judge(probe, find(read));
}

static int run(struct probe *probe, uint64_t ticks)
{
    struct cairn_remote remote = {.read = read_parts, .ctx = probe};
    struct cairn_pyread *read;
    struct cairn_err err = {0};

    if (!wait_ready(probe->pid))
        return -CAIRN_EGONE;
    /* However this ends, the program would go on for ever. */
    ptrace(PTRACE_SETOPTIONS, probe->pid, NULL, PTRACE_O_EXITKILL);
    for (size_t i = 0; i < SHIFTS; i++)
        probe->shift_at[i] = NEVER;
    CAIRN_TRY(cairn_pyread_open(probe->pid, &remote, NULL, NULL, &read, &err));
    CAIRN_TRY(learn(probe, read));
    while (probe->ticks < ticks)
        CAIRN_TRY(tick(probe, read));
    printf("{\"ticks\": %llu, \"whole\": %llu, \"torn\": %llu, \"nameless\": %llu, "
           "\"reread\": %llu, \"stops\": %llu, \"stacks\": %llu, \"wrong\": %llu, \"cut\": %llu}\n",
           (unsigned long long)probe->ticks, (unsigned long long)probe->whole,
           (unsigned long long)probe->torn, (unsigned long long)probe->nameless,
           (unsigned long long)cairn_pyread_stats(read)->reread, (unsigned long long)probe->stops,
           (unsigned long long)probe->stacks, (unsigned long long)probe->wrong,
           (unsigned long long)probe->cut);
    cairn_pyread_free(read);
    return 0;
}

int main(int argc, char **argv)
{
    struct probe probe = {.usual_parts = {4, 32}, .last_whole = true};
    int code;

    if (argc < 4) {
        fprintf(stderr, "usage: moments SEED TICKS COMMAND...\n");
        return 2;
    }
    cairn_map_init(&probe.seen, SEEN_MAX);
    probe.seed = strtoull(argv[1], NULL, 10);
    probe.pid = fork();
    if (probe.pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    cairn_remote_live(&probe.live, probe.pid);
    code = run(&probe, strtoull(argv[2], NULL, 10));
    if (code < 0)
        fprintf(stderr, "moments: %s\n", cairn_err_sentence(code));
    kill(probe.pid, SIGKILL);
    waitpid(probe.pid, NULL, 0);
    cairn_map_release(&probe.seen);
    return code != 0;
}
