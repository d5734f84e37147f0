/* A library whose threads never run Python: two that are called alike and use up a processor. */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

static double cpu_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *spin(void *seconds)
{
    pthread_setname_np(pthread_self(), "spinner");
    while (cpu_s() < *(double *)seconds)
        ;
    return NULL;
}

/* Each takes so long; waits for both. */
void spin_both(double seconds)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, spin, &seconds);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
