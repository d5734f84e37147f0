/* profile.h: a small recording with known stacks and times, for tests of those who show them.
 *
 * Everything in it is fixed, the schedule too: what is shown of it can be compared byte by byte.
 * A program that imports a library, works, and has a worker that mostly waits; a child process;
 * names that are hard on whoever prints them.
 */
#ifndef CAIRN_PROFILE_H
#define CAIRN_PROFILE_H

#include "model.h"

/* Ends the test when it fails. cairn_model_free() it. */
struct cairn_model *profile_load(void);

/* The same with a few samples only. */
struct cairn_model *profile_load_short(void);

#define PROFILE_HARD_NAME "hard;\x1b[31m\n<b>&\"'\xff\xe7\xa9\xba\xe2\x80\xae"

#endif
