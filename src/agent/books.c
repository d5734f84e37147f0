#include "books.h"

#include <stdbool.h>
#include <stdio.h>

#include "err.h"

#define MOST_BOOKED_NS 1e17 /* three years: sums stay counts */

static bool is_booked(double ns)
{
    return ns >= 0 && ns < MOST_BOOKED_NS;
}

void cairn_books_add(struct cairn_books *books, const struct cairn_spool_meter *said)
{
    double own = said->cpu_ns - said->cost_ns;
    double slack = is_booked(said->slack_ns) ? said->slack_ns : 0;

    if (!(said->share > 0 && said->share <= 1) || !is_booked(said->cpu_ns) ||
        !is_booked(said->cost_ns) || !is_booked(said->setup_ns) || !is_booked(books->sums.cpu_ns))
        return;
    books->sums.share = said->share;
    books->sums.cpu_ns += said->cpu_ns;
    books->sums.cost_ns += said->cost_ns;
    books->sums.setup_ns += said->setup_ns;
    books->sums.let_go += said->let_go & UINT32_MAX;
    books->sums.untimed += said->untimed & UINT32_MAX;
    books->plain += said->plain == 1;
    books->sums.stopped += said->stopped == 1;
    books->over += said->cost_ns > said->share * (own > 0 ? own : 0) + slack;
}

int cairn_books_put(struct cairn_writer *writer, const struct cairn_books *calls,
                    const struct cairn_books *lines)
{
    const struct cairn_spool_meter *a = &calls->sums, *b = &lines->sums;
    double cpu_ns = a->cpu_ns > b->cpu_ns ? a->cpu_ns : b->cpu_ns; /* of the same processes */
    double setup_ns = a->setup_ns > b->setup_ns ? a->setup_ns : b->setup_ns;
    char text[32];
    int length = snprintf(text, sizeof(text), "%.6f", a->share + b->share);

    if (a->share + b->share <= 0)
        return 0;
    CAIRN_TRY(cairn_writer_env(writer, "counting.max_overhead",
                               (struct cairn_span){(const uint8_t *)text, (size_t)length}));
    CAIRN_TRY(cairn_writer_counter(writer, "overhead_cpu_ns", (uint64_t)cpu_ns));
    CAIRN_TRY(
        cairn_writer_counter(writer, "overhead_cost_ns", (uint64_t)(a->cost_ns + b->cost_ns)));
    CAIRN_TRY(cairn_writer_counter(writer, "overhead_setup_ns", (uint64_t)setup_ns));
    CAIRN_TRY(cairn_writer_counter(writer, "overhead_let_go", a->let_go + b->let_go));
    CAIRN_TRY(cairn_writer_counter(writer, "overhead_untimed", a->untimed));
    CAIRN_TRY(cairn_writer_counter(writer, "overhead_plain", calls->plain));
    CAIRN_TRY(cairn_writer_counter(writer, "overhead_stopped", a->stopped));
    return cairn_writer_counter(writer, "overhead_over", calls->over + lines->over);
}
