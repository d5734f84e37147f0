#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "format.h"
#include "subject.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

/* A thread whose files and page we write ourselves. It wants a processor all the time. */
struct thread {
    struct perf_event_mmap_page page;
    struct cairn_worker worker;
};

static void write_book(struct thread *thread, uint64_t cpu_ns, uint64_t runq_ns)
{
    char text[64];
    int length = snprintf(text, sizeof(text), "%llu %llu 1\n", (unsigned long long)cpu_ns,
                          (unsigned long long)runq_ns);

    assert_int_equal(ftruncate(thread->worker.schedstat_fd, 0), 0);
    assert_int_equal(pwrite(thread->worker.schedstat_fd, text, (size_t)length, 0), length);
}

static void set_up(struct thread *thread, uint64_t now_ns)
{
    struct cairn_worker *worker = &thread->worker;

    memset(thread, 0, sizeof(*thread));
    worker->tid = worker->ns_tid = getpid();
    worker->clock.page = &thread->page;
    worker->schedstat_fd = memfd_create("schedstat", 0);
    worker->wchan_fd = memfd_create("wchan", 0);
    assert_true(worker->schedstat_fd >= 0 && worker->wchan_fd >= 0);
    assert_int_equal(write(worker->wchan_fd, "0", 1), 1);
    write_book(thread, SECOND, 0);
    worker->has_book = worker->ran = true;
    worker->cpu_ns = worker->book_ns = SECOND;
    worker->book_at_ns = worker->look_ns = now_ns;
}

static void tear_down(struct thread *thread)
{
    close(thread->worker.schedstat_fd);
    close(thread->worker.wchan_fd);
}

/* Nothing of it moves for so long that it can have no processor. */
static uint64_t wait_in_queue(struct thread *thread, uint64_t now_ns)
{
    for (int i = 0; i < 40; i++)
        cairn_worker_look(&thread->worker, now_ns += MS);
    assert_true(thread->worker.queued);
    assert_false(cairn_worker_look(&thread->worker, now_ns += MS));
    return now_ns;
}

static void test_who_waits_for_a_processor_is_in_the_queue(void **state)
{
    struct thread thread;

    (void)state;
    set_up(&thread, SECOND);
    wait_in_queue(&thread, SECOND);
    assert_int_equal(thread.worker.cpu_delta_ns, 0);
    assert_int_equal(thread.worker.runq_delta_ns, MS);
    tear_down(&thread);
}

/* The book says so with the kernel's next tick only, milliseconds later. */
static void test_who_was_given_a_processor_runs_at_once(void **state)
{
    struct thread thread;
    struct cairn_worker *worker = &thread.worker;
    uint64_t now_ns;

    (void)state;
    set_up(&thread, SECOND);
    now_ns = wait_in_queue(&thread, SECOND);
    write_book(&thread, SECOND, now_ns - SECOND);
    thread.page.lock += 2;
    assert_true(cairn_worker_look(worker, now_ns += MS / 4));
    assert_false(worker->queued);
    assert_true(cairn_worker_look(worker, now_ns += MS / 2));
    assert_false(worker->queued);
    assert_int_equal(worker->cpu_delta_ns, MS / 2);
    assert_int_equal(worker->runq_delta_ns, 0);
    tear_down(&thread);
}

static uint64_t own_cpu_ns(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* The kernel's tick can be late, and with it what the book says. */
static void test_who_runs_though_its_book_stands_is_not_in_the_queue(void **state)
{
    struct cairn_perf_clock clock;
    struct thread thread;
    struct cairn_worker *worker = &thread.worker;

    (void)state;
    if (cairn_perf_clock_open(&clock, gettid()) < 0)
        skip(); /* the kernel does not let us */
    set_up(&thread, cairn_clock_mono_ns());
    worker->clock = clock;
    for (int i = 0; i < 20; i++) {
        uint64_t begun_ns = own_cpu_ns();

        while (own_cpu_ns() - begun_ns < MS)
            ;
        cairn_worker_look(worker, cairn_clock_mono_ns());
        assert_false(worker->queued);
    }
    cairn_perf_clock_close(&worker->clock);
    tear_down(&thread);
}

/* Whether a Python was sought in us, though it is not time to. */
static bool is_sought(struct cairn_subject *subject)
{
    subject->look_at_ns = UINT64_MAX;
    subject->mapped_at_ns = 0;
    assert_false(cairn_subject_seek(subject, NULL, cairn_clock_mono_ns()));
    return subject->look_at_ns != UINT64_MAX;
}

static void test_who_maps_much_is_looked_into_at_once(void **state)
{
    struct cairn_worker worker = {.ran = true}, *workers = &worker;
    size_t more_bytes = (size_t)8 << 20;
    struct cairn_subject *subject;
    uint64_t before_ns;
    void *more;

    (void)state;
    assert_int_equal(cairn_subject_new(getpid(), cairn_clock_mono_ns(), &subject), 0);
    subject->workers.items = &workers;
    subject->workers.count = 1;
    assert_true(is_sought(subject)); /* for the first time */
    assert_false(is_sought(subject));
    more = mmap(NULL, more_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(more, MAP_FAILED);
    worker.ran = false;
    assert_false(is_sought(subject));
    worker.ran = true;
    before_ns = cairn_clock_mono_ns();
    assert_true(is_sought(subject));
    assert_true(subject->mapped_at_ns > before_ns + MS); /* not again and again */
    assert_false(is_sought(subject));
    munmap(more, more_bytes);
    assert_false(is_sought(subject));
    subject->workers.items = NULL;
    subject->workers.count = 0;
    cairn_subject_free(subject);
}

/* Met in the middle of an exec, it had none yet. */
static void test_a_copy_of_what_had_no_stack_yet_is_a_copy(void **state)
{
    struct cairn_subject *parent, *child;
    int gate[2];
    char byte;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(gate), 0);
    pid = fork();
    if (pid == 0) {
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) != 0);
    }
    close(gate[0]);
    assert_int_equal(cairn_subject_new(getpid(), cairn_clock_mono_ns(), &parent), 0);
    assert_int_equal(cairn_subject_new(pid, cairn_clock_mono_ns(), &child), 0);
    assert_int_equal(cairn_subject_birth(child, parent), CAIRN_BIRTH_FORK);
    parent->start_stack = 0;
    assert_int_equal(cairn_subject_birth(child, parent), CAIRN_BIRTH_FORK);
    assert_true(parent->start_stack != 0);
    parent->start_stack += 16;
    assert_int_equal(cairn_subject_birth(child, parent), CAIRN_BIRTH_EXEC);
    assert_int_equal(cairn_subject_birth(child, NULL), CAIRN_BIRTH_UNKNOWN);
    close(gate[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    cairn_subject_free(child);
    cairn_subject_free(parent);
}

/* We look like a Python to whoever looks: one that is not initialised, or has another layout. */
extern uint64_t _PyRuntime[512];
extern const unsigned long Py_Version;
uint64_t _PyRuntime[512];
const unsigned long Py_Version = 0x030b02f0;

static void seek_at(struct cairn_subject *subject, uint64_t now_ns)
{
    subject->look_at_ns = 0;
    (void)cairn_subject_seek(subject, NULL, now_ns);
}

/* A loader that has mapped a library and not cleared its data yet may have to wait for a processor
 * for long; who sleeps, or has run on, is done. */
static void test_what_does_not_fit_is_no_other_build_while_it_waits_for_a_processor(void **state)
{
    struct cairn_worker worker = {.ran = true, .runs = true}, *workers = &worker;
    struct cairn_subject *subject;
    uint64_t now_ns = cairn_clock_mono_ns();

    (void)state;
    for (size_t i = 0; i < sizeof(_PyRuntime) / sizeof(_PyRuntime[0]); i++)
        _PyRuntime[i] = 4097;
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        assert_int_equal(cairn_subject_new(getpid(), now_ns, &subject), 0);
        subject->workers.items = &workers;
        subject->workers.count = 1;
        worker.runs = true;
        worker.cpu_ns = SECOND;
        for (int i = 0; i < 5; i++) {
            seek_at(subject, now_ns += SECOND);
            assert_int_equal(subject->why.code, -CAIRN_EUNSUPPORTED);
            assert_int_equal(subject->python, CAIRN_PYTHON_SOUGHT);
        }
        worker.runs = !sleeps;
        worker.cpu_ns += sleeps ? 0 : 10 * MS;
        seek_at(subject, now_ns += SECOND);
        assert_int_equal(subject->python, CAIRN_PYTHON_UNSUPPORTED);
        subject->workers.items = NULL;
        subject->workers.count = 0;
        cairn_subject_free(subject);
    }
    memset(_PyRuntime, 0, sizeof(_PyRuntime));
}

static void forget_worker(void *ctx, struct cairn_worker *worker)
{
    (void)ctx;
    (void)worker;
}

/* As one that a list of threads left out when Cairn attached, and the next one has. */
static void test_what_a_thread_ran_before_it_was_known_is_not_counted(void **state)
{
    struct cairn_subject *subject;
    struct cairn_worker *first;

    (void)state;
    while (clock() < CLOCKS_PER_SEC / 20)
        ;
    usleep(1000); /* its book is exact when it gives way */
    assert_int_equal(cairn_subject_new(getpid(), cairn_clock_mono_ns(), &subject), 0);
    assert_int_equal(cairn_subject_scan(subject, false, subject->seen_ns, forget_worker, NULL), 0);
    cairn_remains_attach(subject);
    first = subject->workers.items[0];
    subject->workers.count = 0;
    assert_int_equal(cairn_subject_scan(subject, true, cairn_clock_mono_ns(), forget_worker, NULL),
                     0);
    assert_int_equal(subject->workers.count, 1);
    assert_true(subject->workers.items[0]->book_ns >= 40 * MS);
    assert_int_equal(subject->workers.items[0]->cpu_ns, subject->workers.items[0]->book_ns);
    subject->workers.items[subject->workers.count++] = first;
    cairn_subject_free(subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_waits_for_a_processor_is_in_the_queue),
        cmocka_unit_test(test_who_was_given_a_processor_runs_at_once),
        cmocka_unit_test(test_who_runs_though_its_book_stands_is_not_in_the_queue),
        cmocka_unit_test(test_who_maps_much_is_looked_into_at_once),
        cmocka_unit_test(test_a_copy_of_what_had_no_stack_yet_is_a_copy),
        cmocka_unit_test(test_what_does_not_fit_is_no_other_build_while_it_waits_for_a_processor),
        cmocka_unit_test(test_what_a_thread_ran_before_it_was_known_is_not_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
