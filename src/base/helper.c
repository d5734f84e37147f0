#include "helper.h"

#include <sched.h>
#include <signal.h>

static bool has_processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 1;
}

bool cairn_helper_begin(pthread_t *ret_thread, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    bool begun;

    if (!has_processors())
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    begun = pthread_create(ret_thread, NULL, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun;
}
