/* prof.h: what cProfile and profile count of a program (.prof files), as a table.
 *
 * A row is a function with its counts and times, and so much of them for each direct caller; there
 * are no stacks. Rows and callers keep the order in which they came: who prints them does, too.
 * Holds always: a key, a row of a key, and a caller of a row are there once; every time is a finite
 * number; texts are UTF-8 as Python writes it (lone surrogates are three bytes).
 * Owner: the table owns all of it until cairn_prof_release(). Threads: one at a time.
 */
#ifndef CAIRN_PROF_H
#define CAIRN_PROF_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "intern.h"
#include "map.h"

#define CAIRN_PROF_NONE UINT32_MAX

struct cairn_prof_key {  /* a function */
    uint32_t file, name; /* of the table's strings */
    int64_t line;        /* where it begins; 0 with the file "~": not written in Python */
};

struct cairn_prof_numbers {
    int64_t calls, primitive; /* primitive: those that were not made by the function itself */
    double self_s, total_s;
    bool plain;  /* of a caller, as profile writes it: calls are all that is known */
    bool unsure; /* which calls are primitive is not known: it is as many as there are; nor how many
                    calls there are where it is none */
};

struct cairn_prof_caller {
    uint32_t key, next; /* next: the caller behind it, or CAIRN_PROF_NONE */
    struct cairn_prof_numbers numbers;
};

struct cairn_prof_row {
    uint32_t key, first, last; /* of its callers, or CAIRN_PROF_NONE */
    struct cairn_prof_numbers numbers;
};

struct cairn_prof {
    struct cairn_intern strings;
    CAIRN_VEC(struct cairn_prof_key) keys;
    CAIRN_VEC(struct cairn_prof_row) rows;
    CAIRN_VEC(struct cairn_prof_caller) callers;
    struct cairn_map key_ids, row_of, caller_of;
    bool sampled; /* calls are samples, */
    bool unknown; /* or rows of a file that does not tell how often anything was seen or called */
};

/* 0 or -CAIRN_ENOMEM; release in both cases. */
int cairn_prof_init(struct cairn_prof *prof);
void cairn_prof_release(struct cairn_prof *prof);

/* All that adds to a table: 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT, and *ret_ filled. */
int cairn_prof_key(struct cairn_prof *prof, struct cairn_span file, int64_t line,
                   struct cairn_span name, uint32_t *ret_key);

/* A new row or caller; -CAIRN_EDAMAGED when it is there already. */
int cairn_prof_put(struct cairn_prof *prof, uint32_t key, const struct cairn_prof_numbers *numbers,
                   uint32_t *ret_row);
int cairn_prof_put_caller(struct cairn_prof *prof, uint32_t row, uint32_t key,
                          const struct cairn_prof_numbers *numbers);

/* The same, or adds to what is there. -CAIRN_EUSAGE: one of the callers is plain, the other not;
 * -CAIRN_ELIMIT: the sum does not fit. */
int cairn_prof_add(struct cairn_prof *prof, uint32_t key, const struct cairn_prof_numbers *numbers,
                   uint32_t *ret_row);
int cairn_prof_add_caller(struct cairn_prof *prof, uint32_t row, uint32_t key,
                          const struct cairn_prof_numbers *numbers);

/* Adds all of `more`; on failure a part of it may have been added. */
int cairn_prof_merge(struct cairn_prof *prof, const struct cairn_prof *more);

/* Appends that of so many functions it is not known which calls recursed, and of so many how often
 * they were called, where there are any, as what stands behind "does not hold". */
void cairn_prof_put_unsure(const struct cairn_prof *prof, struct cairn_buf *out);

/* False when the function has no row. */
bool cairn_prof_find(const struct cairn_prof *prof, uint32_t key, uint32_t *ret_row);

/* The function and its texts, borrowed. */
struct cairn_span cairn_prof_file(const struct cairn_prof *prof, uint32_t key);
struct cairn_span cairn_prof_name(const struct cairn_prof *prof, uint32_t key);

/* Python's order of (file, line, name). */
int cairn_prof_compare(const struct cairn_prof *prof, uint32_t key_a, uint32_t key_b);

/* Reads what CPython 3.8 to 3.15 write with marshal, versions 2 to 6, into an empty table; nothing
 * in it is executed and no size believed. -CAIRN_EFOREIGN, -CAIRN_EDAMAGED, -CAIRN_ELIMIT or
 * -CAIRN_ENOMEM with `err` filled. */
int cairn_prof_read(struct cairn_prof *prof, struct cairn_span bytes, struct cairn_err *err);

/* The same from a file, which must be no recording; what failed names it. It is read in a process
 * of its own that can do nothing else (base/cage). */
int cairn_prof_load(struct cairn_prof *prof, const char *path, struct cairn_err *err);

/* How that process hands the table back. Into an empty one: 0, -CAIRN_EDAMAGED, -CAIRN_ENOMEM. */
int cairn_prof_put_table(const struct cairn_prof *prof, struct cairn_buf *out);
int cairn_prof_take_table(struct cairn_prof *prof, struct cairn_span bytes);

/* Appends it as a stream that every CPython from 3.8 on reads. What the buffer's code became. */
int cairn_prof_write(const struct cairn_prof *prof, struct cairn_buf *out);

#endif
