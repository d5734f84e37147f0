/* model_raw.h: what the files say, read but not yet joined; lives only while a model is loaded.
 *
 * Strings are joined at once. Everything else keeps the order of arrival, in which what an entry
 * refers to stands before it; references are indexes into these tables, or LOST.
 */
#ifndef CAIRN_MODEL_RAW_H
#define CAIRN_MODEL_RAW_H

#include "decode.h"
#include "model_priv.h"

#define CAIRN_RAW_LOST CAIRN_IDS_LOST
#define CAIRN_RAW_NONE (UINT32_MAX - 1)

struct cairn_raw_code {
    uint32_t name, qualname, file, first_line; /* strings of the model */
    uint8_t table_kind;
    struct cairn_span table; /* in the loader's arena */
};

struct cairn_raw_location {
    uint8_t kind;
    uint32_t ref; /* raw code, string (path of a module, label) */
    uint32_t line;
    int64_t offset;
};

struct cairn_raw_stack {
    uint32_t parent, location; /* parent: NONE at the root */
};

struct cairn_raw_track {
    uint8_t kind;
    uint32_t parent; /* NONE at the top */
    uint64_t number, start_ns;
    uint32_t boot_id, name, detail; /* strings of the model */
    uint8_t birth;
    uint32_t writer;
    uint32_t process; /* of the model, once the tracks are joined: a task's; LOST: not known */
    uint64_t said_ns; /* when: the end of what its file had told by then */
};

/* One writer of one file, while files are read. Its strings, stacks and tracks are in the model. */
struct cairn_raw_writer {
    struct cairn_ids codes, modules, locations;
    uint32_t id, file;
    uint32_t boot_id; /* string of the model; of the machine it ran on */
    CAIRN_VEC(uint64_t)
    stack_ticks; /* by id, up to `cap`: ticks on stacks that were there by then */
    struct cairn_ids met_tracks,
        met_stacks; /* index in the loader's, of other ids that rows name */
};

/* A track or stack that rows of a writer name, whether it is there or not. */
struct cairn_raw_met {
    uint32_t writer, id;
    bool python; /* tracks: met on a stack of Python code */
    uint64_t rows, ticks;
};
CAIRN_VEC_DECLARE(cairn_raw_mets, struct cairn_raw_met);

struct cairn_raw_file {
    uint64_t id;
    uint64_t set_id;    /* of its set, or its own id: a writer's counters go on over a set */
    uint64_t recording; /* id of the first file of what one sink wrote; a merged set has several */
    bool has_anchor;
    uint32_t boot_id;
    uint64_t mono_ns, real_ns;
    uint64_t first_ns, last_ns; /* as its own clock counts; first > last: no time */
};

struct cairn_raw_counter { /* the latest of a writer in a file */
    uint32_t writer, name;
    uint64_t value;
};

struct cairn_raw_task {               /* tasks that are alike */
    uint32_t writer, track_id, stack; /* ids of the writer */
    uint32_t track;                   /* raw track, or LOST */
    uint8_t state;
    uint64_t task_ns;
};

struct cairn_raw_calls {
    uint32_t writer, track, stack; /* ids of the writer */
    struct cairn_call_sum sum;     /* without thread and node */
};

struct cairn_raw_pair {
    uint32_t writer, track, stack; /* ids of the writer */
    struct cairn_call_pair sum;    /* without thread and functions */
};

struct cairn_raw_line {
    uint32_t writer, track;        /* ids of the writer */
    uint32_t code;                 /* raw code, or LOST */
    struct cairn_counted_line sum; /* without thread and function */
};

struct cairn_raw_opcode {
    uint32_t writer, track;          /* ids of the writer */
    uint32_t code, text, form;       /* raw code; strings of the model; or LOST */
    struct cairn_counted_opcode sum; /* without thread, function and text */
};

struct cairn_raw_given {
    uint32_t writer, track;         /* ids of the writer */
    uint32_t code, text, kind;      /* raw code; strings of the model; or LOST */
    bool others;                    /* no kind was named */
    struct cairn_counted_given sum; /* without thread, function and texts */
};

struct cairn_loader {
    struct cairn_model *model;
    struct cairn_arena tables; /* line tables */
    CAIRN_VEC(struct cairn_raw_code) codes;
    CAIRN_VEC(struct cairn_raw_location) locations;
    CAIRN_VEC(struct cairn_raw_stack) stacks;
    CAIRN_VEC(struct cairn_raw_track) tracks;
    CAIRN_VEC(struct cairn_raw_writer) writers; /* as model->writers */
    CAIRN_VEC(struct cairn_raw_file) files;     /* as model->files */
    CAIRN_VEC(struct cairn_raw_counter) counters;
    CAIRN_VEC(struct cairn_raw_task) tasks;
    CAIRN_VEC(struct cairn_raw_calls) calls;
    CAIRN_VEC(struct cairn_raw_pair) pairs;
    CAIRN_VEC(struct cairn_raw_line) counted;
    CAIRN_VEC(struct cairn_raw_opcode) opcodes;
    CAIRN_VEC(struct cairn_raw_given) given;
    struct cairn_map task_index;    /* {writer, track; stack, state} to index in tasks */
    struct cairn_map env;           /* key string to index in model->env */
    struct cairn_map told;          /* {recording, key string} to the latest value of ENV */
    struct cairn_map counter_index; /* {writer, name} to index in counters */
    struct cairn_ticks ticks;       /* of the chunk being read */
    struct cairn_table table;       /* of the section being read */
    double told_from, told_step;    /* the share of the work behind the file being read; its own */
    uint64_t ticks_seen;
    uint32_t row_kinds; /* of the chunk being read: 1 << kind */
    struct cairn_raw_mets met_tracks, met_stacks;
    struct cairn_raw_met no_track, no_stack; /* of ids that cannot be */
    uint32_t unknown, not_python;            /* the strings "[unknown]", "[not python]" */
};

/* Reads one file into the raw tables; its reader's losses go into the model's quality. */
int cairn_model_read(struct cairn_loader *loader, struct cairn_reader *reader,
                     struct cairn_err *err);

/* One section of a chunk of `writer` (an index). Damage inside is answered with -CAIRN_EDAMAGED:
 * what came before it was taken. */
int cairn_model_section(struct cairn_loader *loader, uint32_t writer,
                        const struct cairn_section *section);

/* How many recordings there are, and what they say of their runs as of one. 0 or -CAIRN_ENOMEM. */
int cairn_model_sum_runs(struct cairn_loader *loader);

/* Counts the rows of a table of samples; `ticks` of the loader are those of its chunk. As above. */
int cairn_model_count_rows(struct cairn_loader *loader, uint32_t writer, struct cairn_span section);

/* The same for a table of tasks, and their sums after the join. */
int cairn_model_count_tasks(struct cairn_loader *loader, uint32_t writer,
                            struct cairn_span section);
int cairn_model_join_tasks(struct cairn_loader *loader);

/* The same for a table of exact calls. */
int cairn_model_take_calls(struct cairn_loader *loader, uint32_t writer, struct cairn_span section);
int cairn_model_join_calls(struct cairn_loader *loader);

/* The same for a table of what another tool counted. */
int cairn_model_take_pairs(struct cairn_loader *loader, uint32_t writer, struct cairn_span section);
int cairn_model_join_pairs(struct cairn_loader *loader);

/* The same for a table of lines; the functions are those of the raw codes. */
int cairn_model_take_counted(struct cairn_loader *loader, uint32_t writer,
                             struct cairn_span section);
int cairn_model_join_counted(struct cairn_loader *loader, const uint32_t *code_functions);

/* The same for a table of instructions. */
int cairn_model_take_opcodes(struct cairn_loader *loader, uint32_t writer,
                             struct cairn_span section);
int cairn_model_join_opcodes(struct cairn_loader *loader, const uint32_t *code_functions);

/* The same for a table of what those were given. */
/* The columns of a table by name, and NULL for those it does not have, in the order of `wanted`,
 * which a NULL ends. 1; 0: one of the first `needed` is not there; or a negative code. */
int cairn_model_columns(struct cairn_loader *loader, struct cairn_span section,
                        const char *const *wanted, size_t needed, const uint64_t **ret_columns);
int cairn_model_take_given(struct cairn_loader *loader, uint32_t writer, struct cairn_span section);
int cairn_model_join_given(struct cairn_loader *loader, const uint32_t *code_functions);

/* After the join: turns what was counted into the model's quality, marks the threads that were met
 * in Python code, and makes one for rows whose track was lost. 0 or a negative code. */
int cairn_model_counted(struct cairn_loader *loader);

/* Makes functions, frames, nodes, processes and threads of the raw tables, and turns the writers'
 * ids into them. 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT. */
int cairn_model_join(struct cairn_loader *loader);

/* Fills `line` of every Python location. 0 or -CAIRN_ENOMEM. */
int cairn_model_lines(struct cairn_loader *loader);

#endif
