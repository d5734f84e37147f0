/* What threads waited for, and what lay over their states. */
#include <string.h>

#include "format.h"
#include "report_parts.h"
#include "text.h"

#define TIME_COLUMNS 9
#define SHARE_TOLD 0.01 /* of all time: less is not worth a line unless states are asked for */

static uint64_t wall_ns_of(const struct cairn_tally *tally)
{
    uint64_t sum_ns = 0;

    for (int state = 0; state < CAIRN_STATE_COUNT; state++)
        sum_ns += tally->state_ns[state];
    return sum_ns;
}

/* "gil_held 49 % | gc 3.1 %" */
static void put_overlays(struct cairn_report *report, double least_share)
{
    const struct cairn_tally *tally = report->tally;
    uint64_t wall_ns = wall_ns_of(tally);
    struct cairn_buf text;
    const char *gap = "";

    cairn_buf_init(&text, 1024);
    for (unsigned i = 0; i < CAIRN_OVERLAY_COUNT; i++) {
        if (tally->overlay_ns[i] == 0 ||
            (double)tally->overlay_ns[i] < least_share * (double)wall_ns)
            continue;
        if (i == 0 && report->facts.thread_count == 1 && least_share > 0)
            continue; /* who else should have it */
        cairn_buf_printf(&text, "%s%s ", gap, cairn_overlay_name(i));
        cairn_report_share(&text, tally->overlay_ns[i], wall_ns);
        gap = " | ";
    }
    if (text.size_bytes > 0) {
        cairn_page_label(&report->page, "overlay");
        cairn_page_prose(&report->page, CAIRN_PAGE_INDENT, cairn_buf_span(&text));
    }
    cairn_page_drop(&report->page, &text);
}

static void put_blocker(struct cairn_report *report, const struct cairn_blocker *blocker,
                        uint64_t waited_ns)
{
    struct cairn_page *page = &report->page;
    struct cairn_buf text;

    cairn_buf_init(&text, 64);
    cairn_text_time(&text, waited_ns);
    cairn_page_str(page, cairn_buf_cstr(&text));
    cairn_page_drop(page, &text);
    cairn_page_to(page, CAIRN_PAGE_INDENT + TIME_COLUMNS);
    if (blocker->text.size_bytes)
        cairn_page_fit(page, blocker->text, page->width - page->column, CAIRN_CUT_END);
    else
        cairn_page_str(page, "[unknown]");
    cairn_page_end(page);
}

static void put_blockers(struct cairn_report *report, size_t usual, double least_share)
{
    const struct cairn_blockers *blockers = &report->tally->blockers;
    size_t most = report->options->limit ? report->options->limit : usual, shown = 0, left = 0;
    double least_ns = least_share * (double)wall_ns_of(report->tally);

    /* A recording that does not say what was waited for. */
    if (blockers->count == 1 && blockers->items[0].text.size_bytes == 0)
        return;
    for (size_t i = 0; i < blockers->count; i++) {
        const struct cairn_blocker *blocker = &blockers->items[i];
        uint64_t idle_ns = report->options->with_idle ? 0 : blocker->idle_ns;
        uint64_t waited_ns = blocker->waited_ns - idle_ns;

        if (waited_ns == 0 || (double)waited_ns < least_ns)
            continue;
        if (shown == most) {
            left++;
            continue;
        }
        if (shown++ == 0)
            cairn_page_label(&report->page, "waits");
        else
            cairn_page_to(&report->page, CAIRN_PAGE_INDENT);
        put_blocker(report, blocker, waited_ns);
    }
    if (left > 0) {
        cairn_page_to(&report->page, CAIRN_PAGE_INDENT);
        cairn_page_printf(&report->page, "and %zu more: cairn report --by state --limit %zu", left,
                          shown + left);
        cairn_page_end(&report->page);
    }
}

void cairn_report_beside(struct cairn_report *report, size_t waits)
{
    bool asked = report->options->by == CAIRN_BY_STATE;
    double least_share = asked ? 0 : SHARE_TOLD;

    put_overlays(report, least_share);
    put_blockers(report, asked ? 10 * waits : waits, least_share);
}
