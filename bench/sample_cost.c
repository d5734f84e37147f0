/* sample_cost.c: what each single sample of a running Python costs, by the clock of the one who
 * takes it.
 *
 *     sample_cost PID SECONDS MEAN_NS FILE
 *
 * Does what `cairn attach` does, with the same sampler and writer: MEAN_NS between ticks, 0 as fast
 * as it goes. The CPU clock is read before and after each tick; ticks at which the main thread's
 * stack was not read (it stood still) are left out, those of the first 0.2 s too. A sample is `new`
 * when its innermost frame lies where none lay before, else `known`. Prints one JSON object:
 * {"known": {"samples", "median_us", "p99_us"}, "new": {the same}, "write_us": what encoding and
 * writing, once a second, come to for a sample, "clock_us": what one reading of the clock costs}.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "map.h"
#include "processes.h"
#include "rng.h"
#include "sampler.h"
#include "sink.h"
#include "vec.h"
#include "wire.h"

#define WARM_NS 200000000ull
#define FLUSH_NS 1000000000ull
#define QUANTUM_NS 15625ull
#define SAMPLES_MAX (1u << 24)
#define PLACES_MAX (1u << 20)
#define CLOCKS 1000
#define SECOND_NS 1000000000.0

struct costs {
    CAIRN_VEC(uint64_t) ns;
};

struct bench {
    struct cairn_sink *sink;
    struct cairn_writer *writer;
    struct cairn_perf_watch *watch; /* NULL: the kernel refuses; polling does, as in attach */
    struct cairn_sampler sampler;
    struct cairn_map places; /* of innermost frames */
    struct costs known, fresh;
    uint64_t mean_ns, seed, flush_ns, ticks;
    struct cairn_err err;
};

static int compare_ns(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static double part_us(struct costs *costs, double part)
{
    size_t at = (size_t)(part * (double)(costs->ns.count - 1));

    return costs->ns.count ? (double)costs->ns.items[at] / 1000.0 : 0.0;
}

static void print_costs(const char *name, struct costs *costs)
{
    if (costs->ns.count)
        qsort(costs->ns.items, costs->ns.count, sizeof(uint64_t), compare_ns);
    printf("\"%s\": {\"samples\": %zu, \"median_us\": %.3f, \"p99_us\": %.3f}, ", name,
           costs->ns.count, part_us(costs, 0.5), part_us(costs, 0.99));
}

static double clock_us(void)
{
    uint64_t begin_ns = cairn_clock_own_cpu_ns();

    for (int i = 0; i < CLOCKS; i++)
        cairn_clock_own_cpu_ns();
    return (double)(cairn_clock_own_cpu_ns() - begin_ns) / (CLOCKS * 1000.0);
}

/* The process' first thread, when this tick read a stack of it. */
static const struct cairn_pythread *read_now(const struct bench *bench)
{
    struct cairn_pythread *const *threads;
    size_t count;

    if (bench->sampler.subjects.count == 0 || !bench->sampler.subjects.items[0]->py ||
        !bench->sampler.subjects.items[0]->read)
        return NULL;
    threads = cairn_pyread_threads(bench->sampler.subjects.items[0]->py, &count);
    for (size_t i = 0; i < count; i++)
        if (threads[i]->status == CAIRN_PYSTACK_OK || threads[i]->status == CAIRN_PYSTACK_TORN)
            return threads[i];
    return NULL;
}

static int keep(struct bench *bench, const struct cairn_pythread *thread, uint64_t ns, bool warm)
{
    uint64_t seen, place = thread->depth ? thread->frames[thread->depth - 1].address : 0;
    bool known = cairn_map_get(&bench->places, place, 0, &seen);
    struct costs *costs = known ? &bench->known : &bench->fresh;

    if (!known)
        CAIRN_TRY(cairn_map_put(&bench->places, place, 0, 1));
    if (!warm)
        return 0;
    CAIRN_TRY(cairn_vec_reserve(&costs->ns, costs->ns.count + 1, SAMPLES_MAX));
    costs->ns.items[costs->ns.count++] = ns;
    return 0;
}

static int flush(struct bench *bench, uint16_t kind)
{
    uint64_t begin_ns = cairn_clock_own_cpu_ns();

    CAIRN_TRY(cairn_sampler_settle(&bench->sampler));
    CAIRN_TRY(cairn_writer_flush(bench->writer, kind, &bench->err));
    bench->flush_ns += cairn_clock_own_cpu_ns() - begin_ns;
    return 0;
}

static int start(struct bench *bench, pid_t pid, const char *file)
{
    struct cairn_sink_options sink = {.path = file, .force = true};
    struct cairn_writer_options writer = {
        .id = 1, .role = "collector", .pid = (uint64_t)getpid(), .start_ns = 1};
    uint64_t now_ns = cairn_clock_mono_ns();

    cairn_map_init(&bench->places, PLACES_MAX);
    bench->seed = cairn_rng_seed();
    CAIRN_TRY(cairn_sink_open(&sink, &bench->sink, &bench->err));
    CAIRN_TRY(cairn_writer_open(bench->sink, &writer, &bench->writer));
    if (cairn_perf_watch_open(pid, &bench->watch) < 0)
        bench->watch = NULL;
    CAIRN_TRY(cairn_sampler_init(&bench->sampler, bench->writer, bench->watch, true, QUANTUM_NS));
    CAIRN_TRY(cairn_writer_clock(bench->writer));
    CAIRN_TRY(cairn_processes_add(&bench->sampler, pid, 0, false, now_ns));
    bench->sampler.last_ns = now_ns;
    return cairn_writer_schedule(bench->writer, bench->seed, bench->mean_ns, QUANTUM_NS, 1, now_ns,
                                 now_ns);
}

static int take_samples(struct bench *bench, uint64_t for_ns)
{
    uint64_t now_ns = cairn_clock_mono_ns(), start_ns = now_ns, flush_at_ns = now_ns + FLUSH_NS;

    while (now_ns - start_ns < for_ns) {
        const struct cairn_pythread *thread;
        uint64_t begin_ns = cairn_clock_own_cpu_ns();

        CAIRN_TRY(cairn_sampler_tick(&bench->sampler, ++bench->ticks, now_ns));
        begin_ns = cairn_clock_own_cpu_ns() - begin_ns;
        thread = read_now(bench);
        if (thread)
            CAIRN_TRY(keep(bench, thread, begin_ns, now_ns - start_ns >= WARM_NS));
        if (now_ns >= flush_at_ns ||
            cairn_writer_pending_bytes(bench->writer) > CAIRN_WRITER_FULL_BYTES / 2) {
            CAIRN_TRY(flush(bench, CAIRN_CHUNK_DATA));
            flush_at_ns = now_ns + FLUSH_NS;
        }
        if (bench->mean_ns)
            cairn_clock_sleep_until(now_ns +
                                    cairn_tick_interval(bench->seed, bench->ticks, bench->mean_ns));
        now_ns = cairn_clock_mono_ns();
    }
    return flush(bench, CAIRN_CHUNK_END);
}

static void print_all(struct bench *bench)
{
    uint64_t samples = bench->sampler.stats.samples;

    printf("{");
    print_costs("known", &bench->known);
    print_costs("new", &bench->fresh);
    printf("\"write_us\": %.3f, \"clock_us\": %.3f}\n",
           samples ? (double)bench->flush_ns / 1000.0 / (double)samples : 0.0, clock_us());
}

int main(int argc, char **argv)
{
    static struct bench bench;
    int code;

    if (argc != 5) {
        fprintf(stderr, "usage: %s PID SECONDS MEAN_NS FILE\n", argv[0]);
        return 2;
    }
    bench.mean_ns = strtoull(argv[3], NULL, 10);
    code = start(&bench, (pid_t)strtol(argv[1], NULL, 10), argv[4]);
    if (code >= 0)
        code = take_samples(&bench, (uint64_t)(strtod(argv[2], NULL) * SECOND_NS));
    if (code >= 0)
        print_all(&bench);
    else
        fprintf(stderr, "%s: %s\n", argv[0],
                bench.err.text[0] ? bench.err.text : cairn_err_sentence(code));
    cairn_sampler_release(&bench.sampler);
    cairn_perf_watch_free(bench.watch);
    cairn_writer_free(bench.writer);
    cairn_sink_close(bench.sink, NULL);
    cairn_map_release(&bench.places);
    cairn_vec_release(&bench.known.ns);
    cairn_vec_release(&bench.fresh.ns);
    return code < 0;
}
