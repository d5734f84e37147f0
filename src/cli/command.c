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
