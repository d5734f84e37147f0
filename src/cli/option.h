/* option.h: one table of options. The parser, help, completions, man pages, [tool.cairn] and the
 * environment all read it, so that they cannot disagree.
 *
 * Holds always: a name is unique within a command; an option belongs to at least one command; its
 * field in struct cairn_settings has the type of its kind. Static data, shared by all threads.
 */
#ifndef CAIRN_OPTION_H
#define CAIRN_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum cairn_value_kind {                      /* what it takes, and the type of its field */
                        CAIRN_VALUE_FLAG,    /* nothing: bool */
                        CAIRN_VALUE_TEXT,    /* const char *, NULL when not given; borrowed */
                        CAIRN_VALUE_FILE,    /* the same, completed as the name of a file */
                        CAIRN_VALUE_TIME,    /* uint64_t, ns */
                        CAIRN_VALUE_SIZE,    /* uint64_t, bytes */
                        CAIRN_VALUE_RATE,    /* uint64_t, ns between ticks, 0: as fast as it goes */
                        CAIRN_VALUE_NUMBER,  /* uint64_t */
                        CAIRN_VALUE_PERCENT, /* uint64_t, millionths of the whole */
                        CAIRN_VALUE_CHOICE,  /* uint64_t, the index of the word */
                        CAIRN_VALUE_SIGNAL,  /* uint64_t: its number */
                        CAIRN_VALUE_PLACES,  /* struct cairn_places: one more at each time */
                        CAIRN_VALUE_PATTERNS, /* the same, of any text */
};

enum cairn_option_group { /* in the order help shows them */
                          CAIRN_GROUP_RECORD,
                          CAIRN_GROUP_SHOW,
                          CAIRN_GROUP_FILTER,
                          CAIRN_GROUP_GENERAL,
                          CAIRN_GROUP_COUNT
};

enum { /* bits of cairn_option.commands */
       CAIRN_FOR_RUN = 1,
       CAIRN_FOR_ATTACH = 2,
       CAIRN_FOR_DUMP = 4,
       CAIRN_FOR_REPORT = 8,
       CAIRN_FOR_EXPORT = 16,
       CAIRN_FOR_HELP = 32,
       CAIRN_FOR_COMPLETIONS = 64,
       CAIRN_FOR_MAN = 128,
       CAIRN_FOR_DOCTOR = 256,
       CAIRN_FOR_DIFF = 512,
       CAIRN_FOR_MERGE = 1024,
       CAIRN_FOR_PSTATS = 2048,
       CAIRN_FOR_HTML = 4096,
       CAIRN_FOR_CPROFILE = 8192,
       CAIRN_FOR_TRACE = 16384,
       CAIRN_FOR_IMPORT = 32768,
       CAIRN_FOR_VIEW = 65536,
       CAIRN_FOR_QUERY = 131072,
       CAIRN_FOR_KERNPROF = 262144,
       CAIRN_FOR_LINE_PROFILER = 524288,
       CAIRN_FOR_IMPORTS = 1048576,
       CAIRN_FOR_LINES = 2097152,
       CAIRN_FOR_COUNT = 4194304,
       CAIRN_FOR_DIS = 8388608,
       CAIRN_FOR_GPROF2DOT = 16777216,
       CAIRN_FOR_SNAKEVIZ = 33554432,
       CAIRN_FOR_CPROFILEV = 67108864,
       CAIRN_FOR_PPROF = 134217728,
       CAIRN_FOR_TOOL = /* the package's, with a grammar of its own */
       CAIRN_FOR_CPROFILE | CAIRN_FOR_KERNPROF | CAIRN_FOR_LINE_PROFILER | CAIRN_FOR_IMPORTS,
};

enum { /* bits of cairn_option.sources: where it may be set beside the command line */
       CAIRN_FROM_ENV = 1,
       /* Not for what names a program to run or a file to write: the file comes with a checkout. */
       CAIRN_FROM_PROJECT = 2,
};

#define CAIRN_PLACES_MAX 32

struct cairn_places { /* in a program: functions, modules, FILE:LINE */
    bool wanted;      /* if only those that the program names itself */
    bool outranked;   /* they are of a source that counts less than the one that is read now */
    size_t count;
    const char *items[CAIRN_PLACES_MAX]; /* borrowed */
};

#define CAIRN_CHOICE_NONE UINT64_MAX /* of a choice that has no default */

enum cairn_unit { CAIRN_UNIT_TIME, CAIRN_UNIT_SAMPLES };
enum cairn_prof_format { /* of profiles that graphs are made of */
                         CAIRN_PROF_FORMAT_AXE,
                         CAIRN_PROF_FORMAT_CALLGRIND,
                         CAIRN_PROF_FORMAT_COLLAPSE,
                         CAIRN_PROF_FORMAT_DTRACE,
                         CAIRN_PROF_FORMAT_HPROF,
                         CAIRN_PROF_FORMAT_JSON,
                         CAIRN_PROF_FORMAT_OPROFILE,
                         CAIRN_PROF_FORMAT_PERF,
                         CAIRN_PROF_FORMAT_PROF, /* gprof's text */
                         CAIRN_PROF_FORMAT_PSTATS,
                         CAIRN_PROF_FORMAT_SLEEPY,
                         CAIRN_PROF_FORMAT_SYSPROF,
                         CAIRN_PROF_FORMAT_XPERF
};
enum cairn_timeline_mode { CAIRN_TIMELINE_FULL, CAIRN_TIMELINE_RING };

struct cairn_reading {  /* of files of other tools */
    uint64_t each_ns;   /* what one sample stands for where they only count; 0: not given */
    bool named;         /* addresses get names, of the files that a profile says were mapped */
    const char *binary; /* in place of the program among them; NULL: as it is named there */
};

struct cairn_settings { /* plain values; what they mean is for the commands */
    bool help, version;
    uint64_t interval_ns, for_ns, seed, rotate_bytes, flush_ns; /* 0: not given */
    const char *output, *python, *report;
    bool force, sync, no_children, as_root, handshake;
    uint64_t metric, sort, by, limit; /* enum cairn_metric, cairn_sort, cairn_by; rows */
    uint64_t overlay;                 /* its number, or CAIRN_CHOICE_NONE */
    const char *of;
    bool only_my_code, idle, json;
    const char *thread, *process, *task, *region;
    struct cairn_places focus, ignore; /* each stack has one of each; has none */
    uint64_t region_length;            /* 0: slow, 1: middle, or CAIRN_CHOICE_NONE */
    uint64_t from_ns, to_ns;
    uint64_t format, unit, lines; /* of cairn_exporters[]; enum cairn_unit; as lines_word() */
    bool threads, processes;
    uint64_t node_least_ppm, edge_least_ppm; /* of the whole, or a graph leaves it out */
    bool markdown;
    uint64_t normalize, base, tolerance; /* enum cairn_diff_scale; 1: after; percent */
    bool source, redact, no_open;
    bool exact, opcodes, count;
    bool hybrid;                       /* lines are counted without a clock */
    uint64_t timeline, timeline_bytes; /* enum cairn_timeline_mode, or none; 0: what is usual */
    uint64_t toggle_signal;            /* 0: none */
    bool text_hook;                    /* calls are told of by the text of 3.15 as well */
    uint64_t max_overhead_ppm;         /* of what the program needs; 0: any */
    struct cairn_places counted;       /* whose lines are, or instructions */
    struct cairn_places called;        /* whose calls are; none: all */
    struct cairn_reading reading;
    const char *address;
    uint64_t port, quit_after_ns;
    uint64_t tool_port; /* CAIRN_CHOICE_NONE: the tool's own */
    const char *browser, *prof_file;
    uint64_t depth, cutoff_ppm, slices; /* of a flame graph; of a timeline */
    uint64_t prof_format, colormap;     /* enum cairn_prof_format; as cairn_option_colormap() */
    uint64_t graph_depth;               /* calls; CAIRN_CHOICE_NONE: any */
    const char *before;                 /* a recording that is compared with */
    const char *root, *leaf, *skew, *list_functions;
    bool by_self, strip, wrap, show_samples;
    const char *dot_tolerance;
    bool dot_compare, dot_slower, dot_faster, dot_by_difference;
    const char *time_format; /* of gprof2dot; NULL: as it is without */
    uint64_t total_method;   /* there is but one */
    struct cairn_places paths, node_labels;
};

struct cairn_option {
    const char *name; /* long, without dashes; the key in [tool.cairn] */
    char letter;      /* 0: none */
    uint8_t kind, group, sources;
    uint32_t commands;
    const char *value; /* how help calls the value; NULL for a flag; "[=X]": it may be left out */
    const char *fallback; /* the default, as somebody would type it; NULL: none */
    uint64_t min, max;    /* of a number, in the unit of its field */
    const char *range;    /* the same in words, for the message; NULL for what takes anything */
    bool may_be_empty;    /* a text: "" is as if it were not given */
    const char *(*choice)(size_t index); /* words of a choice; NULL behind the last */
    size_t offset;                       /* of its field */
    const char *brief;                   /* one line */
    const char *detail;                  /* sentences for `cairn help` and the manual */
};

extern const struct cairn_option cairn_options[];
extern const size_t cairn_option_count;

const char *cairn_option_group_name(enum cairn_option_group group);

/* By long name (`size_bytes` of it) or letter, of any of these commands; NULL: none. */
const struct cairn_option *cairn_option_find(const char *name, size_t size_bytes,
                                             unsigned commands);
const struct cairn_option *cairn_option_letter(char letter, unsigned commands);

/* The word of a choice of colours; of none: the first. */
const char *cairn_option_colormap(uint64_t choice);

/* Every option at its default. */
void cairn_settings_init(struct cairn_settings *settings);

/* What is set from now on counts more than what was: of what may be given several times, the next
 * takes the place of all that stands. */
void cairn_settings_outrank(struct cairn_settings *settings);

/* Reads `text` into the option's field; the text is borrowed. `origin` is what the message calls
 * it: "--rate", "CAIRN_RATE", "pyproject.toml:3: rate". Text NULL turns a flag on.
 * -CAIRN_EUSAGE, with `err` filled and the settings as they were. */
int cairn_option_set(const struct cairn_option *option, const char *text, const char *origin,
                     struct cairn_settings *settings, struct cairn_err *err);

#endif
