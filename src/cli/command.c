#include "command.h"

#include <stdint.h>
#include <string.h>

const struct cairn_command cairn_commands[] = {
    {.name = "run",
     .bit = CAIRN_FOR_RUN,
     .run = cairn_cmd_run,
     .shown = true,
     .runs = true,
     .synopsis = "[OPTIONS] [--] SCRIPT.py ARGS | -m MODULE ARGS | -c CODE ARGS | COMMAND ARGS",
     .brief = "run a program, then tell where its time went",
     .max_words = SIZE_MAX,
     .detail =
         "Starts the program and samples every CPython in it and in the processes it starts, from "
         "outside: nothing is loaded into them, nothing is written to them, they are not stopped. "
         "stdin, stdout, stderr, signals and exit status are the program's own; the report goes to "
         "stderr.\n"
         "What is run is the first word behind the options: -m or -c; else a file that ends in .py "
         "or .pyz, a folder with a __main__.py, or a file whose first line names a Python; else a "
         "command from PATH. `cairn script.py` and `cairn -m module` are short for it.",
     .example = "cairn run script.py --its-own-option\n"
                "cairn run -r 10khz -m json.tool data.json\n"
                "cairn run --for 30s -- sh -c 'python3 first.py | python3 second.py'"},
    {.name = "trace",
     .bit = CAIRN_FOR_TRACE,
     .run = cairn_cmd_trace,
     .runs = true,
     .synopsis = "[--in WHERE] [OPTIONS] [--] SCRIPT.py ARGS | -m MODULE ARGS | -c CODE ARGS",
     .brief = "run a program and count every call, exactly",
     .max_words = SIZE_MAX,
     .detail = "Another word for `cairn run --exact`: who called whom how often and for how long, "
               "exactly, by thread and process. The report has the columns that cProfile has; a "
               "generator is one call for each body that began.",
     .example = "cairn trace script.py\ncairn report --json"},
    {.name = "lines",
     .bit = CAIRN_FOR_LINES,
     .run = cairn_cmd_lines,
     .runs = true,
     .synopsis = "[--in WHERE] [OPTIONS] [--] SCRIPT.py ARGS | -m MODULE ARGS | -c CODE ARGS",
     .brief = "run a program and count its lines, exactly",
     .max_words = SIZE_MAX,
     .detail = "Another word for `cairn run --lines`: how often each line of some functions began, "
               "and for how long it went on, with what it calls. Each frame by itself, so "
               "recursion, threads and generators do not mix.",
     .example = "cairn lines script.py\ncairn lines --in json.decoder -m json.tool data.json"},
    {.name = "count",
     .bit = CAIRN_FOR_COUNT,
     .run = cairn_cmd_count,
     .runs = true,
     .synopsis = "[--in WHERE] [OPTIONS] [--] SCRIPT.py ARGS | -m MODULE ARGS | -c CODE ARGS",
     .brief = "run a program and count its calls and lines, exactly",
     .max_words = SIZE_MAX,
     .detail = "Another word for `cairn run --count`: every call, and each line of "
               "the program or of what --in names. Lines are counted without their times, which "
               "are those of the samples; `cairn lines --exact` times them, and tells what of "
               "that is their own, what Python that they called took, and what C did.",
     .example = "cairn count script.py\ncairn count --in json.decoder -m json.tool data.json"},
    {.name = "dis",
     .bit = CAIRN_FOR_DIS,
     .run = cairn_cmd_dis,
     .synopsis = "[--json] FUNCTION [FILE ...]",
     .brief = "bytecode of a function, and how often each of it ran",
     .min_words = 1,
     .max_words = SIZE_MAX,
     .detail =
         "Lists the instructions of a function as Python's `dis` does, each with how often it "
         "was executed, exactly, in a recording of `cairn count --opcodes`, and what it was "
         "given: of which types, or what it called; where samples met the function, with the "
         "share that met it there. FUNCTION is a name, a "
         "qualified name, MODULE:QUALNAME or FILE:LINE. Without FILE it is the newest "
         "recording of the current folder.",
     .example = "cairn count --opcodes script.py\ncairn dis main"},
    {.name = "attach",
     .bit = CAIRN_FOR_ATTACH,
     .run = cairn_cmd_attach,
     .shown = true,
     .synopsis = "[OPTIONS] PID",
     .brief = "the same for a process that runs already",
     .min_words = 1,
     .max_words = 1,
     .detail = "Samples the process, and those it starts, until it ends, for --for TIME, or until "
               "Ctrl-C. The process is left as it was, however Cairn ends.",
     .example = "cairn attach --for 2s 4711"},
    {.name = "dump",
     .bit = CAIRN_FOR_DUMP,
     .run = cairn_cmd_dump,
     .shown = true,
     .synopsis = "[--json] PID",
     .brief = "the stack of every thread of a process, now",
     .min_words = 1,
     .max_words = 1,
     .detail = "Prints for every thread its name, what it is doing and its Python stack with "
               "lines, innermost last called first.",
     .example = "cairn dump 4711\ncairn dump --json 4711"},
    {.name = "report",
     .bit = CAIRN_FOR_REPORT,
     .run = cairn_cmd_report,
     .shown = true,
     .synopsis = "[OPTIONS] [FILE ...]",
     .brief = "tell where the time of a recording went",
     .max_words = SIZE_MAX,
     .detail = "Reads the newest recording of the current folder when no FILE is named; several "
               "files are read as one. A share comes with its 95 % interval; `bound` is how much "
               "faster the whole would be, at most, if the row cost nothing.",
     .example = "cairn report --by line\n"
                "cairn report --metric cpu --only-my-code\n"
                "cairn report --of json.loads\n"
                "cairn report --json"},
    {.name = "html",
     .bit = CAIRN_FOR_HTML,
     .run = cairn_cmd_html,
     .synopsis = "[OPTIONS] [FILE ...]",
     .brief = "a recording as one page for a browser",
     .max_words = SIZE_MAX,
     .detail = "Writes report.html in the current folder unless -o names another file. The page "
               "needs nothing but itself: no network, no server. It holds sums for each stack, not "
               "the samples; no source unless --source is given, and of the environment only "
               "which Python, system and processor it was. --redact leaves that out too, with the "
               "command line, the home folder, the user's name and where files lay.",
     .example = "cairn html\ncairn html --force --redact -o shared.html\n"
                "cairn html --force --before before.cairn after.cairn"},
    {.name = "view",
     .bit = CAIRN_FOR_VIEW,
     .run = cairn_cmd_view,
     .synopsis = "[OPTIONS] [FILE ...]",
     .brief = "the same page from a local server, in your browser",
     .max_words = SIZE_MAX,
     .detail =
         "Prints a link, opens it where there is a desktop, and serves until Ctrl-C, or until "
         "nobody has asked for an hour. Only this machine can reach it unless -a says "
         "otherwise, and only who has the link gets anything. Over ssh it says which command "
         "brings it to where you sit.",
     .example = "cairn view --quit-after 1s\n"
                "cairn view --no-open -a 0.0.0.0 -p 0 --quit-after 1s"},
    {.name = "query",
     .bit = CAIRN_FOR_QUERY,
     .run = cairn_cmd_query,
     .synopsis = "[OPTIONS] [FILE] overview | table | function FUNCTION | flame [STACK] | graph | "
                 "timeline",
     .brief = "one view of the page, as JSON",
     .max_words = 4,
     .detail =
         "overview is the verdict with the first functions; table the rows of --by; function "
         "its callers, callees and lines; flame the boxes of the flame graph, of all stacks "
         "or of those on STACK; graph the functions with who called whom; timeline what each "
         "thread did in each slice of the time. Functions and stacks have handles (f-..., s-...), "
         "which stay the "
         "same in every query and recording: FUNCTION and STACK take them. docs/json.md names "
         "every key. `cairn view` answers the same below /api/.",
     .example = "cairn query overview\n"
                "cairn query table --by line --limit 5\n"
                "cairn query flame --depth 3 --cutoff 1\n"
                "cairn query timeline --slices 20"},
    {.name = "export",
     .bit = CAIRN_FOR_EXPORT,
     .run = cairn_cmd_export,
     .shown = true,
     .synopsis = "-f FORMAT [OPTIONS] [FILE ...]",
     .brief = "a recording for other tools, or as a flame graph",
     .max_words = SIZE_MAX,
     .detail = "Writes to stdout unless -o names a file. The sums of an export are those of the "
               "report with the same options.",
     .example = "cairn export -f flamegraph -o out.svg\n"
                "cairn export -f collapsed --threads\n"
                "cairn export -f speedscope -o out.json"},
    {.name = "cprofile",
     .bit = CAIRN_FOR_CPROFILE,
     .run = cairn_cmd_tool,
     .tool = true,
     .synopsis = "[--python PATH] [-o FILE] [-s KEY] SCRIPT.py ARGS | -m MODULE ARGS",
     .brief = "count and time every call, as `python -m cProfile` does",
     .max_words = SIZE_MAX,
     .detail = "Takes the words that cProfile takes, and prints or writes what it does: a table "
               "on stdout, or with -o a file that pstats reads. Each thread is counted by itself. "
               "The exit status is the program's.",
     .example = "cairn cprofile -s tottime script.py\ncairn cprofile -o out.prof script.py"},
    {.name = "kernprof",
     .bit = CAIRN_FOR_KERNPROF,
     .run = cairn_cmd_tool,
     .tool = true,
     .synopsis = "[--python PATH] [-l] [-v] [-o FILE] [-p NAMES] SCRIPT.py ARGS | -m MODULE ARGS | "
                 "-c CODE ARGS | - ARGS",
     .brief = "count and time lines, as `kernprof -l` does",
     .max_words = SIZE_MAX,
     .detail = "Takes the words that kernprof takes: with -l the lines of functions with the "
               "decorator @profile, and of those that -p names, are counted and timed, and go into "
               "a file; -v shows them. Other code is not slowed down. Without -l it is cprofile. "
               "-h shows all of its words. "
               "The exit status is the program's.",
     .example = "cairn kernprof -l -v script.py\ncairn kernprof -l -v -p script.py script.py"},
    {.name = "line_profiler",
     .bit = CAIRN_FOR_LINE_PROFILER,
     .run = cairn_cmd_tool,
     .tool = true,
     .synopsis = "[--python PATH] [-u SECONDS] [-z] [-t] [-m] FILE.lprof ...",
     .brief = "show what kernprof wrote, as line_profiler does",
     .max_words = SIZE_MAX,
     .detail = "Lines with their hits and times beside the source; several files are added up. "
               "Files of line_profiler are read without running anything in them. -h shows all "
               "of its words.",
     .example = "cairn line_profiler -z script.py.lprof"},
    {.name = "imports",
     .bit = CAIRN_FOR_IMPORTS,
     .run = cairn_cmd_tool,
     .tool = true,
     .synopsis = "[--python PATH] [--json] [-o FILE] [-n ROWS] SCRIPT.py ARGS | -m MODULE ARGS",
     .brief = "how long each import of a program takes",
     .max_words = SIZE_MAX,
     .detail = "Runs a program and times what it imports: each module by itself and with what it "
               "imports in turn, what it took to find it and to compile it, and whether its "
               "bytecode was cached. The table goes to stderr, with --json an object to stdout, "
               "with -o either into a file. The exit status is the program's.",
     .example =
         "cairn imports script.py\ncairn imports --json -o imports.json -m json.tool data.json"},
    {.name = "pstats",
     .bit = CAIRN_FOR_PSTATS,
     .run = cairn_cmd_pstats,
     .synopsis = "[OPTIONS] [FILE ...]",
     .brief = "the statistics browser of `python -m pstats`",
     .max_words = SIZE_MAX,
     .detail =
         "Reads what cProfile and profile write (.prof), and recordings of Cairn, without Python; "
         "further files are added to the first. Commands are those of Python, and so are the "
         "answers: `sort`, `strip`, `add`, `stats`, `callers`, `callees`, `reverse`, `read`, "
         "`help`, `quit`. A number, a fraction or a regular expression behind `stats`, `callers` "
         "or `callees` says which rows. The options choose what of a recording is shown; of a "
         ".prof file it is all.\n"
         "A file of the command line that is damaged or foreign ends it with status 123.",
     .example = "cairn export -f pstats -o out.prof\n"
                "echo 'stats 5' | cairn pstats out.prof"},
    {.name = "gprof2dot",
     .bit = CAIRN_FOR_GPROF2DOT,
     .run = cairn_cmd_gprof2dot,
     .synopsis = "[OPTIONS] [FILE ...]",
     .brief = "a graph of calls out of a profile, as gprof2dot has it",
     .max_words = SIZE_MAX,
     .detail =
         "Takes the words that gprof2dot takes, and writes what it writes, for graphviz: of a "
         ".prof file letter by letter. Reads .prof files, what callgrind, stackcollapse, perf "
         "script, dtrace, gprof, hprof, oprofile, sysprof, xperf, Very Sleepy and VTune write, "
         "recordings of Cairn and whatever else it "
         "imports; stdin without a FILE. "
         "Several files are added up.",
     .example = "cairn export -f pstats -o out.prof\n"
                "cairn gprof2dot -f pstats -n 1 -e 0.5 out.prof"},
    {.name = "pprof",
     .bit = CAIRN_FOR_PPROF,
     .run = cairn_cmd_pprof,
     .tool = true,
     .synopsis = "[--quit-after TIME] FORMAT [FLAGS] [BINARY] [FILE ...]",
     .brief = "reports of a profile as google/pprof prints them",
     .max_words = SIZE_MAX,
     .detail =
         "Takes the words that pprof takes, with one dash or two, -flag=value or -flag value, and "
         "prints what it prints: of recordings of Cairn, of pprof's files, and whatever else "
         "Cairn imports. Without FILE it is the newest recording of the current folder; several "
         "are added up. gperftools' profiles hold addresses: they get the names that stand in the "
         "files which were mapped there, or for the program itself in a BINARY in front; how many "
         "have none is said.\n"
         "FORMAT is one of -top (or -text), -tree, -peek=REGEX, -list=REGEX, -traces, -tags, "
         "-weblist=REGEX, a page of the same, -comments, -raw, -proto, -topproto, -callgrind, "
         "-dot, -svg, -png, -gif, -pdf, -ps, "
         "which graphviz draws, or "
         "-http=HOST:PORT, which serves the page of `cairn view`; -no_browser opens none.\n"
         "What is shown: -sample_index=NAME or NUMBER (samples wall cpu runq blocked, also as "
         "-cpu and so on), -mean, -unit=UNIT, -divide_by=F; by -functions, -filefunctions, -files, "
         "-lines or -addresses; in the order of -flat or -cum; -nodecount=N, -nodefraction=F, "
         "-edgefraction=F, -trim=false, -drop_negative, -compact_labels.\n"
         "Of which samples: -focus=REGEX, -ignore, -hide, -show, -show_from, -prune_from, of "
         "labels -tagfocus, -tagignore, -tagshow, -taghide; -relative_percentages makes shares "
         "those of what is left. -base=FILE takes one away, -diff_base=FILE shows shares of it, "
         "-normalize scales to it. -output=FILE writes there, -add_comment=TEXT adds one; "
         "-source_path and -trim_path tell "
         "-list where sources are.",
     .example = "cairn export -f pprof -o out.pb.gz\n"
                "cairn pprof -top -nodecount=10 out.pb.gz\n"
                "cairn pprof -peek=main -lines out.pb.gz\n"
                "cairn pprof --quit-after 1s -http=localhost: -no_browser out.pb.gz"},
    {.name = "snakeviz",
     .bit = CAIRN_FOR_SNAKEVIZ,
     .run = cairn_cmd_snakeviz,
     .synopsis = "[OPTIONS] FILE",
     .brief = "a profile in your browser, as snakeviz has it",
     .min_words = 1,
     .max_words = 1,
     .detail = "Takes the words that snakeviz takes, and shows the page of `cairn view` for what "
               "cProfile writes, for recordings of Cairn, and whatever else it imports.",
     .example = "cairn export -f pstats -o out.prof\n"
                "cairn snakeviz -s --quit-after 1s out.prof"},
    {.name = "cprofilev",
     .bit = CAIRN_FOR_CPROFILEV,
     .run = cairn_cmd_cprofilev,
     .runs = true,
     .synopsis = "[OPTIONS] -f FILE | SCRIPT.py ARGS",
     .brief = "a profile in your browser, as cProfileV has it",
     .max_words = SIZE_MAX,
     .detail = "Takes the words that cProfileV takes, and shows the page of `cairn view`: of a "
               "FILE, or of a script once that has run, with every call counted.",
     .example = "cairn export -f pstats -o out.prof\n"
                "cairn cprofilev -p 0 --quit-after 1s -f out.prof\n"
                "cairn cprofilev -p 0 --quit-after 1s script.py"},
    {.name = "diff",
     .bit = CAIRN_FOR_DIFF,
     .run = cairn_cmd_diff,
     .synopsis = "[OPTIONS] BEFORE AFTER",
     .brief = "what changed between two recordings, beyond noise",
     .min_words = 2,
     .max_words = 2,
     .detail = "Compares them function by function: each change has an interval, and what noise "
               "explains is said to be not distinguishable. The intervals are wide enough to hold "
               "all together in 95 of 100 comparisons. The exit status is 0 when nothing is worse, "
               "1 when something is, 3 when there are too few samples to say.",
     .example = "cairn diff before.cairn after.cairn\n"
                "cairn diff --metric cpu --tolerance 10 before.cairn after.cairn\n"
                "cairn diff --markdown before.cairn after.cairn\n"
                "cairn diff --json before.cairn after.cairn"},
    {.name = "import",
     .bit = CAIRN_FOR_IMPORT,
     .run = cairn_cmd_import,
     .synopsis = "-o OUT FILE",
     .brief = "a profile of another tool as a recording",
     .min_words = 1,
     .max_words = 1,
     .detail = "What FILE is, is told by its content: collapsed stacks, pprof, speedscope, what "
               "cProfile and line_profiler write, callgrind, gprof's text, gperftools' CPU "
               "profiles, what perf script and dtrace print, hprof's text, what opreport, "
               "sysprof, xperf, Very Sleepy and VTune's gprof-cc write, gprof2dot's JSON, V8's "
               ".cpuprofile, trace events as VizTracer, "
               "PyTorch and Chrome write them, profiles of Firefox, Austin's MOJO; each may be "
               "gzip. Reading "
               "commands take such files "
               "as they are; a "
               "recording is smaller and opens faster. What a file does not tell is not made up: "
               "the report says under quality whether there are times, numbers of samples and "
               "stacks, or what was inferred.",
     .example = "cairn export -f collapsed -o stacks.txt\n"
                "cairn import --each 10ms -o other.cairn stacks.txt"},
    {.name = "merge",
     .bit = CAIRN_FOR_MERGE,
     .run = cairn_cmd_merge,
     .synopsis = "-o OUT FILE FILE ...",
     .brief = "several recordings as one",
     .min_words = 1,
     .max_words = SIZE_MAX,
     .detail = "Makes a set, OUT, OUT.1, OUT.2 and so on, which every command reads as one when it "
               "is given OUT. Recordings of other hosts and boots are put in time by their real "
               "clocks. The order of the FILEs does not matter, nor whether some were merged "
               "before; a recording that is named twice is in it once.",
     .example = "cairn merge -o merged.cairn before.cairn after.cairn"},
    {.name = "doctor",
     .bit = CAIRN_FOR_DOCTOR,
     .run = cairn_cmd_doctor,
     .synopsis = "[--json] [PID]",
     .brief = "what this system lets Cairn see, and what would allow more",
     .max_words = 1,
     .detail = "Tries each thing that Cairn uses on a process made for that, and with PID on that "
               "process too; names the Python that it runs. Says what is refused, by what, and the "
               "one command that would allow it. The exit status is 0 when programs can be "
               "sampled, 121 when reading their memory is refused, and with PID 124 when that "
               "process runs no Python that Cairn can read.",
     .example = "cairn doctor\ncairn doctor 4711\ncairn doctor --json"},
    {.name = "help",
     .bit = CAIRN_FOR_HELP,
     .run = cairn_cmd_help,
     .shown = true,
     .synopsis = "[COMMAND]",
     .brief = "how a command is used, with examples",
     .max_words = 1,
     .detail = "Without COMMAND it lists all commands.",
     .example = "cairn help run"},
    {.name = "completions",
     .bit = CAIRN_FOR_COMPLETIONS,
     .run = cairn_cmd_completions,
     .synopsis = "bash | zsh | fish",
     .brief = "a script that completes words in a shell",
     .min_words = 1,
     .max_words = 1,
     .detail = "Printed from the same tables that the command line is read by.",
     .example = "cairn completions bash > /usr/share/bash-completion/completions/cairn"},
    {.name = "man",
     .bit = CAIRN_FOR_MAN,
     .run = cairn_cmd_man,
     .synopsis = "[COMMAND]",
     .brief = "a page of the manual, in roff",
     .max_words = 1,
     .detail = "Printed from the same tables that the command line is read by.",
     .example = "cairn man run > cairn-run.1"},
};
const size_t cairn_command_count = sizeof(cairn_commands) / sizeof(cairn_commands[0]);

const struct cairn_command *cairn_command_find(const char *name)
{
    for (size_t i = 0; i < cairn_command_count; i++)
        if (strcmp(cairn_commands[i].name, name) == 0)
            return &cairn_commands[i];
    return NULL;
}
