/* pprof_flags.h: the words of google/pprof's command line.
 *
 * One dash or two, -flag=value or -flag value, a switch also as -flag=false; `--` ends them. Flags
 * may also stand behind the files. Owner: texts are borrowed from the words.
 */
#ifndef CAIRN_PPROF_FLAGS_H
#define CAIRN_PPROF_FLAGS_H

#include <stdbool.h>

#include "command.h"
#include "err.h"

#define CAIRN_PPROF_BASES_MAX 16

struct cairn_pprof_list_flag {
    const char *items[CAIRN_PPROF_BASES_MAX];
    size_t count;
};

struct cairn_pprof_flags {
    bool help;
    const char *format; /* "top", "tree", …; NULL: none was asked for */
    const char *regex;  /* of -peek and -list */
    const char *http, *output, *unit, *sample_index, *source_path, *trim_path;
    const char *focus, *ignore, *hide, *show, *show_from, *prune_from;
    const char *tag_focus, *tag_ignore, *tag_show, *tag_hide;
    const char
        *binary;    /* whose names addresses have; NULL: of what was mapped. The caller's to set */
    const char *by; /* "functions", "filefunctions", "files", "lines", "addresses" */
    const char *comment;
    struct cairn_pprof_list_flag base, diff_base;
    long node_count; /* -1: as the format has it */
    double node_least, edge_least, divide_by;
    bool cum, flat, trim, mean, drop_negative, relative, compact, normalize, no_browser;
    bool call_tree;
    bool unused; /* of what is read and means nothing here */
    const char *unused_text;
};

/* Reads the flags and leaves the other words in *ret_words, which shares the array of `words`.
 * -CAIRN_EUSAGE with `err` filled. */
int cairn_pprof_flags_read(const struct cairn_words *words, struct cairn_pprof_flags *ret_flags,
                           struct cairn_words *ret_words, struct cairn_err *err);

#endif
