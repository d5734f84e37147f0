/* Any bytes as a .prof file: it is read or refused, and what was read survives being written, read
 * back, handed from process to process, stripped and sorted. Any bytes as what a process hands
 * back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "prof.h"
#include "pstats.h"

/* As it was put, it is taken: the same bytes come of it again. */
static void hand_over(const struct cairn_prof *prof)
{
    struct cairn_prof again;
    struct cairn_buf out, same;

    cairn_buf_init(&out, (size_t)64 << 20);
    cairn_buf_init(&same, (size_t)64 << 20);
    if (cairn_prof_put_table(prof, &out) == 0 && cairn_prof_init(&again) == 0) {
        if (cairn_prof_take_table(&again, cairn_buf_span(&out)) < 0 ||
            cairn_prof_put_table(&again, &same) < 0 || same.size_bytes != out.size_bytes ||
            memcmp(same.data, out.data, out.size_bytes) != 0)
            abort();
        cairn_prof_release(&again);
    }
    cairn_buf_release(&out);
    cairn_buf_release(&same);
}

static void use(struct cairn_prof *prof)
{
    struct cairn_span keys[] = {{(const uint8_t *)"nfl", 3}};
    struct cairn_prof again;
    struct cairn_pstats stats;
    struct cairn_buf out;

    hand_over(prof);
    cairn_buf_init(&out, (size_t)64 << 20);
    if (cairn_prof_write(prof, &out) == 0 && cairn_prof_init(&again) == 0) {
        if (cairn_prof_read(&again, cairn_buf_span(&out), NULL) < 0 ||
            again.rows.count != prof->rows.count || again.callers.count != prof->callers.count)
            abort();
        cairn_prof_release(&again);
    }
    cairn_buf_release(&out);
    if (cairn_pstats_init(&stats, prof, "file") == 0 && cairn_pstats_strip(&stats) == 0 &&
        cairn_pstats_sort(&stats, keys, 1) == 0 && stats.order.count != stats.prof.rows.count)
        abort();
    cairn_pstats_release(&stats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct cairn_prof prof;

    if (cairn_prof_init(&prof) == 0 &&
        cairn_prof_read(&prof, (struct cairn_span){data, size_bytes}, NULL) == 0)
        use(&prof);
    cairn_prof_release(&prof);
    if (cairn_prof_init(&prof) == 0 &&
        cairn_prof_take_table(&prof, (struct cairn_span){data, size_bytes}) == 0)
        use(&prof);
    cairn_prof_release(&prof);
    return 0;
}
