/* model_priv.h: the inside of a model, for the files of this folder. */
#ifndef CAIRN_MODEL_PRIV_H
#define CAIRN_MODEL_PRIV_H

#include "ids.h"
#include "intern.h"
#include "map.h"
#include "model.h"
#include "pairs.h"
#include "reader.h"

#define CAIRN_MODEL_ITEMS_MAX (1u << 30) /* of any table */
#define CAIRN_MODEL_LONG_CHUNKS 64       /* as many take longer than it takes a thread to begin */
#define CAIRN_MODEL_BYTES_MAX ((size_t)16 << 30) /* of strings, of join keys */

/* Always there, so that what was lost has a place to go to. */
enum { CAIRN_FUNCTION_UNKNOWN = 0, CAIRN_FUNCTION_NOT_PYTHON = 1 };
enum { CAIRN_FRAME_UNKNOWN = 0, CAIRN_FRAME_NOT_PYTHON = 1 };
enum { CAIRN_NODE_EMPTY = 0, CAIRN_NODE_UNKNOWN = 1, CAIRN_NODE_NOT_PYTHON = 2 };

/* One writer of one file: what its ids mean. Rows are read with it. */
struct cairn_model_writer {
    struct cairn_ids stacks;  /* node */
    struct cairn_ids tracks;  /* thread */
    struct cairn_ids strings; /* of the model */
};

struct cairn_model_chunk {
    uint32_t ticks; /* how many it holds */
    uint32_t holds; /* bit 0: ticks; 1 << kind: rows of that kind */
};

struct cairn_model_file {
    int fd;             /* a reader of its own is opened on it for every stream */
    size_t chunk_count; /* what was there when the model was loaded */
    uint64_t shift_ns;  /* added to its times; wraps: may stand for a negative one */
    struct cairn_model_chunk *chunks;
};

struct cairn_model_env_entry {
    uint32_t key, value; /* strings */
};

struct cairn_model_counter {
    uint32_t name; /* string */
    uint64_t value;
};

struct cairn_model {
    const struct cairn_model *base; /* of a folded view: owner of all but nodes and marks */

    struct cairn_intern strings;
    CAIRN_VEC(struct cairn_function) functions;
    CAIRN_VEC(struct cairn_frame) frames;
    CAIRN_VEC(struct cairn_node) nodes;
    CAIRN_VEC(uint8_t) marks; /* CAIRN_MARK_* of each node */
    CAIRN_VEC(struct cairn_process) processes;
    CAIRN_VEC(struct cairn_thread) threads;
    CAIRN_VEC(struct cairn_task_sum) tasks;
    CAIRN_VEC(struct cairn_call_sum) calls;
    CAIRN_VEC(struct cairn_call_pair) pairs;
    CAIRN_VEC(struct cairn_counted_line) counted;
    CAIRN_VEC(struct cairn_counted_opcode) opcodes;
    CAIRN_VEC(struct cairn_counted_given) given;
    uint32_t lost_thread; /* for rows whose track was lost; UINT32_MAX: none needed yet */

    CAIRN_VEC(struct cairn_model_file) files;
    struct cairn_map writer_index; /* {file, writer id} to index */
    CAIRN_VEC(struct cairn_model_writer) writers;

    CAIRN_VEC(struct cairn_model_env_entry) env; /* by key */
    CAIRN_VEC(struct cairn_model_counter) counters;
    struct cairn_quality quality;
    struct cairn_progress *progress; /* NULL: nobody wants to know */
    uint64_t first_ns, last_ns;
    uint64_t real_shift_ns; /* from its time to real time; wraps */
    bool has_real;
    size_t recordings;
    bool has_overlays; /* a table of samples has that column */
};

/* 0, or -CAIRN_ENOMEM. `ret_model` is valid, with the nodes that are always there. */
int cairn_model_new(struct cairn_model **ret_model);

/* The thread that stands for lost tracks, made when first asked for. */
int cairn_model_lost_thread(struct cairn_model *model, uint32_t *ret_thread);

/* Marks every node from its parent's and its own label. 0 or -CAIRN_ENOMEM. */
int cairn_model_mark(struct cairn_model *model);

/* Notes with each process how many functions that workers begin in its deepest such stack holds.
 * Goes through the rows once more where there are any, and more than one process. */
int cairn_samples_count_entries(struct cairn_model *model, struct cairn_err *err);

#endif
