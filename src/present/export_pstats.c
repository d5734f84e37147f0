/* What cProfile writes: functions with their direct callers, for pstats, snakeviz, gprof2dot. */
#include "exporters.h"
#include "prof_rows.h"

int cairn_export_pstats(const struct cairn_tally *tally, const struct cairn_export_options *options,
                        struct cairn_outlet *out)
{
    struct cairn_prof prof;
    int code = cairn_prof_init(&prof);

    /* It has neither lines nor threads, and holds samples beside times. */
    if (code == 0)
        code = cairn_prof_rows(tally, &prof);
    if (code == 0)
        code = cairn_prof_write(&prof, &out->buf);
    if (code == 0 && options->lost)
        cairn_prof_put_unsure(&prof, options->lost);
    cairn_prof_release(&prof);
    return code;
}
