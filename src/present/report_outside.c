/* Who is outside Python: threads that never run any of it, a library's workers or a shell. */
#include "report_parts.h"

#include <string.h>

#define NAMES_TOLD 2

static bool same_name(const struct cairn_row *a, const struct cairn_row *b)
{
    return a->name.size_bytes == b->name.size_bytes &&
           !memcmp(a->name.data, b->name.data, a->name.size_bytes);
}

/* "pt_autograd_0, python3 ×15": those with most time first. `threads`: by time, those alone that
 * never run Python. */
static void add_names(struct cairn_buf *out, const struct cairn_rows *threads)
{
    size_t told[NAMES_TOLD], count = 0;

    for (size_t i = 0; i < threads->count; i++) {
        bool known = false;
        size_t alike = 0;

        for (size_t k = 0; k < count && !known; k++)
            known = same_name(&threads->items[told[k]], &threads->items[i]);
        if (known)
            continue;
        if (count == NAMES_TOLD) {
            cairn_buf_add_str(out, ", …");
            return;
        }
        told[count++] = i;
        for (size_t k = i; k < threads->count; k++)
            alike += same_name(&threads->items[k], &threads->items[i]);
        cairn_buf_add_str(out, count > 1 ? ", " : "");
        cairn_buf_add(out, threads->items[i].name.data, threads->items[i].name.size_bytes);
        if (alike > 1)
            cairn_buf_printf(out, " ×%zu", alike);
    }
}

static int find_names(const struct cairn_tally *tally, struct cairn_rows_options options,
                      struct cairn_buf *names, struct cairn_err *err)
{
    const struct cairn_thread *all;
    struct cairn_rows threads;
    size_t kept = 0;

    cairn_model_threads(tally->model, &all);
    options.by = CAIRN_BY_THREAD;
    options.sort = CAIRN_SORT_SELF;
    CAIRN_TRY(cairn_rows_make(tally, &options, &threads, err));
    for (size_t i = 0; i < threads.count; i++)
        if (!all[threads.items[i].thread].python && threads.items[i].self.value_ns > 0)
            threads.items[kept++] = threads.items[i];
    threads.count = kept;
    add_names(names, &threads);
    cairn_rows_release(&threads);
    return names->code;
}

int cairn_report_outside(struct cairn_report *report, const struct cairn_rows_options *options,
                         struct cairn_rows *rows, struct cairn_err *err)
{
    const struct cairn_function *functions;

    cairn_model_functions(report->tally->model, &functions);
    for (size_t i = 0; i < rows->count; i++) {
        struct cairn_row *row = &rows->items[i];

        if (row->function == UINT32_MAX ||
            !cairn_function_is_label(&functions[row->function], "[not python]"))
            continue;
        if (report->outside.size_bytes == 0)
            CAIRN_TRY(find_names(report->tally, *options, &report->outside, err));
        row->module = cairn_buf_span(&report->outside);
    }
    return 0;
}
