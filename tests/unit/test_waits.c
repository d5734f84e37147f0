/* What a process waits for, told from outside: children that block in one call each. */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "err.h"
#include "netsockets.h"
#include "waits.h"
#include "writer.h"

#define DEADLINE_S 20

static int pipe_ends[2], server;
static char locked_path[] = "/tmp/cairn-waits-XXXXXX", fifo_path[64];
static uint32_t *word; /* shared with the children */

static void in_read(void)
{
    char byte;

    (void)!read(pipe_ends[0], &byte, 1);
}

static void in_poll_of_one(void)
{
    struct pollfd one = {.fd = pipe_ends[0], .events = POLLIN};

    poll(&one, 1, -1);
}

static void in_poll_of_two(void)
{
    struct pollfd two[] = {{.fd = pipe_ends[0], .events = POLLIN},
                           {.fd = server, .events = POLLIN}};

    poll(two, 2, -1);
}

static void in_epoll_of(int count, const int *fds)
{
    int epoll = epoll_create1(0);

    for (int i = 0; i < count; i++)
        epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &(struct epoll_event){.events = EPOLLIN});
    epoll_wait(epoll, &(struct epoll_event){0}, 1, -1);
}

/* As loops do: what wakes them by themselves is among them. */
static void in_epoll_of_one(void)
{
    int pair[2];

    (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    in_epoll_of(4, (int[]){pair[0], pipe_ends[0], server, eventfd(0, 0)});
}

static void in_epoll_of_two(void)
{
    int other = open(fifo_path, O_RDWR);

    in_epoll_of(2, (int[]){server, other});
}

static void in_epoll_of_many(void)
{
    for (int i = 0; i < 100; i++)
        (void)!dup(server);
    in_epoll_of(1, &server);
}

static void in_open(void)
{
    (void)!open(fifo_path, O_RDONLY);
}

static void in_accept(void)
{
    accept(server, NULL, NULL);
}

static void in_flock(void)
{
    flock(open(locked_path, O_RDONLY), LOCK_EX);
}

static void in_futex(void)
{
    syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void in_futex_on_its_stack(void)
{
    uint32_t own = 0;

    syscall(SYS_futex, &own, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void in_sleep(void)
{
    sleep(600);
}

static void in_pause(void)
{
    pause();
}

static void in_call_of_no_name(void)
{
    sigset_t set;
    int signal;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigwait(&set, &signal);
}

/* Until the child is blocked in a call: it is not to be read before. */
static void wait_blocked(pid_t pid, struct cairn_proc_syscall *ret)
{
    int fd = cairn_proc_syscall_open(pid, pid);

    assert_true(fd >= 0);
    alarm(DEADLINE_S);
    do
        assert_int_equal(cairn_proc_syscall_read(fd, ret), 0);
    while (ret->runs || ret->number < 0);
    alarm(0);
    close(fd);
}

static void check(void (*block)(void), const char *want)
{
    struct cairn_proc_syscall call;
    struct cairn_waits waits;
    struct cairn_buf text;
    pid_t pid = fork();

    if (pid == 0) {
        alarm(DEADLINE_S);
        block();
        _exit(0);
    }
    wait_blocked(pid, &call);
    cairn_buf_init(&text, 4096);
    assert_int_equal(cairn_waits_init(&waits), 0);
    cairn_waits_describe(&waits, &(struct cairn_waiter){pid, pid, NULL, NULL}, &call, 1, &text);
    assert_string_equal(cairn_buf_cstr(&text), want);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    cairn_waits_release(&waits);
    cairn_buf_release(&text);
}

static void test_calls_and_what_they_are_about(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    char want[128];
    int locked = mkstemp(locked_path);

    (void)state;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    word = mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(word != MAP_FAILED);
    assert_int_equal(pipe(pipe_ends), 0);
    server = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server, 1), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(flock(locked, LOCK_EX), 0);
    snprintf(fifo_path, sizeof(fifo_path), "%s.fifo", locked_path);
    assert_int_equal(mkfifo(fifo_path, 0600), 0);

    check(in_read, "read pipe");
    check(in_poll_of_one, "poll pipe");
    check(in_poll_of_two, "poll");
    snprintf(want, sizeof(want), "accept socket listening on 127.0.0.1:%d",
             ntohs(address.sin_port));
    check(in_accept, want);
    snprintf(want, sizeof(want), "epoll_wait socket listening on 127.0.0.1:%d",
             ntohs(address.sin_port));
    check(in_epoll_of_one, want);
    check(in_epoll_of_two, "epoll_wait");
    check(in_epoll_of_many, "epoll_wait");
    snprintf(want, sizeof(want), "openat %s", fifo_path);
    check(in_open, want);
    snprintf(want, sizeof(want), "flock %s", locked_path);
    check(in_flock, want);
    snprintf(want, sizeof(want), "futex lock 0x%" PRIxPTR, (uintptr_t)word);
    check(in_futex, want);
    check(in_futex_on_its_stack, "futex");
    check(in_sleep, "clock_nanosleep");
    check(in_pause, "pause");
    check(in_call_of_no_name, "rt_sigtimedwait");
    unlink(locked_path);
    unlink(fifo_path);
    close(locked);
    close(server);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    munmap(word, sizeof(*word));
}

/* A child that blocks in a call and, once it is released, says so and blocks in the next one:
 * whether that is looked up. */
static void check_again(void (*block)(int said), void (*release)(void), bool want_same)
{
    struct cairn_sink_options sink_options = {0};
    struct cairn_writer_options options = {.id = 1, .role = "test"};
    struct cairn_proc_syscall call;
    struct cairn_waiter waiter = {0};
    struct cairn_waits waits;
    struct cairn_wait wait;
    struct cairn_sink *sink;
    uint32_t first;
    int said[2];
    char byte;

    assert_int_equal(pipe(said), 0);
    waiter.pid = waiter.tid = fork();
    if (waiter.pid == 0) {
        alarm(DEADLINE_S);
        block(said[1]);
        _exit(0);
    }
    assert_int_equal(cairn_sink_open(&sink_options, &sink, NULL), 0);
    assert_int_equal(cairn_writer_open(sink, &options, &waiter.writer), 0);
    assert_int_equal(cairn_waits_init(&waits), 0);
    cairn_wait_init(&wait);
    wait_blocked(waiter.pid, &call);
    assert_int_equal(cairn_wait_look(&waits, &wait, &waiter, 1), 0);
    assert_true(wait.seen);
    first = wait.on;
    assert_int_equal(wait.named_ns, 1);
    release();
    assert_int_equal(read(said[0], &byte, 1), 1);
    wait_blocked(waiter.pid, &call);
    wait.seen = false; /* it ran */
    assert_int_equal(cairn_wait_look(&waits, &wait, &waiter, 2), 0);
    assert_true(wait.seen);
    assert_int_equal(wait.on == first, want_same);
    assert_int_equal(wait.named_ns, want_same ? 1 : 2);
    kill(waiter.pid, SIGKILL);
    waitpid(waiter.pid, NULL, 0);
    cairn_wait_release(&wait);
    cairn_waits_release(&waits);
    cairn_writer_free(waiter.writer);
    cairn_sink_close(sink, NULL);
    close(said[0]);
    close(said[1]);
}

static char other_fifo[80];

static void in_two_opens(int said)
{
    char path[80];

    memcpy(path, fifo_path, sizeof(fifo_path));
    (void)!open(path, O_RDONLY);
    memcpy(path, other_fifo, sizeof(other_fifo));
    (void)!write(said, "", 1);
    (void)!open(path, O_RDONLY);
}

static void open_fifo(void)
{
    assert_true(open(fifo_path, O_WRONLY) >= 0);
}

static void in_two_epolls(int said)
{
    struct epoll_event events[2] = {{.events = EPOLLIN}, {0}};
    int epoll = epoll_create1(0);

    epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_ends[0], &events[0]);
    epoll_wait(epoll, &events[0], 1, -1);
    (void)!read(pipe_ends[0], &events[1], 1);
    (void)!write(said, "", 1);
    epoll_wait(epoll, &events[1], 1, -1);
}

static void write_pipe(void)
{
    assert_int_equal(write(pipe_ends[1], "", 1), 1);
}

/* What is named by a descriptor is looked up once in a while; what is named by a path that lies
 * where the one before lay, each time. */
static void test_what_is_waited_for_next(void **state)
{
    char place_path[] = "/tmp/cairn-waits-XXXXXX";
    int place = mkstemp(place_path);

    (void)state;
    assert_true(place >= 0);
    snprintf(fifo_path, sizeof(fifo_path), "%s.fifo", place_path);
    snprintf(other_fifo, sizeof(other_fifo), "%s.other", place_path);
    assert_int_equal(mkfifo(fifo_path, 0600), 0);
    assert_int_equal(mkfifo(other_fifo, 0600), 0);
    assert_int_equal(pipe(pipe_ends), 0);
    check_again(in_two_opens, open_fifo, false);
    check_again(in_two_epolls, write_pipe, true);
    unlink(fifo_path);
    unlink(other_fifo);
    unlink(place_path);
    close(place);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static void test_a_call_without_a_name_is_shown_by_number(void **state)
{
    const struct cairn_proc_syscall calls[] = {{.number = 9999}, {.number = -1}};
    static const char *const want[] = {"syscall 9999", "page fault"};
    struct cairn_waits waits;
    struct cairn_buf text;

    (void)state;
    cairn_buf_init(&text, 4096);
    assert_int_equal(cairn_waits_init(&waits), 0);
    for (size_t i = 0; i < 2; i++) {
        cairn_buf_clear(&text);
        cairn_waits_describe(&waits, &(struct cairn_waiter){1, 1, NULL, NULL}, &calls[i], 1, &text);
        assert_string_equal(cairn_buf_cstr(&text), want[i]);
    }
    cairn_waits_release(&waits);
    cairn_buf_release(&text);
}

static void on_socket(void *ctx, uint64_t inode, const char *text)
{
    cairn_buf_printf(ctx, "%" PRIu64 "=%s\n", inode, text);
}

static const char tcp_table[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 "
    "1 0\n"
    "   1: 0100007F:C350 0200000A:1538 01 00000000:00000000 00:00000000 00000000     0        0 12 "
    "1 0\n"
    "   2: 0100007F:C350\n"
    "   3: 0100007Z:C350 0200000A:1538 01 00000000:00000000 00:00000000 00000000     0        0 13 "
    "1 0\n"
    "   4: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A "
    "00000000:00000000 00:00000000 00000000     0        0 14 1 0\n"
    "   5: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 15 "
    "2 0";

static const char unix_table[] =
    "Num       RefCount Protocol Flags    Type St Inode Path\n"
    "0000000000000000: 00000002 00000000 00010000 0001 01 21 /run/a socket\n"
    "0000000000000000: 00000003 00000000 00000000 0001 03 22\n"
    "garbage\n"
    "0000000000000000: 00000003 00000000 00000000 0001 03 23 @hidden";

static void test_tables_of_sockets_are_read(void **state)
{
    struct cairn_buf text;

    (void)state;
    cairn_buf_init(&text, 4096);
    cairn_netsockets_parse(tcp_table, false, on_socket, &text);
    assert_string_equal(cairn_buf_cstr(&text), "11=listening on 127.0.0.1:8080\n"
                                               "12=10.0.0.2:5432\n"
                                               "14=listening on [::1]:80\n"
                                               "15=bound to 127.0.0.1:53\n");
    cairn_buf_clear(&text);
    cairn_netsockets_parse(unix_table, true, on_socket, &text);
    assert_string_equal(cairn_buf_cstr(&text), "21=/run/a socket\n22=unix\n23=@hidden\n");
    cairn_buf_clear(&text);
    cairn_netsockets_parse("", false, on_socket, &text);
    cairn_netsockets_parse("\n", true, on_socket, &text);
    cairn_netsockets_parse("\n\n\n", false, on_socket, &text);
    assert_int_equal(text.size_bytes, 0);
    cairn_buf_release(&text);
}

static void test_texts_of_the_kernel_are_read(void **state)
{
    static const char *const bad[] = {"",  "x", "202", "202 0x1", "202 0x1 0x2 0x3 0x4 0x5 0x6",
                                      "-1"};
    struct cairn_proc_syscall call = {.number = 77};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(cairn_proc_syscall_parse(bad[i], &call), -CAIRN_EDAMAGED);
    assert_int_equal(call.number, 77);
    assert_int_equal(cairn_proc_syscall_parse("running\n", &call), 0);
    assert_true(call.runs);
    assert_int_equal(cairn_proc_syscall_parse("-1 0x7ffe 0x4001\n", &call), 0);
    assert_int_equal(call.number, -1);
    assert_int_equal(call.stack, 0x7ffe);
    assert_int_equal(
        cairn_proc_syscall_parse("202 0x7f01 0x80 0x0 0x0 0x0 0xffffffff 0x7ffe 0x4001\n", &call),
        0);
    assert_false(call.runs);
    assert_int_equal(call.number, 202);
    assert_int_equal(call.args[0], 0x7f01);
    assert_int_equal(call.args[1], 0x80);
    assert_int_equal(call.stack, 0x7ffe);
}

static size_t wait_at_a_new_socket(struct cairn_waits *waits, uint64_t now_ns)
{
    const struct cairn_waiter self = {getpid(), getpid(), NULL, NULL};
    struct cairn_proc_syscall call = {.number = SYS_recvfrom};
    struct cairn_buf text;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    call.args[0] = (uint64_t)pair[0];
    cairn_buf_init(&text, 4096);
    cairn_waits_describe(waits, &self, &call, now_ns, &text);
    assert_string_equal(cairn_buf_cstr(&text), "recvfrom socket unix");
    cairn_buf_release(&text);
    close(pair[0]);
    close(pair[1]);
    return waits->sockets.count;
}

/* Who makes a connection a second, for days, has no more of them than there are at once. */
static void test_sockets_that_are_over_are_forgotten(void **state)
{
    enum { SOCKETS = 3000, SOME = 500 };
    struct cairn_waits waits;
    size_t first, last = 0;

    (void)state;
    assert_int_equal(cairn_waits_init(&waits), 0);
    first = wait_at_a_new_socket(&waits, 1);
    for (uint64_t i = 1; i < SOCKETS; i++)
        last = wait_at_a_new_socket(&waits, 1 + i * 1000000000u);
    assert_in_range(last, 1, 3 * first + SOME);
    cairn_waits_release(&waits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_and_what_they_are_about),
        cmocka_unit_test(test_what_is_waited_for_next),
        cmocka_unit_test(test_a_call_without_a_name_is_shown_by_number),
        cmocka_unit_test(test_tables_of_sockets_are_read),
        cmocka_unit_test(test_texts_of_the_kernel_are_read),
        cmocka_unit_test(test_sockets_that_are_over_are_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
