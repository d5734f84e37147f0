/* cmd_pstats.c: `cairn pstats [FILE …]`, the browser of `python -m pstats`. */
#include "pstats_shell.h"
#include "say.h"

int cairn_cmd_pstats(struct cairn_call *call)
{
    struct cairn_err err = {0};

    return cairn_pstats_shell(&call->words, &call->settings, &err) < 0 ? cairn_say_err(&err) : 0;
}
