/* guest.h: what a foreign file says, written down as a recording, so that all that reads a
 * recording reads the file.
 *
 * Weights become time: a sample of 5 ms is 5 ms of its thread. What has no times lies one behind
 * the other from 0 on. Rows are gathered, then written thread by thread, so memory does not grow
 * with the file; what grows is the number of different frames and stacks, up to a ceiling.
 * Nothing is claimed that the file does not hold: no state without a column for it, no number of
 * samples where the weights are times.
 * Owner: the guest owns its writer and borrows the sink. Threads: one at a time. Every function
 * returns 0, -CAIRN_ENOMEM, -CAIRN_ELIMIT or what writing failed with.
 */
#ifndef CAIRN_GUEST_H
#define CAIRN_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "map.h"
#include "spill.h"
#include "vec.h"
#include "writer.h"

#define CAIRN_GUEST_TIME_MAX_NS ((uint64_t)1 << 60) /* more than 36 years: nobody measured it */

struct cairn_guest_frame {
    struct cairn_span name, file; /* without a file: all that is known is the name, but for: */
    bool is_code;                 /* its file is known, and is the empty one */
    uint32_t line, first_line;    /* that ran; where the function begins. 0: not known */
};

struct cairn_guest_thread {
    uint64_t pid, tid; /* 0: not told; then the name tells which one it is */
    struct cairn_span process, name;
    uint64_t place; /* where threads without a number may have one name: which of them it is */
    uint32_t process_place; /* the same of its process */
};

struct cairn_guest_sample {
    uint32_t thread, stack;
    uint8_t state;  /* enum cairn_sample_state, of what is left of `ns`; with_states only */
    uint64_t count; /* samples, at least 1; where that is not known, 1 */
    uint64_t ns;    /* thread's time, of which: */
    uint64_t cpu_ns, runq_ns; /* with_states only */
};

/* Calls that were counted: on a stack of one frame all of its function's, on one of two so many as
 * the one in front made. */
struct cairn_guest_calls {
    uint32_t thread, stack;
    uint64_t calls, primitive; /* primitive: the function was not below itself */
    double self_s, total_s;
    bool plain;    /* of a caller: calls are all that is known */
    bool inferred; /* of a caller: the own time is */
    bool unsure;   /* `primitive` is not known, and of a function the total with it; nor its calls
                      where they are 0 */
};

struct cairn_guest_line { /* that was counted */
    uint32_t thread;
    uint64_t hits, total_ns; /* total: with what it called */
};

struct cairn_guest_row {
    struct cairn_guest_sample sample;
    uint64_t first_ns;
    uint64_t number; /* in which order it came */
};

struct cairn_guest_track {
    uint32_t track;
    uint64_t clock_ns; /* where its next sample begins */
};

#define CAIRN_OBJECTS_MAX 64

struct cairn_object { /* a program or library, open to be read for the names in it */
    const char *path; /* under which a profile says that it was mapped */
    int fd;
};

struct cairn_guest {
    struct cairn_sink *sink;
    struct cairn_writer *writer;
    struct cairn_map locations;         /* of frames met */
    struct cairn_map processes, tracks; /* {pid or name} and {tid or name} to what was made */
    CAIRN_VEC(struct cairn_guest_track) threads;
    CAIRN_VEC(struct cairn_guest_row) rows;
    uint64_t next_tick, next_number;
    uint64_t samples, total_ns; /* given so far */
    uint64_t ticks;             /* written so far */
    uint64_t text_bytes;        /* of names and files, each once */
    uint64_t interval_ns; /* of formats whose weights are bare counts: one sample; 0: not known */
    bool counted;         /* the counts are numbers of samples, which intervals may rest on */
    bool with_states;     /* rows tell what the thread did; set before the first sample */
    struct cairn_spill *spill;          /* borrowed, may be NULL */
    const struct cairn_object *objects; /* borrowed; NULL: names of addresses are not asked for */
    size_t object_count;
    struct cairn_err *err; /* filled when writing fails; borrowed, may be NULL */
};

int cairn_guest_open(struct cairn_guest *guest, struct cairn_sink *sink, struct cairn_err *err);
void cairn_guest_release(struct cairn_guest *guest); /* drops what was not finished */

int cairn_guest_frame(struct cairn_guest *guest, const struct cairn_guest_frame *frame,
                      uint32_t *ret_frame);

/* `frame` called by the leaf of `parent`; 0 is the empty stack. */
int cairn_guest_stack(struct cairn_guest *guest, uint32_t parent, uint32_t frame,
                      uint32_t *ret_stack);

int cairn_guest_thread(struct cairn_guest *guest, const struct cairn_guest_thread *thread,
                       uint32_t *ret_thread);

/* Adds a sample where its thread's clock stands, and moves the clock on. -CAIRN_EDAMAGED: such
 * times cannot be. */
int cairn_guest_add(struct cairn_guest *guest, const struct cairn_guest_sample *sample);

/* Numbers that the file has counted: they stand beside the samples, and change no time. `frame`: of
 * a line, with its file. */
int cairn_guest_count_calls(struct cairn_guest *guest, const struct cairn_guest_calls *calls);
int cairn_guest_count_line(struct cairn_guest *guest, const struct cairn_guest_frame *frame,
                           const struct cairn_guest_line *line);

/* Sets the clock of a thread; times that lie before it are left alone. */
void cairn_guest_wait(struct cairn_guest *guest, uint32_t thread, uint64_t until_ns);

/* Facts about the recording: "import.format" and the like. */
int cairn_guest_fact(struct cairn_guest *guest, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes what is left. */
int cairn_guest_finish(struct cairn_guest *guest);

#endif
