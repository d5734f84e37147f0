/* command.h: one table of commands, and what each of them is handed. */
#ifndef CAIRN_COMMAND_H
#define CAIRN_COMMAND_H

#include <stddef.h>

#include "err.h"
#include "option.h"

struct cairn_words {
    char **items; /* borrowed from argv; NULL behind the last */
    size_t count;
};

struct cairn_call { /* one command line, read */
    const struct cairn_command *command;
    struct cairn_settings settings;
    struct cairn_words words; /* what is not an option */
};

struct cairn_command {
    const char *name;
    unsigned bit;         /* CAIRN_FOR_* */
    const char *synopsis; /* behind "cairn NAME " */
    const char *brief;    /* one line */
    const char *detail;   /* sentences for `cairn help NAME` and the manual */
    const char *example;  /* lines of a shell, each a whole command */
    bool shown;           /* among the commands that people need */
    /* Its words end the options: what follows belongs to another program. */
    bool runs;
    /* An old tool with a grammar of its own: only long options of ours in front are read. */
    bool tool;
    size_t min_words, max_words;
    /* The exit status. What failed has been said. */
    int (*run)(struct cairn_call *call);
};

extern const struct cairn_command cairn_commands[];
extern const size_t cairn_command_count;

const struct cairn_command *cairn_command_find(const char *name);

int cairn_cmd_run(struct cairn_call *call);
int cairn_cmd_trace(struct cairn_call *call);
int cairn_cmd_attach(struct cairn_call *call);
int cairn_cmd_dump(struct cairn_call *call);
int cairn_cmd_doctor(struct cairn_call *call);
int cairn_cmd_count(struct cairn_call *call);
int cairn_cmd_dis(struct cairn_call *call);
int cairn_cmd_lines(struct cairn_call *call);
int cairn_cmd_tool(struct cairn_call *call);
int cairn_cmd_report(struct cairn_call *call);
int cairn_cmd_html(struct cairn_call *call);
int cairn_cmd_view(struct cairn_call *call);
int cairn_cmd_query(struct cairn_call *call);
int cairn_cmd_export(struct cairn_call *call);
int cairn_cmd_diff(struct cairn_call *call);
int cairn_cmd_import(struct cairn_call *call);
int cairn_cmd_merge(struct cairn_call *call);
int cairn_cmd_pstats(struct cairn_call *call);
int cairn_cmd_gprof2dot(struct cairn_call *call);
int cairn_cmd_pprof(struct cairn_call *call);
int cairn_cmd_snakeviz(struct cairn_call *call);
int cairn_cmd_cprofilev(struct cairn_call *call);
int cairn_cmd_help(struct cairn_call *call);
int cairn_cmd_completions(struct cairn_call *call);
int cairn_cmd_man(struct cairn_call *call);

/* `cairn` with nothing behind it. */
int cairn_cmd_home(void);

/* Reads the command line of a process, runs what it names, returns the exit status. */
int cairn_main(int argc, char **argv);

#endif
