/* A graph of calls for graphviz (dot.h). */
#include "dot.h"
#include "exporters.h"
#include "prof_rows.h"

int cairn_export_dot(const struct cairn_tally *tally, const struct cairn_export_options *options,
                     struct cairn_outlet *out)
{
    const struct cairn_dot_options chosen = {
        .node_least = options->node_least, .edge_least = options->edge_least, .depth = -1};
    struct cairn_prof prof;
    int code = cairn_prof_init(&prof);

    if (code == 0)
        code = cairn_prof_rows(tally, &prof);
    if (code == 0)
        code = cairn_dot_write(&prof, &chosen, out, NULL);
    if (code == 0 && options->lost)
        cairn_prof_put_unsure(&prof, options->lost);
    cairn_prof_release(&prof);
    return code;
}
