#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "cage.h"

#define MB ((size_t)1 << 20)
#define NOBODY "65534\t65534\t65534\t65534"

static char *place; /* a file that is there */

struct job {
    int (*act)(void); /* below 0: it could not be done */
    int in, out;
};

static int run_act(void *context, struct cairn_err *err)
{
    const struct job *job = context;
    int got = job->act();

    return got < 0 ? cairn_err_set(err, -CAIRN_EPERM, -got, "act", "refused") : 0;
}

static int run(int (*act)(void), struct cairn_cage_held *held, struct cairn_err *err)
{
    struct job job = {.act = act};
    struct cairn_cage cage = {
        .what = "FILE", .memory_bytes = 64 * MB, .cpu_s = 5, .work = run_act, .context = &job};

    *err = (struct cairn_err){0};
    return cairn_cage_run(&cage, held, err);
}

/* Where other programs watch this one the cage has no filter, and says so. */
static void need_all(void)
{
    struct cairn_cage_held held;
    struct cairn_err err = {0};
    char buf[128];

    assert_int_equal(cairn_cage_try(&held, &err), 0);
    if (held.filter || held.limits) {
        printf("# skip: %s\n", cairn_cage_why(held.filter, buf, sizeof(buf)));
        skip();
    }
}

static int answer(long got)
{
    return got < 0 ? -errno : 0;
}

static int try_open(void)
{
    return answer(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int try_create(void)
{
    return answer(open(place, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

static int try_unlink(void)
{
    return answer(unlink(place));
}

static int try_connect(void)
{
    return answer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int try_socketpair(void)
{
    int ends[2];

    return answer(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
}

static int try_exec(void)
{
    char word[] = "true";
    char *const words[] = {word, NULL};

    return answer(execv("/bin/true", words));
}

static int try_fork(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    return answer(pid);
}

static int try_ptrace(void)
{
    return answer(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int try_read_memory(void)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {&place, 1};

    return answer(syscall(SYS_process_vm_readv, getppid(), &here, 1ul, &there, 1ul, 0ul));
}

static int try_kill(void)
{
    return answer(kill(-1, SIGURG));
}

static int try_abort_others(void)
{
    return answer(syscall(SYS_tgkill, 1, 1, SIGABRT));
}

static int try_code(void)
{
    void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return code == MAP_FAILED ? -errno : 0;
}

static int try_turn_into_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return page == MAP_FAILED ? -errno : answer(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}

static int try_limits(void)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

    return answer(setrlimit(RLIMIT_AS, &limit));
}

static int try_user(void)
{
    return answer(setuid(0));
}

static int try_namespace(void)
{
    return answer(syscall(SYS_unshare, 0x10000000));
}

static void test_what_no_reader_does_ends_it(void **state)
{
    static int (*const tries[])(void) = {
        try_open,           try_create, try_unlink,      try_connect,   try_socketpair,   try_exec,
        try_fork,           try_ptrace, try_read_memory, try_kill,      try_abort_others, try_code,
        try_turn_into_code, try_limits, try_user,        try_namespace,
    };
    struct cairn_err err;

    (void)state;
    need_all();
    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        int code = run(tries[i], NULL, &err);

        if (code != -CAIRN_EDAMAGED || !strstr(err.text, "FILE cannot be read\n") ||
            !strstr(err.text, "asked the system"))
            fail_msg("%zu: %d, %s", i, code, err.text);
    }
    assert_int_equal(access(place, F_OK), 0);
}

static int write_to_stdout(void)
{
    return answer(write(STDOUT_FILENO, "x", 1));
}

static int write_to_place_fd;

static int write_to_other(void)
{
    return answer(write(write_to_place_fd, "x", 1));
}

static void test_other_descriptors_are_closed(void **state)
{
    struct cairn_err err;

    (void)state;
    write_to_place_fd = open(place, O_WRONLY); /* also across exec: nothing else closes it */
    assert_true(write_to_place_fd >= 0);
    assert_int_equal(run(write_to_stdout, NULL, &err), -CAIRN_EPERM);
    assert_int_equal(err.sys, EBADF);
    assert_int_equal(run(write_to_other, NULL, &err), -CAIRN_EPERM);
    assert_int_equal(err.sys, EBADF);
    assert_int_equal(lseek(write_to_place_fd, 0, SEEK_END), 0);
    close(write_to_place_fd);
}

static int copy(void *context, struct cairn_err *err)
{
    const struct job *job = context;
    char text[16];
    ssize_t got = pread(job->in, text, sizeof(text), 0);
    char *more = cairn_malloc(16 * MB);

    if (got != 5 || !more || memset(more, 1, 16 * MB) != more ||
        write(job->out, text, (size_t)got) != got)
        return cairn_err_set(err, -CAIRN_EIO, errno, "copy", "not copied");
    free(more);
    return 0;
}

static void test_what_it_is_given_it_reads_and_writes(void **state)
{
    int ends[2], spare[3], in = open(place, O_RDWR | O_CLOEXEC);
    struct job job;
    struct cairn_err err = {0};
    char text[16];

    (void)state;
    for (size_t i = 0; i < 3; i++)
        spare[i] = dup(in);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(pwrite(in, "hello", 5, 0), 5);
    job = (struct job){.in = in, .out = ends[1]};
    {
        const int files[] = {ends[1], in};
        struct cairn_cage cage = {.what = "FILE",
                                  .files = files,
                                  .file_count = 2,
                                  .memory_bytes = 64 * MB,
                                  .work = copy,
                                  .context = &job};

        if (cairn_cage_run(&cage, NULL, &err) < 0)
            fail_msg("%s", err.text);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], text, sizeof(text)), 5);
    assert_memory_equal(text, "hello", 5);
    assert_int_equal(read(ends[0], text, sizeof(text)), 0);
    assert_int_equal(ftruncate(in, 0), 0);
    close(ends[0]);
    close(in);
    for (size_t i = 0; i < 3; i++)
        close(spare[i]);
}

static int take_memory(void)
{
    for (size_t i = 0; i < 96; i++) {
        char *more = cairn_malloc(MB);

        if (!more)
            return -ENOMEM;
        memset(more, 1, MB);
    }
    return 0;
}

static int say_no_memory(void *context, struct cairn_err *err)
{
    (void)context, (void)err;
    return take_memory() < 0 ? -CAIRN_ENOMEM : 0;
}

static void test_memory_has_a_limit(void **state)
{
    struct cairn_cage cage = {.what = "FILE", .memory_bytes = 64 * MB, .work = say_no_memory};
    struct cairn_err err = {0};

    (void)state;
    need_all();
    assert_int_equal(cairn_cage_run(&cage, NULL, &err), -CAIRN_EFOREIGN);
    assert_non_null(strstr(err.text, "more memory to read than the 64 MB"));
    cage.memory_bytes = 256 * MB;
    assert_int_equal(cairn_cage_run(&cage, NULL, &err), 0);
}

static int spin(void *context, struct cairn_err *err)
{
    (void)context, (void)err;
    for (volatile unsigned i = 0;; i++)
        ;
    return 0;
}

static void test_processor_time_has_a_limit(void **state)
{
    struct cairn_cage cage = {.what = "FILE", .cpu_s = 1, .work = spin};
    struct cairn_err err = {0};

    (void)state;
    need_all();
    assert_int_equal(cairn_cage_run(&cage, NULL, &err), -CAIRN_EFOREIGN);
    assert_string_equal(err.text, "FILE takes too long to read\n"
                                  "It was given up after 1 s of processor time.");
}

static int fill(void *context, struct cairn_err *err)
{
    const struct job *job = context;
    static char bytes[MB];

    for (size_t i = 0; i < 4; i++)
        if (write(job->out, bytes, MB) != (ssize_t)MB)
            return cairn_err_set(err, -CAIRN_EIO, errno, "fill", "no room");
    return 0;
}

static void test_what_it_writes_has_a_limit(void **state)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    struct job job = {.out = fd};
    struct cairn_cage cage = {.what = "FILE",
                              .files = &fd,
                              .file_count = 1,
                              .write_bytes = 2 * MB,
                              .work = fill,
                              .context = &job};
    struct cairn_err err = {0};

    (void)state;
    need_all();
    assert_int_equal(cairn_cage_run(&cage, NULL, &err), -CAIRN_EFOREIGN);
    assert_string_equal(err.text, "FILE makes a recording of more than 2 MB");
    assert_int_equal(lseek(fd, 0, SEEK_END), 2 * MB);
    close(fd);
}

static int crash(void)
{
    raise(SIGSEGV);
    return 0;
}

static int stop_short(void)
{
    _exit(0);
}

static int crash_for_real(void)
{
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    page[8] = 1;
    return 0;
}

static void test_a_crash_is_an_answer(void **state)
{
    static int (*const ends[])(void) = {crash_for_real, crash, stop_short};
    struct cairn_err err;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(run(ends[i], NULL, &err), -CAIRN_EDAMAGED);
        assert_non_null(strstr(err.text, "FILE cannot be read\nWhat reads it crashed"));
    }
}

static int say_all(void *context, struct cairn_err *err)
{
    cairn_err_set(err, -CAIRN_EFOREIGN, 0, "say", "1\n2\n3\n4\n5");
    return *(const int *)context;
}

static void test_its_answer_is_judged(void **state)
{
    static const int none[] = {1, -CAIRN_ERROR_COUNT, INT32_MIN, INT32_MAX};
    int code = -CAIRN_EFOREIGN;
    struct cairn_cage cage = {.what = "FILE", .work = say_all, .context = &code};
    struct cairn_err err = {0};

    (void)state;
    assert_int_equal(cairn_cage_run(&cage, NULL, &err), -CAIRN_EFOREIGN);
    assert_string_equal(err.text, "1\n2\n3");
    assert_string_equal(err.where, "cage");
    for (size_t i = 0; i < 4; i++) {
        code = none[i];
        assert_int_equal(cairn_cage_run(&cage, NULL, &err), -CAIRN_EDAMAGED);
        assert_string_equal(err.text, "FILE cannot be read: no such answer can be");
    }
}

static void test_who_ignores_children_gets_the_answer(void **state)
{
    int code = -CAIRN_EFOREIGN;
    struct cairn_cage cage = {.what = "FILE", .work = say_all, .context = &code};
    struct sigaction now;
    struct cairn_err err;

    (void)state;
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(cairn_cage_run(&cage, NULL, &err), -CAIRN_EFOREIGN);
    assert_int_equal(run(crash, NULL, &err), -CAIRN_EDAMAGED);
    assert_int_equal(sigaction(SIGCHLD, NULL, &now), 0);
    assert_ptr_equal(now.sa_handler, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}

/* Says that it is there, and waits until it has been looked at. */
static int stand(void *context, struct cairn_err *err)
{
    const struct job *job = context;
    char byte = '.';

    (void)err;
    return write(job->out, &byte, 1) == 1 && read(job->in, &byte, 1) == 0 ? 0 : -CAIRN_EIO;
}

struct look {
    int told, go;
    char status[8192];
};

static void *look(void *context)
{
    struct look *look = context;
    char byte, path[128];
    int child = 0;
    FILE *file;

    if (read(look->told, &byte, 1) == 1) {
        snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
        file = fopen(path, "re");
        if (file && fscanf(file, "%d", &child) != 1)
            child = 0;
        if (file)
            fclose(file);
        snprintf(path, sizeof(path), "/proc/%d/status", child);
        file = fopen(path, "re");
        if (file) {
            look->status[fread(look->status, 1, sizeof(look->status) - 1, file)] = '\0';
            fclose(file);
        }
    }
    close(look->go);
    return NULL;
}

static void assert_line(const char *status, const char *key, const char *value)
{
    const char *line = strstr(status, key);

    assert_non_null(line);
    line += strlen(key);
    if (strncmp(line, value, strlen(value)) != 0 || !strchr(" \n", line[strlen(value)]))
        fail_msg("%s%.40s", key, line);
}

static void test_it_has_no_rights(void **state)
{
    int told[2], go[2];
    struct look seen = {.status = ""};
    struct cairn_cage_held held;
    struct cairn_err err = {0};
    struct job job;
    pthread_t thread;

    (void)state;
    assert_int_equal(pipe2(told, O_CLOEXEC) | pipe2(go, O_CLOEXEC), 0);
    job = (struct job){.in = go[0], .out = told[1]};
    seen.told = told[0];
    seen.go = go[1];
    assert_int_equal(pthread_create(&thread, NULL, look, &seen), 0);
    {
        const int files[] = {job.in, job.out};
        struct cairn_cage cage = {
            .what = "FILE", .files = files, .file_count = 2, .work = stand, .context = &job};

        if (cairn_cage_run(&cage, &held, &err) < 0)
            fail_msg("%s", err.text);
    }
    close(told[1]);
    pthread_join(thread, NULL);
    close(told[0]);
    close(go[0]);
    assert_line(seen.status, "CapPrm:\t", "0000000000000000");
    assert_line(seen.status, "CapEff:\t", "0000000000000000");
    assert_line(seen.status, "CapInh:\t", "0000000000000000");
    assert_line(seen.status, "NoNewPrivs:\t", "1");
    assert_line(seen.status, "Seccomp:\t", held.filter ? "0" : "2");
    if (geteuid() == 0 && held.user == 0) {
        assert_line(seen.status, "Uid:\t", NOBODY);
        assert_line(seen.status, "Gid:\t", NOBODY);
        assert_line(seen.status, "Groups:\t", "");
    }
    assert_int_equal(held.fixed, 0);
}

static int make_place(void **state)
{
    static char path[] = "/tmp/cairn-test-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    place = path;
    return fd < 0 || close(fd) < 0;
}

static int remove_place(void **state)
{
    (void)state;
    return unlink(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_no_reader_does_ends_it),
        cmocka_unit_test(test_other_descriptors_are_closed),
        cmocka_unit_test(test_what_it_is_given_it_reads_and_writes),
        cmocka_unit_test(test_memory_has_a_limit),
        cmocka_unit_test(test_processor_time_has_a_limit),
        cmocka_unit_test(test_what_it_writes_has_a_limit),
        cmocka_unit_test(test_a_crash_is_an_answer),
        cmocka_unit_test(test_its_answer_is_judged),
        cmocka_unit_test(test_who_ignores_children_gets_the_answer),
        cmocka_unit_test(test_it_has_no_rights),
    };

    return cmocka_run_group_tests(tests, make_place, remove_place);
}
