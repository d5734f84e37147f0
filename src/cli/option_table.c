/* option_table.c: the options, in the order help shows them within their group. It is long because
 * each of them is told whole, in one table. */
#include "option.h"

#include "diff.h"
#include "export.h"
#include "table.h"

#define NS_PER_MS ((uint64_t)1000000)
#define NS_PER_S (1000 * NS_PER_MS)
#define NS_PER_H (3600 * NS_PER_S)

#define PPM_ALL 1000000

#define FOR_RUN (CAIRN_FOR_RUN | CAIRN_FOR_TRACE | CAIRN_FOR_LINES | CAIRN_FOR_COUNT)
#define FOR_RECORD (FOR_RUN | CAIRN_FOR_ATTACH)
#define FOR_READ                                                                                   \
    (CAIRN_FOR_REPORT | CAIRN_FOR_HTML | CAIRN_FOR_VIEW | CAIRN_FOR_QUERY | CAIRN_FOR_EXPORT |     \
     CAIRN_FOR_DIFF | CAIRN_FOR_PSTATS | CAIRN_FOR_DIS)
#define FOR_ALL                                                                                    \
    (FOR_RECORD | FOR_READ | CAIRN_FOR_DUMP | CAIRN_FOR_HELP | CAIRN_FOR_COMPLETIONS |             \
     CAIRN_FOR_MAN | CAIRN_FOR_DOCTOR | CAIRN_FOR_MERGE | CAIRN_FOR_TOOL | CAIRN_FOR_IMPORT |      \
     CAIRN_FOR_GPROF2DOT | CAIRN_FOR_SNAKEVIZ | CAIRN_FOR_CPROFILEV | CAIRN_FOR_PPROF)
#define FROM_BOTH (CAIRN_FROM_ENV | CAIRN_FROM_PROJECT)
#define FIELD(name) offsetof(struct cairn_settings, name)

static const char *metric_word(size_t index)
{
    return index < CAIRN_METRIC_COUNT ? cairn_metric_name((enum cairn_metric)index) : NULL;
}

static const char *overlay_word(size_t index)
{
    return index < CAIRN_OVERLAY_COUNT ? cairn_overlay_name((unsigned)index) : NULL;
}

static const char *region_length_word(size_t index)
{
    return index == 0 ? "slow" : index == 1 ? "middle" : NULL;
}

static const char *by_word(size_t index)
{
    static const char *const words[] = {
        [CAIRN_BY_FUNCTION] = "function", [CAIRN_BY_LINE] = "line",
        [CAIRN_BY_MODULE] = "module",     [CAIRN_BY_THREAD] = "thread",
        [CAIRN_BY_PROCESS] = "process",   [CAIRN_BY_STATE] = "state",
        [CAIRN_BY_TASK] = "task",
    };

    return index < sizeof(words) / sizeof(words[0]) ? words[index] : NULL;
}

static const char *sort_word(size_t index)
{
    static const char *const words[] = {
        [CAIRN_SORT_SELF] = "self", [CAIRN_SORT_TOTAL] = "total", [CAIRN_SORT_NAME] = "name"};

    return index < sizeof(words) / sizeof(words[0]) ? words[index] : NULL;
}

static const char *format_word(size_t index)
{
    return cairn_exporters[index].name; /* NULL behind the last */
}

static const char *unit_word(size_t index)
{
    static const char *const words[] = {
        [CAIRN_UNIT_TIME] = "time", [CAIRN_UNIT_SAMPLES] = "samples"};

    return index < sizeof(words) / sizeof(words[0]) ? words[index] : NULL;
}

static const char *prof_format_word(size_t index)
{
    static const char *const words[] = {
        [CAIRN_PROF_FORMAT_AXE] = "axe",           [CAIRN_PROF_FORMAT_CALLGRIND] = "callgrind",
        [CAIRN_PROF_FORMAT_COLLAPSE] = "collapse", [CAIRN_PROF_FORMAT_DTRACE] = "dtrace",
        [CAIRN_PROF_FORMAT_HPROF] = "hprof",       [CAIRN_PROF_FORMAT_JSON] = "json",
        [CAIRN_PROF_FORMAT_OPROFILE] = "oprofile", [CAIRN_PROF_FORMAT_PERF] = "perf",
        [CAIRN_PROF_FORMAT_PROF] = "prof",         [CAIRN_PROF_FORMAT_PSTATS] = "pstats",
        [CAIRN_PROF_FORMAT_SLEEPY] = "sleepy",     [CAIRN_PROF_FORMAT_SYSPROF] = "sysprof",
        [CAIRN_PROF_FORMAT_XPERF] = "xperf"};

    return index < sizeof(words) / sizeof(words[0]) ? words[index] : NULL;
}

static const char *total_word(size_t index)
{
    return index == 0 ? "callstacks" : NULL;
}

static const char *colormap_word(size_t index)
{
    static const char *const words[] = {"color", "pink", "gray", "bw", "print"};

    return index < sizeof(words) / sizeof(words[0]) ? words[index] : NULL;
}

const char *cairn_option_colormap(uint64_t choice)
{
    return colormap_word(choice == CAIRN_CHOICE_NONE ? 0 : (size_t)choice);
}

static const char *timeline_word(size_t index)
{
    static const char *const words[] = {
        [CAIRN_TIMELINE_FULL] = "full", [CAIRN_TIMELINE_RING] = "ring"};

    return index < sizeof(words) / sizeof(words[0]) ? words[index] : NULL;
}

static const char *lines_word(size_t index)
{
    static const char *const words[] = {"executing", "first", "none"};

    return index < sizeof(words) / sizeof(words[0]) ? words[index] : NULL;
}

static const char *scale_word(size_t index)
{
    static const char *const words[] = {
        [CAIRN_DIFF_RUN] = "run", [CAIRN_DIFF_SECOND] = "second", [CAIRN_DIFF_SHARE] = "share"};

    return index < sizeof(words) / sizeof(words[0]) ? words[index] : NULL;
}

static const char *base_word(size_t index)
{
    static const char *const words[] = {"before", "after"};

    return index < sizeof(words) / sizeof(words[0]) ? words[index] : NULL;
}

/* lines_word() names all but the first of them: that one means that nobody chose. */
_Static_assert(CAIRN_EXPORT_LINES_DEFAULT == 0 && CAIRN_EXPORT_LINES_EXECUTING == 1 &&
                   CAIRN_EXPORT_LINES_FIRST == 2 && CAIRN_EXPORT_LINES_NONE == 3,
               "enum cairn_export_lines and lines_word() have the same order");

const struct cairn_option cairn_options[] = {
    {.name = "rate",
     .letter = 'r',
     .kind = CAIRN_VALUE_RATE,
     .group = CAIRN_GROUP_RECORD,
     .sources = FROM_BOTH,
     .commands = FOR_RECORD,
     .value = "RATE",
     .fallback = "1khz",
     .min = 1000,
     .max = NS_PER_S,
     .range = "1hz to 1mhz, or max",
     .offset = FIELD(interval_ns),
     .brief = "how often to look: 100hz, 1khz, 10khz, max",
     .detail = "Looks at random moments, so many a second on average. Higher rates tell more of a "
               "short program and cost more: the report says how much."},
    {.name = "for",
     .kind = CAIRN_VALUE_TIME,
     .group = CAIRN_GROUP_RECORD,
     .commands = FOR_RECORD,
     .value = "TIME",
     .min = NS_PER_MS,
     .max = 100000 * NS_PER_H,
     .range = "1ms to 100000h",
     .offset = FIELD(for_ns),
     .brief = "stop recording after TIME: 500ms, 30s, 5m",
     .detail = "The program itself is not stopped; after `cairn run` its end is waited for."},
    {.name = "exact",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_RECORD,
     .commands = CAIRN_FOR_RUN | CAIRN_FOR_LINES,
     .offset = FIELD(exact),
     .brief = "count and time every call, inside the program",
     .detail = "Every call of every thread is counted, in the program and in the Pythons that it "
               "starts, beside the samples. It costs time at each call, so what calls most looks "
               "slower than it is. PYTHONPATH and CAIRN_SPOOL carry it to the processes."},
    {.name = "count",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_RECORD,
     .commands = CAIRN_FOR_RUN,
     .offset = FIELD(count),
     .brief = "count calls and lines, as `cairn count` does",
     .detail = "Short for --exact --lines=hybrid. With --lines, the lines are timed as well."},
    {.name = "lines",
     .kind = CAIRN_VALUE_PLACES,
     .group = CAIRN_GROUP_RECORD,
     .commands = CAIRN_FOR_RUN | CAIRN_FOR_TRACE,
     .value = "[=WHERE]",
     .range = "a name, and no more than 32 of them",
     .offset = FIELD(counted),
     .brief = "count and time lines, inside the program",
     .detail =
         "Of the functions that WHERE means: a name, a qualified name, a class (its methods), a "
         "module, MODULE:QUALNAME or FILE:LINE; may be given several times. Without WHERE "
         "those of the program's own module. Functions with the decorator @profile are counted in "
         "any case. Events come from chosen code alone; before 3.12 each call is looked at. "
         "--lines=hybrid reads no clock: hits are exact, times those of the samples; with "
         "it, --lines=WHERE says where (a function called hybrid is MODULE:hybrid)."},
    {.name = "hybrid",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_RECORD,
     .commands = CAIRN_FOR_LINES,
     .offset = FIELD(hybrid),
     .brief = "count lines exactly, and take their times from the samples",
     .detail = "No clock is read at a line, and from Python 3.12 on lines that can only run one "
               "after the other are counted at the first of them: counting costs a part of "
               "what timing does. The report says which lines have times of samples."},
    {.name = "in",
     .kind = CAIRN_VALUE_PLACES,
     .group = CAIRN_GROUP_RECORD,
     .commands = CAIRN_FOR_LINES | CAIRN_FOR_COUNT,
     .value = "WHERE",
     .range = "a name, and no more than 32 of them",
     .offset = FIELD(counted),
     .brief = "only lines of this function, module or FILE:LINE",
     .detail =
         "May be given several times: a name, a qualified name, a class (its methods), a module, "
         "MODULE:QUALNAME or FILE:LINE. Without it the lines of the program's own module are "
         "counted."},
    {.name = "in",
     .kind = CAIRN_VALUE_PLACES,
     .group = CAIRN_GROUP_RECORD,
     .commands = CAIRN_FOR_TRACE,
     .value = "WHERE",
     .range = "a name, and no more than 32 of them",
     .offset = FIELD(called),
     .brief = "only calls of this function, module or FILE:LINE",
     .detail =
         "May be given several times: a name, a qualified name, a class (its methods), a module, "
         "MODULE:QUALNAME or FILE:LINE. Calls of functions of C are those that such code makes. "
         "Other code is let go from Python 3.12 on; what it takes is in the time of its callers."},
    {.name = "opcodes",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_RECORD,
     .commands = FOR_RUN,
     .offset = FIELD(opcodes),
     .brief = "count the instructions of bytecode, too",
     .detail = "Of the functions that --in or --lines names, or else of the program's own module: "
               "how often each instruction is executed, which `cairn dis` shows. Until Python 3.11 "
               "each is counted by itself, which takes longer; from 3.12 on one for "
               "each run of instructions without a jump."},
    {.name = "timeline",
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_RECORD,
     .commands = FOR_RUN,
     .value = "[=MODE]",
     .choice = timeline_word,
     .offset = FIELD(timeline),
     .brief = "keep when each call was: full, or a ring of the latest",
     .detail = "Counts calls as --exact does, and keeps when each began and how long it took, 16 "
               "bytes a call: `cairn export -f perfetto` or `-f chrome` draws them. `full`, which "
               "is meant "
               "without a MODE, keeps them from the beginning until --timeline-size is used up, "
               "`ring` the latest ones. What could not be kept is told in the report."},
    {.name = "timeline-size",
     .kind = CAIRN_VALUE_SIZE,
     .group = CAIRN_GROUP_RECORD,
     .commands = FOR_RUN,
     .value = "SIZE",
     .min = 8 << 20,
     .max = 1 << 30,
     .range = "8m to 1g",
     .offset = FIELD(timeline_bytes),
     .brief = "room for a timeline, for each process (512m, ring 64m)",
     .detail = "In the folder that TMPDIR names, while the program runs."},
    {.name = "max-overhead",
     .kind = CAIRN_VALUE_PERCENT,
     .group = CAIRN_GROUP_RECORD,
     .commands = FOR_RUN,
     .value = "PERCENT",
     .min = 1000,
     .max = PPM_ALL,
     .range = "0.1 to 100",
     .offset = FIELD(max_overhead_ppm),
     .brief = "counting may cost so much of a program: 5%",
     .detail =
         "Of the CPU time that the program itself needs, by the costs that are measured before "
         "it begins. What costs most beyond that share of its own time is let go: its calls "
         "are not counted any more, and the report names it, with the calls until then and "
         "its time from the samples. Until Python 3.11 all counting of calls may have to end. Of "
         "lines and instructions the functions that have most of them are let go."},
    {.name = "text-hook",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_RECORD,
     .commands = FOR_RUN,
     .offset = FIELD(text_hook),
     .brief = "Python 3.15: count calls by a jump in its text",
     .detail =
         "Where calls are counted, by CPython 3.15 on x86-64: three functions of the interpreter "
         "get a jump to Cairn's at their start, in the memory of the process, which makes "
         "counting cheaper; sys.monitoring is used as well. It is tried out in each process "
         "before its program begins, and left on any doubt: the report says why."},
    {.name = "toggle-signal",
     .kind = CAIRN_VALUE_SIGNAL,
     .group = CAIRN_GROUP_RECORD,
     .commands = FOR_RUN,
     .value = "SIGNAL",
     .range = "a name like USR2, or a number",
     .offset = FIELD(toggle_signal),
     .brief = "count only between two of this signal: USR2",
     .detail =
         "The program begins uncounted; a process that gets the signal begins to count calls, "
         "lines and instructions, and with the next one ends that. Samples go on all the "
         "while. What the program itself sets for the signal goes first."},
    {.name = "output",
     .letter = 'o',
     .kind = CAIRN_VALUE_FILE,
     .group = CAIRN_GROUP_RECORD,
     .commands = FOR_RECORD | CAIRN_FOR_HTML | CAIRN_FOR_EXPORT | CAIRN_FOR_MERGE |
                 CAIRN_FOR_IMPORT | CAIRN_FOR_GPROF2DOT,
     .value = "FILE",
     .offset = FIELD(output),
     .brief = "write to FILE",
     .detail =
         "For a recording the default is a new file in .cairn/ in the current folder, or in "
         "$TMPDIR where that cannot be written; for a page report.html; for an export stdout, and "
         "so is `-`."},
    {.name = "force",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_RECORD,
     .commands =
         FOR_RECORD | CAIRN_FOR_HTML | CAIRN_FOR_EXPORT | CAIRN_FOR_MERGE | CAIRN_FOR_IMPORT,
     .offset = FIELD(force),
     .brief = "write over a file that exists",
     .detail = "Without it no file that exists is ever written over."},
    {.name = "python",
     .kind = CAIRN_VALUE_FILE,
     .group = CAIRN_GROUP_RECORD,
     .sources = CAIRN_FROM_ENV,
     .commands = FOR_RECORD | CAIRN_FOR_TOOL,
     .value = "PATH",
     .offset = FIELD(python),
     .brief = "the Python that runs a script, -m or -c",
     .detail = "The default is the one a script names in its first line, then the active virtual "
               "environment's python3, then that of the one whose cairn was called by its path, "
               "then the first python3 in PATH. `cairn attach` takes it as well, and has no use "
               "for it."},
    {.name = "report",
     .kind = CAIRN_VALUE_FILE,
     .group = CAIRN_GROUP_RECORD,
     .sources = CAIRN_FROM_ENV,
     .commands = FOR_RECORD,
     .value = "FILE|none",
     .offset = FIELD(report),
     .brief = "where the report goes, instead of stderr",
     .detail = "`none` writes no report; the recording is made all the same."},
    {.name = "no-children",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_RECORD,
     .sources = FROM_BOTH,
     .commands = FOR_RECORD,
     .offset = FIELD(no_children),
     .brief = "leave processes alone that the program starts",
     .detail = "A program that the process itself turns into (exec) is still followed."},
    {.name = "as-root",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_RECORD,
     .commands = FOR_RECORD,
     .offset = FIELD(as_root),
     .brief = "under sudo: run the program, and own the recording, as root",
     .detail = "Without it a program that is started under sudo runs as the user who called sudo, "
               "and the recording is made as that user too. Sampling is done by root either way."},
    {.name = "handshake",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_RECORD,
     .commands = CAIRN_FOR_ATTACH,
     .offset = FIELD(handshake),
     .brief = "for programs that have themselves sampled: talk by stdin and stdout",
     .detail = "Begins when stdin brings a line, writes `sampling FILE` to stdout with the first "
               "sample, and ends when stdin brings more or ends. cairn.profile() uses it."},
    {.name = "seed",
     .kind = CAIRN_VALUE_NUMBER,
     .group = CAIRN_GROUP_RECORD,
     .commands = FOR_RECORD,
     .value = "NUMBER",
     .min = 1,
     .max = UINT64_MAX,
     .range = "1 to 18446744073709551615",
     .offset = FIELD(seed),
     .brief = "of the random moments; drawn and recorded otherwise",
     .detail = "The same seed and rate give the same schedule of moments."},
    {.name = "sync",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_RECORD,
     .sources = FROM_BOTH,
     .commands = FOR_RECORD,
     .offset = FIELD(sync),
     .brief = "have every second on the disk, against power loss",
     .detail = "The death of a process costs at most a second of the recording without it too."},
    {.name = "rotate",
     .kind = CAIRN_VALUE_SIZE,
     .group = CAIRN_GROUP_RECORD,
     .sources = FROM_BOTH,
     .commands = FOR_RECORD,
     .value = "SIZE",
     .min = 64 << 10,
     .max = (uint64_t)1 << 40,
     .range = "64k to 1t",
     .offset = FIELD(rotate_bytes),
     .brief = "start a new file whenever one has reached SIZE",
     .detail = "Each file can be read alone; reading the first reads all of them."},
    {.name = "flush",
     .kind = CAIRN_VALUE_TIME,
     .group = CAIRN_GROUP_RECORD,
     .sources = FROM_BOTH,
     .commands = FOR_RECORD,
     .value = "TIME",
     .fallback = "1s",
     .min = 10 * NS_PER_MS,
     .max = 60 * NS_PER_S,
     .range = "10ms to 60s",
     .offset = FIELD(flush_ns),
     .brief = "how much may be lost when Cairn itself is killed",
     .detail = "Shorter makes the recording a little larger."},

    {.name = "by",
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_SHOW,
     .sources = FROM_BOTH,
     .commands = CAIRN_FOR_REPORT | CAIRN_FOR_EXPORT | CAIRN_FOR_DIFF | CAIRN_FOR_QUERY,
     .value = "ROWS",
     .choice = by_word,
     .offset = FIELD(by),
     .brief = "rows of the table: function, line, module, thread, process, state, task",
     .detail =
         "Without it there are two tables, functions and lines; in JSON and csv, functions. Other "
         "exports have no rows."},
    {.name = "of",
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_REPORT,
     .value = "FUNCTION",
     .offset = FIELD(of),
     .brief = "who calls FUNCTION, and what it calls",
     .detail = "A name, a qualified name, or else a regular expression as Python's re reads them."},
    {.name = "sort",
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_SHOW,
     .sources = FROM_BOTH,
     .commands = CAIRN_FOR_REPORT | CAIRN_FOR_QUERY,
     .value = "KEY",
     .fallback = "self",
     .choice = sort_word,
     .offset = FIELD(sort),
     .brief = "order of the rows: self, total, name",
     .detail = "self is the time in a row itself, total the time in it and all it called."},
    {.name = "limit",
     .letter = 'n',
     .kind = CAIRN_VALUE_NUMBER,
     .group = CAIRN_GROUP_SHOW,
     .sources = FROM_BOTH,
     .commands = CAIRN_FOR_REPORT | CAIRN_FOR_DIFF | CAIRN_FOR_QUERY,
     .value = "NUMBER",
     .min = 1,
     .max = 1000000,
     .range = "1 to 1000000",
     .offset = FIELD(limit),
     .brief = "at most so many rows",
     .detail = "Without it a text shows what fits on a screen or two, and JSON all."},
    {.name = "json",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands =
         CAIRN_FOR_REPORT | CAIRN_FOR_DUMP | CAIRN_FOR_DOCTOR | CAIRN_FOR_DIFF | CAIRN_FOR_DIS,
     .offset = FIELD(json),
     .brief = "one JSON object instead of text",
     .detail = "docs/json.md names every key."},
    {.name = "idle",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .sources = FROM_BOTH,
     .commands = CAIRN_FOR_REPORT | CAIRN_FOR_DIFF | CAIRN_FOR_QUERY,
     .offset = FIELD(idle),
     .brief = "count waiting for work in the tables",
     .detail = "Waiting in accept, poll or on an empty queue is one line beside the tables "
               "otherwise, and shares are of the rest."},
    {.name = "format",
     .letter = 'f',
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_EXPORT,
     .value = "FORMAT",
     .choice = format_word,
     .offset = FIELD(format),
     .brief = "what to write: collapsed, speedscope, pprof, perfetto, chrome, firefox, cpuprofile, "
              "csv, flamegraph, pstats, callgrind, dot",
     .detail = "There is no default; without it `cairn export` says what each is for."},
    {.name = "unit",
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_EXPORT,
     .value = "UNIT",
     .fallback = "time",
     .choice = unit_word,
     .offset = FIELD(unit),
     .brief = "values are times, or numbers of samples",
     .detail = "Times are those of the metric: whole microseconds in collapsed stacks."},
    {.name = "lines",
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_EXPORT,
     .value = "LINES",
     .choice = lines_word,
     .offset = FIELD(lines),
     .brief = "lines of frames: executing, first, none",
     .detail = "executing is the line that ran, first the one where the function begins. The "
               "default is what readers of the format are used to."},
    {.name = "threads",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_EXPORT,
     .offset = FIELD(threads),
     .brief = "put thread:NAME in front of every stack",
     .detail = "Of collapsed stacks."},
    {.name = "processes",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_EXPORT,
     .offset = FIELD(processes),
     .brief = "put process:PID in front of every stack",
     .detail = "Of collapsed stacks."},
    {.name = "node-thres",
     .letter = 'n',
     .kind = CAIRN_VALUE_PERCENT,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_EXPORT | CAIRN_FOR_GPROF2DOT,
     .value = "PERCENTAGE",
     .fallback = "0.5",
     .max = PPM_ALL,
     .range = "0 to 100",
     .offset = FIELD(node_least_ppm),
     .brief = "leave functions below it out of a graph",
     .detail = "Of dot: by the total time, as gprof2dot has it."},
    {.name = "edge-thres",
     .letter = 'e',
     .kind = CAIRN_VALUE_PERCENT,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_EXPORT | CAIRN_FOR_GPROF2DOT,
     .value = "PERCENTAGE",
     .fallback = "0.1",
     .max = PPM_ALL,
     .range = "0 to 100",
     .offset = FIELD(edge_least_ppm),
     .brief = "leave calls below it out of a graph",
     .detail = "Of dot: by the total time, as gprof2dot has it."},

    {.name = "markdown",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_DIFF,
     .offset = FIELD(markdown),
     .brief = "a table for a comment on a pull request",
     .detail = "Names in it are no markup, whatever they hold."},
    {.name = "normalize",
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_SHOW,
     .sources = FROM_BOTH,
     .commands = CAIRN_FOR_DIFF,
     .value = "SCALE",
     .choice = scale_word,
     .offset = FIELD(normalize),
     .brief = "what is compared: run, second, share",
     .detail = "run: seconds of the whole recordings, right for two runs that do the same work. "
               "second: seconds for each second recorded, right for two looks at one service. "
               "share: parts of the thread time, where one row's gain is the others' loss. Without "
               "it, run when both ran from their start, else second."},
    {.name = "base",
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_SHOW,
     .sources = FROM_BOTH,
     .commands = CAIRN_FOR_DIFF,
     .value = "WHICH",
     .fallback = "before",
     .choice = base_word,
     .offset = FIELD(base),
     .brief = "of which one percentages are: before, after",
     .detail = "JSON has both."},
    {.name = "tolerance",
     .kind = CAIRN_VALUE_NUMBER,
     .group = CAIRN_GROUP_SHOW,
     .sources = FROM_BOTH,
     .commands = CAIRN_FOR_DIFF,
     .value = "PERCENT",
     .fallback = "5",
     .min = 0,
     .max = 1000,
     .range = "0 to 1000",
     .offset = FIELD(tolerance),
     .brief = "how much of the whole a change may be and still pass",
     .detail = "Two runs of one program differ by more than sampling explains. A row is worse when "
               "all of its interval lies beyond this part of the whole before."},
    {.name = "source",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_HTML | CAIRN_FOR_VIEW,
     .offset = FIELD(source),
     .brief = "put the lines of functions into the page",
     .detail = "Only of files that have not changed since the recording was made, here and since "
               "this machine started; and of those that lie in the current folder (in none that "
               "begins with a dot), in the "
               "libraries of a Python, or are called as its source is (.py)."},
    {.name = "before",
     .kind = CAIRN_VALUE_FILE,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_HTML | CAIRN_FOR_VIEW,
     .value = "FILE",
     .offset = FIELD(before),
     .brief = "a recording to compare with, in the view Compare",
     .detail = "What is chosen of the one is chosen of the other. Without it Compare holds "
               "processes or threads of one recording against each other."},
    {.name = "redact",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_HTML | CAIRN_FOR_EXPORT,
     .offset = FIELD(redact),
     .brief = "leave out what tells who made the recording, and where",
     .detail = "No environment, command line, home folder, user's name or source; of a path only "
               "what says which file of the program or of a library it is."},
    {.name = "format",
     .letter = 'f',
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .value = "FORMAT",
     .choice = prof_format_word,
     .offset = FIELD(prof_format),
     .brief = "axe callgrind collapse dtrace hprof json oprofile perf prof pstats sleepy sysprof "
              "xperf",
     .detail =
         "What is read. Without it the file itself tells, also of recordings of Cairn and "
         "whatever else it imports. `prof` is what gprof prints, `perf` what perf script does, "
         "`json` gprof2dot's own form, `oprofile` what opreport --callgraph prints, `axe` VTune "
         "Amplifier's gprof-cc report."},
    {.name = "colormap",
     .letter = 'c',
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .value = "THEME",
     .choice = colormap_word,
     .offset = FIELD(colormap),
     .brief = "colours of the graph: color, pink, gray, bw, print",
     .detail = "As gprof2dot has them; color is what is meant without it."},
    {.name = "skew",
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .value = "NUMBER",
     .offset = FIELD(skew),
     .brief = "below 1 there are more colours for what takes little",
     .detail = "Above 1 there are fewer colours for what takes little."},
    {.name = "color-nodes-by-selftime",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .offset = FIELD(by_self),
     .brief = "colour functions by their own time",
     .detail = "Not by their total."},
    {.name = "colour-nodes-by-selftime",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .offset = FIELD(by_self),
     .brief = "the same as --color-nodes-by-selftime",
     .detail = "gprof2dot takes both."},
    {.name = "strip",
     .letter = 's',
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .offset = FIELD(strip),
     .brief = "names without parameters and template arguments",
     .detail = "Takes away what stands between round brackets and between angle brackets."},
    {.name = "wrap",
     .letter = 'w',
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .offset = FIELD(wrap),
     .brief = "names on several lines where they are long",
     .detail = "Of 32 characters at most, where there is a blank or a hyphen to break at."},
    {.name = "total",
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .value = "METHOD",
     .choice = total_word,
     .offset = FIELD(total_method),
     .brief = "how totals are had of what has stacks: callstacks",
     .detail =
         "That is what is meant without it, too. gprof2dot's other method, callratios, guesses "
         "them from who called whom."},
    {.name = "node-label",
     .kind = CAIRN_VALUE_PLACES,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .value = "MEASURE",
     .range = "self-time, self-time-percentage, total-time or total-time-percentage",
     .offset = FIELD(node_labels),
     .brief = "what a box says; may be given several times",
     .detail = "One of self-time, self-time-percentage, total-time, total-time-percentage; without "
               "it the two percentages."},
    {.name = "time-format",
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .value = "FORMAT",
     .offset = FIELD(time_format),
     .brief = "how self-time and total-time are written",
     .detail = "Seconds, as Python's % writes one number: %.7g without it."},
    {.name = "show-samples",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .offset = FIELD(show_samples),
     .brief = "accepted: what was sampled says its samples in any case",
     .detail = "They stand where the calls do."},
    {.name = "list-functions",
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .value = "GLOB",
     .offset = FIELD(list_functions),
     .brief = "print the names that match, for --root and --leaf",
     .detail = "A + means all of them."},
    {.name = "compare",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .offset = FIELD(dot_compare),
     .brief = "the graph of the first file, with what differs in the second",
     .detail =
         "Functions are paired by the name in their box: shapes point up where the second file "
         "has more of the whole, and down where it has less. `cairn diff` says what is more "
         "than chance."},
    {.name = "compare-tolerance",
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .value = "POINTS",
     .offset = FIELD(dot_tolerance),
     .brief = "of --compare: what differs by less does not",
     .detail = "Points of a percentage, 0.001 without it."},
    {.name = "compare-only-slower",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .offset = FIELD(dot_slower),
     .brief = "of --compare: only what takes more in the second file",
     .detail = "Of the total's percentage; what takes less is shown as if it did not."},
    {.name = "compare-only-faster",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .offset = FIELD(dot_faster),
     .brief = "of --compare: only what takes less in the second file",
     .detail = "Of the total's percentage; what takes more is shown as if it did not."},
    {.name = "compare-color-by-difference",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_GPROF2DOT,
     .offset = FIELD(dot_by_difference),
     .brief = "of --compare: colours tell how much functions differ",
     .detail = "Those that differ most are red; calls have no colour then."},
    {.name = "root",
     .letter = 'z',
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_FILTER,
     .commands = CAIRN_FOR_GPROF2DOT,
     .value = "GLOB",
     .may_be_empty = true, /* scripts pass one on */
     .offset = FIELD(root),
     .brief = "only these functions, and what they call",
     .detail =
         "A pattern of the shell for names as they stand in the boxes: MODULE:LINE:FUNCTION."},
    {.name = "leaf",
     .letter = 'l',
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_FILTER,
     .commands = CAIRN_FOR_GPROF2DOT,
     .value = "GLOB",
     .may_be_empty = true, /* scripts pass one on */
     .offset = FIELD(leaf),
     .brief = "only these functions, and what calls them",
     .detail = "A pattern as that of --root."},
    {.name = "depth",
     .kind = CAIRN_VALUE_NUMBER,
     .group = CAIRN_GROUP_FILTER,
     .commands = CAIRN_FOR_GPROF2DOT,
     .value = "NUMBER",
     .max = 1000000,
     .range = "0 to 1000000",
     .offset = FIELD(graph_depth),
     .brief = "so many calls from --root, and to --leaf",
     .detail = "Without it, however many there are."},
    {.name = "path",
     .letter = 'p',
     .kind = CAIRN_VALUE_PLACES,
     .group = CAIRN_GROUP_FILTER,
     .commands = CAIRN_FOR_GPROF2DOT,
     .value = "PATH",
     .range = "a name, and no more than 32 of them",
     .offset = FIELD(paths),
     .brief = "only functions of files whose name begins so",
     .detail = "May be given several times."},
    {.name = "depth",
     .kind = CAIRN_VALUE_NUMBER,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_QUERY,
     .value = "NUMBER",
     .fallback = "0",
     .max = 1000000,
     .range = "0 to 1000000",
     .offset = FIELD(depth),
     .brief = "of a flame graph: so many boxes above one another; 0: all",
     .detail = "A box tells the time of those above it that are left out."},
    {.name = "cutoff",
     .kind = CAIRN_VALUE_PERCENT,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_QUERY,
     .value = "PERCENT",
     .fallback = "0.1",
     .max = PPM_ALL,
     .range = "0 to 100",
     .offset = FIELD(cutoff_ppm),
     .brief = "of a flame graph, or call graph: what has at least so many percent",
     .detail = "Of all that is shown, or of STACK. 0 leaves none out."},
    {.name = "slices",
     .kind = CAIRN_VALUE_NUMBER,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_QUERY,
     .value = "NUMBER",
     .fallback = "100",
     .min = 1,
     .max = 10000,
     .range = "1 to 10000",
     .offset = FIELD(slices),
     .brief = "of a timeline: so many parts of the time",
     .detail = "Fewer where they would have less than 8 ticks, or the answer would be large."},
    {.name = "port",
     .letter = 'p',
     .kind = CAIRN_VALUE_NUMBER,
     .group = CAIRN_GROUP_SHOW,
     .sources = CAIRN_FROM_ENV,
     .commands = CAIRN_FOR_VIEW,
     .value = "PORT",
     .fallback = "0",
     .max = UINT16_MAX,
     .range = "0 to 65535",
     .offset = FIELD(port),
     .brief = "serve on this port; 0: one that is free",
     .detail = "Over ssh a fixed one saves typing its number anew."},
    {.name = "address",
     .letter = 'a',
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_VIEW | CAIRN_FOR_CPROFILEV,
     .value = "ADDRESS",
     .offset = FIELD(address),
     .brief = "serve on this address instead of 127.0.0.1",
     .detail = "0.0.0.0 is every address of this machine: whoever can reach it, and has the link, "
               "sees the page. What is sent is not encrypted."},
    {.name = "hostname",
     .letter = 'H',
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_SNAKEVIZ,
     .value = "ADDRESS",
     .offset = FIELD(address),
     .brief = "serve on this address instead of 127.0.0.1",
     .detail = "As --address of `cairn view`."},
    {.name = "port",
     .letter = 'p',
     .kind = CAIRN_VALUE_NUMBER,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_SNAKEVIZ | CAIRN_FOR_CPROFILEV,
     .value = "PORT",
     .max = UINT16_MAX,
     .range = "0 to 65535",
     .offset = FIELD(tool_port),
     .brief = "serve on this port; 0: one that is free",
     .detail = "Without it on that of the tool: 8080 of snakeviz, or the next that is free, 4000 "
               "of cProfileV."},
    {.name = "browser",
     .letter = 'b',
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_SNAKEVIZ,
     .value = "PROGRAM",
     .offset = FIELD(browser),
     .brief = "open it with this browser",
     .detail = "A name that is found in PATH, or a path."},
    {.name = "server",
     .letter = 's',
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_SNAKEVIZ,
     .offset = FIELD(no_open),
     .brief = "open no browser",
     .detail = "One is opened (xdg-open) where there is a display, and no ssh between."},
    {.name = "file",
     .letter = 'f',
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_SHOW,
     .commands = CAIRN_FOR_CPROFILEV,
     .value = "FILE",
     .offset = FIELD(prof_file),
     .brief = "show this profile, and run nothing",
     .detail = "What cProfile writes, a recording of Cairn, or whatever else it imports."},
    {.name = "no-open",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_SHOW,
     .sources = CAIRN_FROM_ENV,
     .commands = CAIRN_FOR_VIEW,
     .offset = FIELD(no_open),
     .brief = "open no browser",
     .detail = "One is opened (xdg-open) where there is a display, and no ssh between."},
    {.name = "quit-after",
     .kind = CAIRN_VALUE_TIME,
     .group = CAIRN_GROUP_SHOW,
     .sources = CAIRN_FROM_ENV,
     .commands = CAIRN_FOR_VIEW | CAIRN_FOR_SNAKEVIZ | CAIRN_FOR_CPROFILEV | CAIRN_FOR_PPROF,
     .value = "TIME",
     .fallback = "1h",
     .min = NS_PER_MS,
     .max = 100000 * NS_PER_H,
     .range = "1ms to 100000h",
     .offset = FIELD(quit_after_ns),
     .brief = "end when nobody has asked for so long: 10m, 1h",
     .detail = "A page that is open goes on to work; it cannot be loaded again then."},

    {.name = "metric",
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_FILTER,
     .sources = FROM_BOTH,
     .commands = FOR_READ,
     .value = "METRIC",
     .fallback = "wall",
     .choice = metric_word,
     .offset = FIELD(metric),
     .brief = "which time: wall, cpu, gil, gil-wait, runq, blocked, counted",
     .detail = "One recording holds all of them; what could not be measured is said to be n/a. "
               "`counted` is the time of calls that `cairn run --exact` counted one by one, exact, "
               "with all that filters and exports can do; it is of the whole recording."},
    {.name = "thread",
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_FILTER,
     .commands = FOR_READ,
     .value = "THREAD",
     .offset = FIELD(thread),
     .brief = "only threads with this number or name",
     .detail = "A name may hold * and ?."},
    {.name = "process",
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_FILTER,
     .commands = FOR_READ,
     .value = "PROCESS",
     .offset = FIELD(process),
     .brief = "only processes with this number, name or role",
     .detail = "A name may hold * and ?."},
    {.name = "task",
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_FILTER,
     .commands = CAIRN_FOR_REPORT | CAIRN_FOR_HTML | CAIRN_FOR_VIEW | CAIRN_FOR_QUERY |
                 CAIRN_FOR_EXPORT | CAIRN_FOR_DIFF,
     .value = "TASK",
     .offset = FIELD(task),
     .brief = "only what asyncio tasks of this name, or coroutine, ran and waited in",
     .detail = "A name may hold * and ?. In place of samples: every 10 ms it was noted which task "
               "ran, and where the others waited."},
    {.name = "while",
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_FILTER,
     .commands = FOR_READ,
     .value = "OVERLAY",
     .choice = overlay_word,
     .offset = FIELD(overlay),
     .brief = "only moments at which a thread: gil_held, gc, exception",
     .detail = "Held the GIL, collected garbage, or had an exception on its way or being handled."},
    {.name = "region",
     .kind = CAIRN_VALUE_TEXT,
     .group = CAIRN_GROUP_FILTER,
     .commands = FOR_READ,
     .value = "NAME",
     .offset = FIELD(region),
     .brief = "only what threads did within regions of this name",
     .detail = "A name may hold * and ?. Regions are what the program marks itself: "
               "`with cairn.region(\"name\"):` or `@cairn.timed`. The report then says what the "
               "slowest tenth spends more in than the middle half."},
    {.name = "region-length",
     .kind = CAIRN_VALUE_CHOICE,
     .group = CAIRN_GROUP_FILTER,
     .commands = FOR_READ,
     .value = "LENGTH",
     .choice = region_length_word,
     .offset = FIELD(region_length),
     .brief = "of those regions only: slow, middle",
     .detail = "The slowest tenth of them, or those that are left without the quickest and the "
               "slowest quarter."},
    {.name = "focus",
     .kind = CAIRN_VALUE_PATTERNS,
     .group = CAIRN_GROUP_FILTER,
     .sources = FROM_BOTH,
     .commands = FOR_READ,
     .value = "REGEX",
     .range = "at least one character, and no more than 32 times",
     .offset = FIELD(focus),
     .brief = "only stacks with a frame that matches",
     .detail = "A regular expression as Python's re reads them, held against \"qualname file\" of "
               "each frame. "
               "Given several times: only stacks with a match of each."},
    {.name = "ignore",
     .kind = CAIRN_VALUE_PATTERNS,
     .group = CAIRN_GROUP_FILTER,
     .sources = FROM_BOTH,
     .commands = FOR_READ,
     .value = "REGEX",
     .range = "at least one character, and no more than 32 times",
     .offset = FIELD(ignore),
     .brief = "without the stacks that have a frame that matches",
     .detail = "A regular expression as Python's re reads them, held against \"qualname file\" of "
               "each frame. "
               "Given several times: without a match of any."},
    {.name = "only-my-code",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_FILTER,
     .sources = FROM_BOTH,
     .commands = FOR_READ,
     .offset = FIELD(only_my_code),
     .brief = "give the time of libraries to the line of yours that called them",
     .detail = "Yours is what lies neither in the standard library nor in site-packages."},
    {.name = "from",
     .kind = CAIRN_VALUE_TIME,
     .group = CAIRN_GROUP_FILTER,
     .commands = FOR_READ,
     .value = "TIME",
     .fallback = "0",
     .max = UINT64_MAX,
     .range = "a time like 250ms or 3s",
     .offset = FIELD(from_ns),
     .brief = "from this moment of the recording on: 250ms, 3s",
     .detail = "Counted from the start of the recording."},
    {.name = "to",
     .kind = CAIRN_VALUE_TIME,
     .group = CAIRN_GROUP_FILTER,
     .commands = FOR_READ,
     .value = "TIME",
     .min = 1,
     .max = UINT64_MAX,
     .range = "a time like 250ms or 3s",
     .offset = FIELD(to_ns),
     .brief = "up to this moment of the recording",
     .detail = "Counted from the start of the recording."},

    {.name = "each",
     .kind = CAIRN_VALUE_TIME,
     .group = CAIRN_GROUP_FILTER,
     .commands = CAIRN_FOR_REPORT | CAIRN_FOR_HTML | CAIRN_FOR_VIEW | CAIRN_FOR_QUERY |
                 CAIRN_FOR_EXPORT | CAIRN_FOR_DIFF | CAIRN_FOR_IMPORT,
     .value = "TIME",
     .min = 1,
     .max = 3600 * NS_PER_S,
     .range = "1ns to 1h",
     .offset = FIELD(reading.each_ns),
     .brief = "what one sample stands for in files that only count: 10ms",
     .detail = "Collapsed stacks do not say how often they were sampled. Without it a count is "
               "shown as a microsecond, and no interval is given."},

    {.name = "help",
     .letter = 'h',
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_GENERAL,
     .commands = FOR_ALL,
     .offset = FIELD(help),
     .brief = "this text",
     .detail = "`cairn help COMMAND` says more."},
    {.name = "version",
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_GENERAL,
     .commands =
         FOR_ALL & ~(CAIRN_FOR_KERNPROF | CAIRN_FOR_LINE_PROFILER | /* they have their own */
                     CAIRN_FOR_SNAKEVIZ),
     .offset = FIELD(version),
     .brief = "the version of Cairn",
     .detail = "With nothing else."},
    {.name = "version",
     .letter = 'v',
     .kind = CAIRN_VALUE_FLAG,
     .group = CAIRN_GROUP_GENERAL,
     .commands = CAIRN_FOR_SNAKEVIZ,
     .offset = FIELD(version),
     .brief = "the version of Cairn, as snakeviz tells its own",
     .detail = "With nothing else."},
};
const size_t cairn_option_count = sizeof(cairn_options) / sizeof(cairn_options[0]);
