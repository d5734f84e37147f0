/* A profile as it is: samples by number, locations, mappings (pprof_text.h). */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "escape.h"
#include "pprof_labels.h"
#include "pprof_numbers.h"

#define NS_PER_S INT64_C(1000000000)
#define S_PER_MIN 60
#define S_PER_HOUR 3600
#define SHOWN 4 /* characters of a duration */

/* As Go has a moment: "2006-01-02 15:04:05.999999999 -0700 MST", without zeros at the end. */
static void add_time(int64_t time_ns, struct cairn_buf *out)
{
    time_t seconds = (time_t)(time_ns / NS_PER_S);
    char day[64], zone[64], part[16];
    struct tm parts;
    int size_bytes;

    if (localtime_r(&seconds, &parts) == NULL ||
        strftime(day, sizeof(day), "%Y-%m-%d %H:%M:%S", &parts) == 0 ||
        strftime(zone, sizeof(zone), "%z %Z", &parts) == 0)
        return;
    size_bytes = snprintf(part, sizeof(part), ".%09d", (int)(time_ns % NS_PER_S));
    while (size_bytes > 0 && (part[size_bytes - 1] == '0' || part[size_bytes - 1] == '.'))
        if (part[--size_bytes] == '.')
            break;
    cairn_buf_printf(out, "Time: %s%.*s %s\n", day, size_bytes, part, zone);
}

/* As Go has a time: "1h2m0.5s", "886.85ms"; of which no more is shown than its beginning. */
static void add_duration(int64_t ns, struct cairn_buf *out)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"s", NS_PER_S}, {"ms", 1000000}, {"\xc2\xb5s", 1000}, {"ns", 1}};
    int64_t seconds = ns / NS_PER_S;
    char text[96], part[32];
    size_t unit = 0, bytes = 0;
    int size_bytes;

    while (ns < units[unit].ns && unit < 3)
        unit++;
    /* Nine digits behind the point are enough for each of the units. */
    size_bytes =
        snprintf(part, sizeof(part), "%.9f",
                 (double)(unit == 0 ? ns % (S_PER_MIN * NS_PER_S) : ns) / (double)units[unit].ns);
    while (part[size_bytes - 1] == '0')
        size_bytes--;
    if (part[size_bytes - 1] == '.')
        size_bytes--;
    if (seconds >= S_PER_HOUR)
        snprintf(text, sizeof(text), "%" PRId64 "h%" PRId64 "m%.*ss", seconds / S_PER_HOUR,
                 seconds / S_PER_MIN % S_PER_MIN, size_bytes, part);
    else if (seconds >= S_PER_MIN)
        snprintf(text, sizeof(text), "%" PRId64 "m%.*ss", seconds / S_PER_MIN, size_bytes, part);
    else
        snprintf(text, sizeof(text), "%.*s%s", size_bytes, part, units[unit].name);
    for (size_t shown = 0; text[bytes] != '\0'; bytes++) {
        shown += (text[bytes] & 0xc0) != 0x80;
        if (shown > SHOWN)
            break;
    }
    cairn_buf_printf(out, "Duration: %.*s\n", (int)bytes, text);
}

static void add_head(struct cairn_pprof_report *report)
{
    const struct cairn_pprof *pprof = report->pprof;
    struct cairn_buf *out = &report->out->buf;

    cairn_pprof_add_comments(report, false, "Comment: ", out);
    cairn_buf_add_str(out, "Period: 0\n");
    if (pprof->time_ns != 0)
        add_time(pprof->time_ns, out);
    if (pprof->duration_ns != 0)
        add_duration(pprof->duration_ns, out);
    cairn_buf_add_str(out, "Samples:\n");
    for (size_t i = 0; i < pprof->kind_count; i++) {
        cairn_buf_add_str(out, i > 0 ? " " : "");
        cairn_escape_terminal(out, cairn_span_of(pprof->kinds[i].type));
        cairn_buf_u8(out, '/');
        cairn_escape_terminal(out, cairn_span_of(pprof->kinds[i].unit));
        if (i == pprof->kind_usual)
            cairn_buf_add_str(out, "[dflt]");
    }
    cairn_buf_u8(out, '\n');
}

static void add_labels(struct cairn_pprof_report *report, const struct cairn_pprof_showing *showing,
                       const struct cairn_pprof_labels *labels)
{
    struct cairn_pprof_label all[CAIRN_PPROF_LABELS];
    size_t texts, count = cairn_pprof_labels_of(report->pprof, showing, labels, all, &texts);
    struct cairn_buf *out = &report->out->buf;

    for (size_t i = 0; i < count; i++) {
        if (i == 0 || i == texts)
            cairn_buf_printf(out, "%16s", "");
        cairn_buf_printf(out, "%s:[", all[i].key);
        if (i < texts)
            cairn_escape_terminal(out, all[i].text);
        else
            cairn_buf_printf(out, "%" PRIu64, all[i].number);
        cairn_buf_add_str(out, i + 1 == texts || i + 1 == count ? "]\n" : "] ");
    }
}

static void add_location(struct cairn_pprof_report *report, const struct cairn_pprof_frame *frame,
                         size_t number)
{
    const struct cairn_intern *texts = &report->pprof->texts;
    struct cairn_buf *out = &report->out->buf;

    cairn_buf_printf(out, "%6zu: 0x0 M=1 ", number);
    cairn_escape_terminal(out, cairn_intern_get(texts, frame->name));
    cairn_buf_u8(out, ' ');
    cairn_escape_terminal(out, cairn_intern_get(texts, frame->file));
    cairn_buf_printf(out, ":%u:0 s=%u", frame->line, frame->first_line);
    /* It has no other name, in the symbol table of a program. */
    cairn_buf_add_str(out, frame->name != 0 ? "()\n" : "\n");
}

static int put_all(struct cairn_pprof_report *report, const struct cairn_pprof_numbers *numbers)
{
    const struct cairn_pprof *pprof = report->pprof;
    struct cairn_buf *out = &report->out->buf;
    struct cairn_pprof_showing showing;

    CAIRN_TRY(cairn_pprof_showing_make(report, &showing));
    add_head(report);
    for (size_t i = 0; i < pprof->samples.count; i++) {
        const struct cairn_pprof_sample *sample = &pprof->samples.items[i];

        if (!cairn_pprof_is_sample(sample))
            continue;
        for (size_t k = 0; k < pprof->kind_count; k++)
            cairn_buf_printf(out, " %10" PRId64, sample->values[k]);
        cairn_buf_add_str(out, ": ");
        for (uint32_t k = 0; k < sample->depth; k++)
            cairn_buf_printf(out, "%u ",
                             numbers->location_of[pprof->stacks.items[sample->first + k]]);
        cairn_buf_u8(out, '\n');
        add_labels(report, &showing, &sample->labels);
        CAIRN_TRY(cairn_outlet_drain(report->out));
    }
    cairn_buf_add_str(out, "Locations\n");
    for (size_t i = 0; i < numbers->locations.count; i++) {
        add_location(report, &pprof->frames.items[numbers->locations.items[i]], i + 1);
        CAIRN_TRY(cairn_outlet_drain(report->out));
    }
    cairn_buf_add_str(out, "Mappings\n1: 0x0/0x0/0x0 ");
    cairn_escape_terminal(out, cairn_intern_get(&pprof->texts, pprof->binary));
    cairn_buf_add_str(out, "  \n");
    return 0;
}

int cairn_pprof_raw(struct cairn_pprof_report *report)
{
    struct cairn_pprof_numbers numbers;
    int code = cairn_pprof_numbers_make(report->pprof, &numbers);

    if (code == 0)
        code = put_all(report, &numbers);
    cairn_pprof_numbers_release(&numbers);
    return code;
}
