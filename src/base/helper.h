/* helper.h: a second thread for a part of the work, where a second processor is there to run it. */
#ifndef CAIRN_HELPER_H
#define CAIRN_HELPER_H

#include <pthread.h>
#include <stdbool.h>

/* Begins a thread that signals do not reach: they are for who waits for them. False when there is
 * no second processor or no thread to be had; else pthread_join() it. */
bool cairn_helper_begin(pthread_t *ret_thread, void *(*run)(void *), void *argument);

#endif
