#include "progress_line.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "io.h"

#define SHOWN_AFTER_NS UINT64_C(1000000000)
#define DRAWN_EVERY_NS UINT64_C(200000000)
#define ERASE "\r\x1b[K"

/* A terminal that is gone is nobody's loss. */
static void put(const struct cairn_progress_line *line, const char *text)
{
    (void)cairn_io_write(line->fd, text, strlen(text));
}

static void draw(const struct cairn_progress_line *line, uint64_t now_ns, double share)
{
    double passed_s = (double)(now_ns - line->start_ns) / 1e9;
    double left_s = share > 0 ? passed_s * (1 - share) / share : passed_s;
    char text[96];

    /* Up to a whole second: "0 s" would be a promise. */
    snprintf(text, sizeof(text), ERASE "cairn: reading, %.0f %%, about %.0f s left", share * 100,
             left_s + 0.499);
    put(line, text);
}

static void tell(struct cairn_progress *progress, double share)
{
    struct cairn_progress_line *line = (struct cairn_progress_line *)progress;
    uint64_t now_ns;

    if (line->fd < 0 || line->is_done)
        return;
    if (share >= 1) {
        cairn_progress_line_end(line);
        return;
    }
    now_ns = line->now_ns();
    if (now_ns - line->start_ns < SHOWN_AFTER_NS || now_ns - line->drawn_ns < DRAWN_EVERY_NS)
        return;
    draw(line, now_ns, share);
    line->drawn_ns = now_ns;
    line->is_shown = true;
}

void cairn_progress_line_init(struct cairn_progress_line *line, int fd, uint64_t (*now_ns)(void))
{
    *line = (struct cairn_progress_line){.progress = {.tell = tell}, .fd = fd, .now_ns = now_ns};
    line->start_ns = now_ns();
}

void cairn_progress_line_begin(struct cairn_progress_line *line)
{
    cairn_progress_line_init(line, isatty(STDERR_FILENO) == 1 ? STDERR_FILENO : -1,
                             cairn_clock_mono_ns);
}

void cairn_progress_line_end(struct cairn_progress_line *line)
{
    if (line->is_shown)
        put(line, ERASE);
    line->is_shown = false;
    line->is_done = true;
}
