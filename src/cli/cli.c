/* cli.c: from argv to a command: which one is meant, with which settings. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "config.h"
#include "help.h"
#include "io.h"
#include "nearest.h"
#include "parse.h"
#include "say.h"
#include "target.h"

#define HELP_MAX_BYTES (1 << 18)
#define CONFIGURED                                                                                 \
    (CAIRN_FOR_RUN | CAIRN_FOR_TRACE | CAIRN_FOR_LINES | CAIRN_FOR_COUNT | CAIRN_FOR_ATTACH |      \
     CAIRN_FOR_DUMP | CAIRN_FOR_DIS | CAIRN_FOR_REPORT | CAIRN_FOR_HTML | CAIRN_FOR_VIEW |         \
     CAIRN_FOR_QUERY | CAIRN_FOR_EXPORT | CAIRN_FOR_PSTATS | CAIRN_FOR_TOOL)

static int show_help(const struct cairn_command *command)
{
    struct cairn_buf out;
    int status;

    cairn_buf_init(&out, HELP_MAX_BYTES);
    if (command == NULL)
        cairn_help_overview(&out);
    else
        cairn_help_command(command, false, &out);
    status = cairn_say_out(&out);
    cairn_buf_release(&out);
    return status;
}

/* `name`: "cairn", or the tool whose words it was asked with. */
static int show_version(const char *name)
{
    struct cairn_buf out;
    int status;

    cairn_buf_init(&out, HELP_MAX_BYTES);
    cairn_buf_printf(&out, "%s " CAIRN_VERSION "\n", name);
    status = cairn_say_out(&out);
    cairn_buf_release(&out);
    return status;
}

/* The first word is neither a command nor a Python program. */
static int refuse_word(const char *word)
{
    size_t size_bytes = strlen(word);
    bool is_file = (size_bytes > 3 && strcmp(word + size_bytes - 3, ".py") == 0) ||
                   (size_bytes > 4 && strcmp(word + size_bytes - 4, ".pyz") == 0);
    struct cairn_nearest nearest;
    struct cairn_err err;

    if (is_file)
        cairn_err_set(&err, -CAIRN_ENOTFOUND, 0, "cairn", "%.300s: there is no such file", word);
    else
        cairn_err_set(&err, -CAIRN_EUSAGE, 0, "cairn",
                      "'%.300s' is neither a command of Cairn nor a Python program", word);
    cairn_nearest_init(&nearest, word);
    for (size_t i = 0; i < cairn_command_count; i++)
        cairn_nearest_try(&nearest, cairn_commands[i].name);
    if (cairn_nearest_best(&nearest) != NULL)
        cairn_err_add(&err, "Did you mean `cairn %s`?", cairn_nearest_best(&nearest));
    cairn_target_hint(word, &err);
    if (is_file)
        cairn_err_add(&err, "`cairn run` takes a script, -m MODULE, -c CODE or a command.");
    else
        cairn_err_add(&err, "`cairn` lists the commands; `cairn run COMMAND` runs any command.");
    return cairn_say_err(&err);
}

/* `python`: the one that was named before the command, NULL when none was. */
static int call_command(const struct cairn_command *command, const char *python, int count,
                        char **words)
{
    struct cairn_call call = {.command = command};
    struct cairn_buf config;
    struct cairn_err err;
    int code = 0, status;

    cairn_settings_init(&call.settings);
    cairn_buf_init(&config, 0);
    if (command->bit & CONFIGURED)
        code = cairn_config_read(&call.settings, &config, &err);
    if (python != NULL)
        call.settings.python = python;
    if (code == 0)
        code = cairn_parse(&call, count, words, &err);
    if (code < 0)
        status = cairn_say_err(&err);
    else if (call.settings.help)
        status = show_help(command);
    else if (call.settings.version)
        status = show_version(command->bit == CAIRN_FOR_SNAKEVIZ ? command->name : "cairn");
    else
        status = command->run(&call);
    cairn_buf_release(&config);
    return status;
}

/* A standard descriptor that somebody closed would be given to the next file we open, and what is
 * written to stderr would end up in a recording. The program still finds it closed, and so do we:
 * what we put there cannot be used in the direction it is for. */
static void fill_closed_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)cairn_io_open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY, 0);
}

int cairn_main(int argc, char **argv)
{
    const struct cairn_command *command;

    fill_closed_descriptors();
    if (argc < 2)
        return cairn_cmd_home();
    command = cairn_command_find(argv[1]);
    if (command != NULL)
        return call_command(command, NULL, argc - 2, argv + 2);
    /* What `python -m cairn` puts in front, without knowing which words are commands. */
    if (argc > 3 && strcmp(argv[1], "--python") == 0 && argv[3][0] != '-') {
        command = cairn_command_find(argv[3]);
        if (command != NULL)
            return call_command(command, argv[2], argc - 4, argv + 4);
        if (!cairn_target_is_script(argv[3]))
            return refuse_word(argv[3]);
    }
    if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)
        return show_help(NULL);
    if (strcmp(argv[1], "--version") == 0)
        return show_version("cairn");
    if (argv[1][0] == '-' || cairn_target_is_script(argv[1]))
        return call_command(cairn_command_find("run"), NULL, argc - 1, argv + 1);
    return refuse_word(argv[1]);
}
