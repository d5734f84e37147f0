/* What cProfile writes: functions with their direct callers, for pstats, snakeviz, gprof2dot. */
#include "exporters.h"
#include "prof_rows.h"

/* Of what ncalls is a number where it is none of calls. */
static void put_counts(const struct cairn_tally *tally, const struct cairn_prof *prof,
                       struct cairn_buf *out)
{
    if (prof->sampled && tally->counted)
        cairn_buf_add_str(out, "calls: ncalls is how many samples met a function");
    else if (prof->sampled && tally->filter.task)
        cairn_buf_add_str(out, "calls: ncalls is in how many places of tasks a function was met");
    else if (prof->sampled && tally->pieces)
        cairn_buf_add_str(out, "calls: ncalls is how many pieces of the file that was read met a "
                               "function");
    cairn_prof_put_unsure(prof, out);
}

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
        put_counts(tally, &prof, options->lost);
    cairn_prof_release(&prof);
    return code;
}
