/* firefox_tables.h: what all threads of a Firefox profile share: texts, files, functions, frames,
 * stacks. A frame is a function at a line; a stack is a call of the tree, numbered from 0 without
 * its root. */
#ifndef CAIRN_FIREFOX_TABLES_H
#define CAIRN_FIREFOX_TABLES_H

#include "calltree.h"
#include "intern.h"
#include "json_out.h"

struct cairn_firefox_frame {
    uint32_t function, line;
};

struct cairn_firefox_function {
    uint32_t function;   /* of the model */
    uint32_t name, file; /* name: a text; file: a source, or UINT32_MAX */
};

struct cairn_firefox_tables {
    const struct cairn_tally *tally;
    struct cairn_calltree tree;
    struct cairn_intern texts;
    CAIRN_VEC(struct cairn_firefox_frame) frames;       /* function: of `functions` */
    CAIRN_VEC(struct cairn_firefox_function) functions; /* those that are met */
    CAIRN_VEC(uint32_t) sources;                        /* texts */
    uint32_t *frame_of;                                 /* of each call of the tree */
    uint32_t marker_names[CAIRN_STATE_COUNT + 1];       /* texts; the last: garbage collection */
};

/* 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT; released by the caller in every case. */
int cairn_firefox_tables_make(const struct cairn_tally *tally, enum cairn_export_lines lines,
                              struct cairn_firefox_tables *ret_tables);
void cairn_firefox_tables_release(struct cairn_firefox_tables *tables);

/* "categories" and "shared", with their keys. */
void cairn_firefox_put_categories(struct cairn_json *json);
int cairn_firefox_put_tables(struct cairn_json *json, const struct cairn_firefox_tables *tables,
                             struct cairn_outlet *out);

#endif
