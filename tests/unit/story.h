/* story.h: a recording told line by line, for tests of those who read models.
 *
 * Ticks are exact: the quantum is 1 us and times are whole us. Every call ends the test when it
 * fails.
 */
#ifndef CAIRN_STORY_H
#define CAIRN_STORY_H

#include "format.h"
#include "model.h"
#include "writer.h"

#define STORY_CODES_MAX 512
#define STORY_THREADS_MAX 64
#define STORY_START_NS 1000000000u

struct story {
    struct cairn_sink *sink;
    struct cairn_writer *writer;
    struct {
        char name[64];
        uint32_t id;
    } codes[STORY_CODES_MAX];
    size_t code_count;
    uint32_t threads[STORY_THREADS_MAX];
    size_t thread_count;
    uint64_t tick, now_ns;
};

/* `path` NULL: in memory. */
void story_begin(struct story *story, const char *path, uint32_t writer_id);

/* Threads of one pid are of one process; returns the number to be used below. */
unsigned story_thread(struct story *story, uint64_t pid, uint64_t tid, const char *name);

/* Says more of the process `pid`; `parent` is what this returned for another, 0: not known. */
uint32_t story_process(struct story *story, uint64_t pid, uint32_t parent, const char *command,
                       enum cairn_birth birth);

void story_env(struct story *story, const char *key, const char *value);

/* A tick, `step_ns` behind the one before. */
void story_tick(struct story *story, uint64_t step_ns);

/* At the last `ticks` ticks `thread` was on `stack`: "outer FILE:FIRST[@LINE];inner …;[label]",
 * having run for `cpu_ns`. "" is the empty stack. */
void story_sample(struct story *story, unsigned thread, const char *stack, uint64_t ticks,
                  uint64_t cpu_ns);

/* The same with what the rest of the time was (enum cairn_sample_state), what held meanwhile (enum
 * cairn_overlay) and what was waited for, "" for not known. Not in a chunk with the other kind. */
void story_wait(struct story *story, unsigned thread, const char *stack, uint64_t ticks,
                uint64_t state, uint64_t overlays, const char *on);

/* `calls` calls that ended on `stack`, counted: their own time and that with what they called. */
void story_calls(struct story *story, unsigned thread, const char *stack, uint64_t calls,
                 uint64_t self_ns, uint64_t total_ns);

/* The same of calls of which something was left out: flags of struct cairn_call_sum. Not in a chunk
 * with others. */
void story_calls_left(struct story *story, unsigned thread, const char *stack, uint64_t calls,
                      uint64_t self_ns, uint64_t total_ns, uint64_t flags);

/* `thread` was in a region, so many ns from the start of the recording on; `name` is a label,
 * "[x]". Not in a chunk with samples. */
void story_region(struct story *story, unsigned thread, const char *name, uint64_t from_ns,
                  uint64_t to_ns);

void story_flush(struct story *story);

/* Closes the recording; for one in memory, loads it: cairn_model_free() it. */
struct cairn_model *story_end(struct story *story);

#endif
