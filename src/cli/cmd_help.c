/* cmd_help.c: `cairn help`, `cairn man`, `cairn completions`: text out of the tables. */
#include "command.h"
#include "help.h"
#include "nearest.h"
#include "say.h"

#define TEXT_MAX_BYTES (1 << 20)

/* The command a word names; NULL without a word. *ret_status is not 0 when it names none. */
static const struct cairn_command *named_command(const struct cairn_call *call, int *ret_status)
{
    const struct cairn_command *command;
    struct cairn_nearest nearest;
    struct cairn_err err;

    *ret_status = 0;
    if (call->words.count == 0)
        return NULL;
    command = cairn_command_find(call->words.items[0]);
    if (command != NULL)
        return command;
    cairn_nearest_init(&nearest, call->words.items[0]);
    for (size_t i = 0; i < cairn_command_count; i++)
        cairn_nearest_try(&nearest, cairn_commands[i].name);
    cairn_err_set(&err, -CAIRN_EUSAGE, 0, "help", "there is no command '%.100s'",
                  call->words.items[0]);
    if (cairn_nearest_best(&nearest) != NULL)
        cairn_err_add(&err, "Did you mean `cairn help %s`?", cairn_nearest_best(&nearest));
    cairn_err_add(&err, "`cairn help` lists the commands.");
    *ret_status = cairn_say_err(&err);
    return NULL;
}

int cairn_cmd_help(struct cairn_call *call)
{
    const struct cairn_command *command;
    struct cairn_buf out;
    int status;

    command = named_command(call, &status);
    if (status != 0)
        return status;
    cairn_buf_init(&out, TEXT_MAX_BYTES);
    if (command == NULL)
        cairn_help_overview(&out);
    else
        cairn_help_command(command, true, &out);
    status = cairn_say_out(&out);
    cairn_buf_release(&out);
    return status;
}

int cairn_cmd_man(struct cairn_call *call)
{
    const struct cairn_command *command;
    struct cairn_buf out;
    int status;

    command = named_command(call, &status);
    if (status != 0)
        return status;
    cairn_buf_init(&out, TEXT_MAX_BYTES);
    cairn_man_page(command, &out);
    status = cairn_say_out(&out);
    cairn_buf_release(&out);
    return status;
}

int cairn_cmd_completions(struct cairn_call *call)
{
    struct cairn_buf out;
    struct cairn_err err;
    int status;

    cairn_buf_init(&out, TEXT_MAX_BYTES);
    if (cairn_completions(call->words.items[0], &out) == -CAIRN_EUSAGE) {
        cairn_err_set(&err, -CAIRN_EUSAGE, 0, "completions", "there are none for '%.100s'",
                      call->words.items[0]);
        cairn_err_add(&err, "There are completions for bash, zsh and fish.");
        status = cairn_say_err(&err);
    } else {
        status = cairn_say_out(&out);
    }
    cairn_buf_release(&out);
    return status;
}
