/* pystacks: prints the stacks of a Python process as the reader sees them, for developers.
 *
 *     pystacks PID [TICKS [INTERVAL_US [stop | turns | oracle]]]
 *
 * With "stop" the process stands still during each read (SIGSTOP): whatever is refused then was
 * refused wrongly, since nothing moved. With "turns" it does at every second one, and each line
 * begins with what it did: what else happens to the process happens to both.
 * With "oracle" a reader that knows the process for long looks at it while it runs, and then, once
 * it stands still, beside a new reader that knows nothing: they must see the same, and where they
 * do not the links in the process say who is right. INTERVAL_US are the pauses between stops, TICKS
 * their number; prints how many agreed, and what did not.
 * INTERVAL_US is a mean: pauses are of random length.
 * With TICKS it reads that many times and prints, at the end, how often each stack was seen
 * (collapsed: root first, frames joined by ';'), and the reader's own counts on stderr.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pyread_parts.h"
#include "rng.h"
#include "vec.h"

#define RUNNING_TICKS 4 /* of the oracle, before each stop */

/* Of random length, or a program with a period of its own would be met at the same place. */
static uint64_t pause_ns(uint64_t mean_ns, uint64_t number)
{
    return mean_ns ? mean_ns / 2 + cairn_rng_at(1, number) % mean_ns : 0;
}

static void print_frame(const struct cairn_pyframe *frame)
{
    struct cairn_span name;

    if (!frame->code) {
        printf("[unknown]");
        return;
    }
    name = frame->code->qualname.size_bytes ? frame->code->qualname : frame->code->name;
    printf("%.*s (%.*s:%u+%d)", (int)name.size_bytes, (const char *)name.data,
           (int)frame->code->file.size_bytes, (const char *)frame->code->file.data,
           frame->code->first_line, frame->offset);
}

static void print_stack(const struct cairn_pythread *thread)
{
    static const char *const statuses[] = {"none", "ok",        "empty",
                                           "torn", "truncated", "unreadable"};

    printf("%s", statuses[thread->status]);
    for (uint32_t i = 0; i < thread->depth; i++) {
        putchar(';');
        print_frame(&thread->frames[i]);
    }
    putchar('\n');
}

/* Stops the process and waits until it stands. */
static void stop_process(pid_t pid)
{
    char path[64], text[256], state = 0;

    kill(pid, SIGSTOP);
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    while (state != 'T' && state != 'Z') {
        FILE *file = fopen(path, "r");
        char *behind;

        if (!file)
            return;
        if (fgets(text, sizeof(text), file) && (behind = strrchr(text, ')')))
            state = behind[2];
        fclose(file);
    }
}

static bool is_text(struct cairn_span text, struct cairn_span other)
{
    return text.size_bytes == other.size_bytes && !memcmp(text.data, other.data, text.size_bytes);
}

/* Whether all frames of `other` stand in `thread` as well, which may hold more inside of them. */
static bool holds_stack(const struct cairn_pythread *thread, const struct cairn_pythread *other)
{
    bool same = thread->tstate == other->tstate && thread->status == other->status &&
                thread->depth >= other->depth;

    for (uint32_t i = 0; same && i < other->depth; i++) {
        const struct cairn_pyframe *a = &thread->frames[i], *b = &other->frames[i];

        same = a->address == b->address && a->offset == b->offset && !a->code == !b->code &&
               (!a->code || (a->code->address == b->code->address &&
                             a->code->first_line == b->code->first_line &&
                             is_text(a->code->qualname, b->code->qualname) &&
                             is_text(a->code->file, b->code->file)));
    }
    return same;
}

static bool is_whole(const struct cairn_pythread *thread)
{
    return thread->status == CAIRN_PYSTACK_OK || thread->status == CAIRN_PYSTACK_EMPTY;
}

/* Reads threads that all stand still. */
static int read_still(struct cairn_pyread *read, struct cairn_err *err)
{
    struct cairn_pythread *const *threads;
    size_t count;
    int code;

    threads = cairn_pyread_threads(read, &count);
    for (size_t i = 0; i < count; i++)
        threads[i]->still = true;
    code = cairn_pyread_tick(read, err);
    threads = cairn_pyread_threads(read, &count);
    for (size_t i = 0; i < count; i++)
        threads[i]->still = false;
    return code;
}

struct verdict {
    unsigned long stops, agreed;
    unsigned long unsure; /* one of them would not vouch for a stack */
    unsigned long linked; /* the old one saw further generators, and the process links them */
};

/* Whether all that stands in `thread` beyond `depth` frames are generators (3.11 on) that say
 * themselves who resumed them, and run therefore: of one that has yielded or is over that is cleared.
 * While it changes hands a new reader finds the current frame without a caller, and has to leave
 * out all that waits for it. */
static bool is_linked(const struct cairn_pyread *read, const struct cairn_pythread *thread,
                      struct cairn_remote *remote, uint32_t depth)
{
    const struct cairn_pylayout *layout = &read->runtime.layout;
    const struct cairn_pyframe *frames = thread->frames;
    uint64_t previous;
    uint8_t owner;

    if (!cairn_pylayout_has(layout->frame_owner))
        return depth == thread->depth;
    for (uint32_t i = depth; i < thread->depth; i++) {
        uint64_t address = frames[i].address;

        if (!address ||
            cairn_remote_get(remote, address + layout->frame_previous, &previous, 8) < 0 ||
            cairn_remote_get(remote, address + layout->frame_owner, &owner, 1) < 0 ||
            owner != CAIRN_PYSTACK_OWNER_GENERATOR || previous != frames[i - 1].address)
            return false;
    }
    return true;
}

static void compare(struct cairn_pyread *old, struct cairn_pyread *fresh,
                    struct cairn_remote *remote, struct verdict *verdict)
{
    size_t old_count, fresh_count;
    struct cairn_pythread *const *olds = cairn_pyread_threads(old, &old_count);
    struct cairn_pythread *const *freshes = cairn_pyread_threads(fresh, &fresh_count);
    bool same = old_count == fresh_count, held = same, whole = true;

    for (size_t i = 0; i < old_count; i++) {
        const struct cairn_pythread *twin = NULL;

        for (size_t k = 0; k < fresh_count; k++)
            if (freshes[k]->tstate == olds[i]->tstate)
                twin = freshes[k];
        whole = whole && is_whole(olds[i]) && (!twin || is_whole(twin));
        held = held && twin && holds_stack(olds[i], twin) &&
               is_linked(old, olds[i], remote, twin->depth);
        if (held && olds[i]->depth == twin->depth)
            continue;
        same = false;
        printf("differs: ");
        print_stack(olds[i]);
        printf("     to: ");
        if (twin)
            print_stack(twin);
        else
            printf("no such thread\n");
    }
    verdict->stops++;
    verdict->agreed += same && whole;
    verdict->linked += held && !same && whole;
    verdict->unsure += !whole;
}

static int stop_and_compare(pid_t pid, struct cairn_pyread *old, const struct cairn_remote *remote,
                            struct verdict *verdict, struct cairn_err *err)
{
    struct cairn_pyread *fresh;
    uint32_t hexversion;
    uint64_t runtime = cairn_pyread_runtime(old, &hexversion);
    struct cairn_remote still = *remote;
    int code;

    for (int i = 0; i < RUNNING_TICKS; i++)
        CAIRN_TRY(cairn_pyread_tick(old, err));
    stop_process(pid);
    code = cairn_pyread_open_at(remote, runtime, hexversion, &fresh, err);
    if (code == 0) {
        /* The first tick of a reader meets the threads, which it cannot know to stand still. */
        code = cairn_pyread_tick(fresh, err);
        if (code == 0)
            code = read_still(fresh, err);
        if (code == 0)
            code = read_still(old, err);
        if (code == 0)
            compare(old, fresh, &still, verdict);
        cairn_pyread_free(fresh);
    }
    kill(pid, SIGCONT);
    return code;
}

static int consult(pid_t pid, struct cairn_pyread *old, const struct cairn_remote *remote,
                   unsigned long stops, uint64_t interval_ns)
{
    struct cairn_err err = {0};
    struct verdict verdict = {0};
    int code = 0;

    while (code == 0 && verdict.stops < stops) {
        code = stop_and_compare(pid, old, remote, &verdict, &err);
        cairn_clock_sleep_until(cairn_clock_mono_ns() + pause_ns(interval_ns, verdict.stops));
    }
    printf("stops %lu agreed %lu linked %lu unsure %lu\n", verdict.stops, verdict.agreed,
           verdict.linked, verdict.unsure);
    if (code < 0)
        fprintf(stderr, "%s (%d)\n", err.text, err.code);
    return code < 0;
}

static void print_name(void *ctx, uint64_t pthread_id, uint64_t native_id, struct cairn_span name)
{
    (void)ctx;
    fprintf(stderr, "thread %#" PRIx64 ", %" PRIu64 ", is %.*s\n", pthread_id, native_id,
            (int)name.size_bytes, (const char *)name.data);
}

static void print_stats(struct cairn_pyread *read, uint64_t ns, unsigned long ticks)
{
    const struct cairn_pyread_stats *stats = cairn_pyread_stats(read);

    fprintf(stderr, "python %s (%s)\n", cairn_pyread_version(read), cairn_pyread_layout(read));
    fprintf(stderr,
            "stacks %" PRIu64 " torn %" PRIu64 " truncated %" PRIu64 " unreadable %" PRIu64
            " reread %" PRIu64 " trimmed %" PRIu64 " inferred %" PRIu64 " codes %" PRIu64
            " reloads %" PRIu64 " us/tick %.2f\n",
            stats->stacks, stats->torn, stats->truncated, stats->unreadable, stats->reread,
            stats->trimmed, stats->inferred, stats->codes, stats->code_reloads,
            (double)ns / 1e3 / (double)ticks);
    for (size_t i = 0; cairn_pyread_check_name(i); i++) {
        if (stats->refused[i])
            fprintf(stderr, "refused %s %" PRIu64 "\n", cairn_pyread_check_name(i),
                    stats->refused[i]);
    }
}

int main(int argc, char **argv)
{
    unsigned long ticks = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
    uint64_t interval_ns = (argc > 3 ? strtoul(argv[3], NULL, 0) : 1000) * UINT64_C(1000);
    struct cairn_remote remote;
    struct cairn_pyread *read;
    struct cairn_err err = {0};
    uint64_t spent_ns = 0, next_ns;
    bool turns = argc > 4 && strcmp(argv[4], "turns") == 0;
    bool stop = argc > 4 && strcmp(argv[4], "stop") == 0;
    pid_t pid;

    if (argc < 2 || ticks == 0) {
        fprintf(stderr, "usage: pystacks PID [TICKS [INTERVAL_US [stop | turns | oracle]]]\n");
        return 2;
    }
    pid = (pid_t)strtol(argv[1], NULL, 0);
    cairn_remote_live(&remote, pid);
    if (cairn_pyread_open(pid, &remote, NULL, NULL, &read, &err) < 0) {
        fprintf(stderr, "%s (%d)\n", err.text, err.code);
        return 1;
    }
    if (argc > 4 && strcmp(argv[4], "oracle") == 0) {
        int failed = consult(pid, read, &remote, ticks, interval_ns);

        cairn_pyread_free(read);
        return failed;
    }
    next_ns = cairn_clock_mono_ns();
    for (unsigned long i = 0; i < ticks; i++) {
        struct cairn_pythread *const *threads;
        uint64_t start_ns; /* CPU time: others want the processor, too */
        size_t count;
        int code;

        if (turns)
            stop = i % 2;
        if (stop)
            stop_process(pid);
        start_ns = cairn_clock_own_cpu_ns();
        code = cairn_pyread_tick(read, &err);
        spent_ns += cairn_clock_own_cpu_ns() - start_ns;
        if (stop)
            kill(pid, SIGCONT);
        if (code < 0) {
            fprintf(stderr, "%s (%d)\n", err.text, err.code);
            break;
        }
        threads = cairn_pyread_threads(read, &count);
        for (size_t t = 0; t < count; t++) {
            if (turns)
                printf("%s;", stop ? "stopped" : "running");
            print_stack(threads[t]);
        }
        if (interval_ns) {
            next_ns = stop || turns ? cairn_clock_mono_ns() : next_ns;
            next_ns += pause_ns(interval_ns, i);
            cairn_clock_sleep_until(next_ns);
        }
    }
    cairn_pyread_names(read, NULL, print_name, NULL);
    print_stats(read, spent_ns, ticks);
    cairn_pyread_free(read);
    return 0;
}
