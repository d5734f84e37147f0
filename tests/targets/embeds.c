/* embeds.c: a C program with Python inside.
 *
 *     embeds [thread] [late MS] [twice] [fork] [calls N] SCRIPT [ARGUMENT...]
 *
 * Starts Python and lets it run the script. `thread`: in a thread that is not the main one. `late`:
 * after so much work in C. `twice`: ends Python, works in C for as long, and does all of it again.
 * `fork`: a child runs the script, which Python is not told of, as in uWSGI. `calls`: after the script, N threads made by C call the script's `called(number)` as long as it
 * returns true, each time with a new thread state, and work 2 ms in C between two calls.
 */
#include <Python.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLERS_MAX 16
#define BETWEEN_MS 2

struct job {
    bool thread, fork;
    int late_ms, rounds, callers, argc;
    char **argv; /* script and arguments */
};

static uint64_t now_ms(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void work_in_c(int ms)
{
    for (uint64_t end = now_ms(CLOCK_MONOTONIC) + (uint64_t)ms; now_ms(CLOCK_MONOTONIC) < end;)
        ;
}

static void check(PyStatus status)
{
    if (PyStatus_Exception(status))
        Py_ExitStatusException(status);
}

static void start_python(const struct job *job)
{
    PyConfig config;

    PyConfig_InitPythonConfig(&config);
    config.parse_argv = 0;
    config.install_signal_handlers = 0;
    check(PyConfig_SetBytesArgv(&config, job->argc, job->argv));
    check(Py_InitializeFromConfig(&config));
    PyConfig_Clear(&config);
}

static void run_script(const char *path)
{
    FILE *file = fopen(path, "rb");

    if (!file || PyRun_SimpleFileExFlags(file, path, 1, NULL) != 0)
        exit(3);
}

static bool call_once(int number)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *module = PyImport_AddModule("__main__"); /* borrowed */
    PyObject *answer = PyObject_CallMethod(module, "called", "i", number);
    bool again = answer && PyObject_IsTrue(answer);

    if (!answer)
        PyErr_Print();
    Py_XDECREF(answer);
    PyGILState_Release(state);
    return again;
}

static void *caller(void *number)
{
    while (call_once((int)(intptr_t)number))
        work_in_c(BETWEEN_MS);
    return NULL;
}

static void run_callers(int count)
{
    pthread_t threads[CALLERS_MAX];

    Py_BEGIN_ALLOW_THREADS;
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, caller, (void *)(intptr_t)i) != 0)
            exit(3);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    Py_END_ALLOW_THREADS;
}

/* Goes on in a child; the parent waits for it and ends as it did. */
static void go_on_in_child(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        return;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        exit(3);
    exit(WEXITSTATUS(status));
}

static void *run_python(void *ctx)
{
    const struct job *job = ctx;

    for (int i = 0; i < job->rounds; i++) {
        work_in_c(job->late_ms);
        start_python(job);
        if (job->fork)
            go_on_in_child();
        run_script(job->argv[0]);
        run_callers(job->callers);
        if (Py_FinalizeEx() < 0)
            exit(3);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct job job = {.rounds = 1};
    pthread_t thread;
    int at = 1;

    for (; at < argc; at++) {
        if (!strcmp(argv[at], "thread"))
            job.thread = true;
        else if (!strcmp(argv[at], "twice"))
            job.rounds = 2;
        else if (!strcmp(argv[at], "fork"))
            job.fork = true;
        else if (!strcmp(argv[at], "late") && at + 1 < argc)
            job.late_ms = atoi(argv[++at]);
        else if (!strcmp(argv[at], "calls") && at + 1 < argc)
            job.callers = atoi(argv[++at]);
        else
            break;
    }
    job.argc = argc - at;
    job.argv = argv + at;
    if (!job.argc || job.callers < 0 || job.callers > CALLERS_MAX)
        return 2;
    if (!job.thread)
        run_python(&job);
    else if (pthread_create(&thread, NULL, run_python, &job) != 0)
        return 3;
    else
        pthread_join(thread, NULL);
    return 0;
}
