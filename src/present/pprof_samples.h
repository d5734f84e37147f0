/* pprof_samples.h: what google/pprof has in its hands: samples with a stack, labels and one value,
 * out of tallies, one or several, some of them taken away again.
 *
 * Samples that are alike (stack with lines, labels) are one; they keep the order in which they
 * came. They are those that `cairn export -f pprof` writes of the same tallies.
 * Holds always: a sample's frames are stacks.items[first] up to depth of them, the innermost first,
 * in nobody else's; ids of texts are of `texts`.
 * Owner: the caller, until cairn_pprof_release(); it copies what it keeps. Threads: one at a time.
 */
#ifndef CAIRN_PPROF_SAMPLES_H
#define CAIRN_PPROF_SAMPLES_H

#include "intern.h"
#include "map.h"
#include "tally.h"

struct cairn_pprof_frame {
    uint32_t name, file; /* texts */
    uint32_t line, first_line;
};

struct cairn_pprof_labels {
    uint32_t thread, process, state; /* texts; 0: there is no such label */
    uint32_t base;                   /* 1: taken from the base of a comparison */
    uint64_t tid, pid;               /* 0: there is no such label */
};

/* A column of values: which one is shown. */
enum cairn_pprof_column {
    CAIRN_PPROF_SAMPLES,
    CAIRN_PPROF_WALL, /* or what a file of another tool holds in its place */
    CAIRN_PPROF_CPU,
    CAIRN_PPROF_RUNQ,
    CAIRN_PPROF_BLOCKED,
    CAIRN_PPROF_COLUMNS
};

struct cairn_pprof_sample {
    struct cairn_pprof_labels labels;
    size_t first;
    uint32_t depth;
    int64_t value;
    int64_t values[CAIRN_PPROF_COLUMNS]; /* of all columns; `value` is one of them */
    int64_t count;                       /* samples: what a mean is divided by */
    bool any;                            /* one of its columns is not 0, whichever is shown */
};

struct cairn_pprof_kind {
    char type[64], unit[64]; /* "wall", "nanoseconds" */
    enum cairn_pprof_column column;
    bool foreign;     /* another tool's own: it tells no states of threads */
    uint64_t each_ns; /* so much time stands for 1 of the unit */
};

/* The columns of a model, at most CAIRN_PPROF_COLUMNS; returns how many. *ret_usual: the one that
 * is shown unless another is asked for. */
size_t cairn_pprof_kinds(const struct cairn_model *model, struct cairn_pprof_kind *ret_kinds,
                         size_t *ret_usual);

CAIRN_VEC_DECLARE(cairn_pprof_samples, struct cairn_pprof_sample);

struct cairn_pprof {
    struct cairn_intern texts, frame_keys, sample_keys;
    CAIRN_VEC(struct cairn_pprof_frame) frames;
    CAIRN_VEC(uint32_t) stacks;
    struct cairn_pprof_samples samples;
    CAIRN_VEC(uint8_t) key;
    struct cairn_pprof_kind kind;
    struct cairn_pprof_kind kinds[CAIRN_PPROF_COLUMNS]; /* of the first tally */
    size_t kind_count, kind_usual;
    uint32_t comments;            /* text: a line each */
    const char *inference;        /* cairn_facts_inference() of what was added; NULL: none */
    uint32_t binary;              /* text: the file that ran; 0: not known */
    int64_t duration_ns, time_ns; /* 0: not known */
    int64_t total;                /* set by cairn_pprof_sum() */
};

/* 0 or -CAIRN_ENOMEM; release in both cases. */
int cairn_pprof_init(struct cairn_pprof *pprof, const struct cairn_pprof_kind *kind);
void cairn_pprof_release(struct cairn_pprof *pprof);

/* How the samples of a tally are added. */
enum cairn_pprof_role {
    CAIRN_PPROF_PLUS,
    CAIRN_PPROF_MINUS,      /* taken away */
    CAIRN_PPROF_MINUS_BASE, /* the same, and what shares are of: samples of their own */
};

/* Adds the samples of a tally of wall time whose threads are not joined. `kind`: the column of that
 * tally's model that is meant. `scale`: what its values are multiplied by. 0, -CAIRN_ENOMEM or
 * -CAIRN_ELIMIT. */
int cairn_pprof_add(struct cairn_pprof *pprof, const struct cairn_tally *tally,
                    const struct cairn_pprof_kind *kind, enum cairn_pprof_role role, double scale);

/* The sum of a tally's column, as cairn_pprof_add() would add it. */
int64_t cairn_pprof_column_sum(const struct cairn_tally *tally,
                               const struct cairn_pprof_kind *kind);

/* What shares are of: the values without their signs, of the base when there is one; with `mean`
 * divided by the samples. */
void cairn_pprof_sum(struct cairn_pprof *pprof, bool mean);

#endif
