/* in_xperf.c: what xperf of the Windows Performance Toolkit prints of samples: a table with commas
 * in between and nothing quoted; of each row a process, a module, a function, its stack as
 * "[Root]/module!function/…", and how much it weighs and counts. */
#include <inttypes.h>
#include <string.h>

#include "formats.h"
#include "linewords.h"

#define COLUMNS_MAX 256

enum { PROCESS, MODULE, FUNCTION, STACK, WEIGHT, COUNT, NEEDED };

static const char *const names[NEEDED] = {"Process Name", "Module", "Function",
                                          "Stack",        "Weight", "Count"};

struct xperf {
    struct cairn_guest *guest;
    size_t column[NEEDED];
    bool has_head;
    uint64_t idle; /* rows of the process that stands for doing nothing */
};

/* Takes the next field off a row; false: there is none. Blanks in front of it do not count. */
static bool take_field(struct cairn_span *row, struct cairn_span *ret_field)
{
    const uint8_t *comma;

    if (row->data == NULL)
        return false;
    comma = row->size_bytes ? memchr(row->data, ',', row->size_bytes) : NULL;
    *ret_field =
        (struct cairn_span){row->data, comma ? (size_t)(comma - row->data) : row->size_bytes};
    *row = comma ? (struct cairn_span){comma + 1, row->size_bytes - ret_field->size_bytes - 1}
                 : (struct cairn_span){NULL, 0};
    while (ret_field->size_bytes > 0 && ret_field->data[0] == ' ') {
        ret_field->data++;
        ret_field->size_bytes--;
    }
    return true;
}

/* Which column is which; false: one is missing. */
static bool read_head(struct cairn_span row, size_t *ret_column)
{
    struct cairn_span field;
    size_t found = 0;

    for (size_t i = 0; i < COLUMNS_MAX && take_field(&row, &field); i++)
        for (size_t k = 0; k < NEEDED; k++)
            if (field.size_bytes == strlen(names[k]) &&
                memcmp(field.data, names[k], field.size_bytes) == 0) {
                ret_column[k] = i;
                found |= (size_t)1 << k;
            }
    return found == ((size_t)1 << NEEDED) - 1;
}

int cairn_is_xperf(struct cairn_feed *feed)
{
    struct cairn_span line;
    size_t column[NEEDED];
    int code = cairn_feed_line(feed, &line);

    if (code < 0)
        return code == -CAIRN_EEND || code == -CAIRN_ELIMIT ? 0 : code;
    return read_head(line, column);
}

/* "module!function" */
static struct cairn_guest_frame frame_of(struct cairn_span symbol)
{
    const uint8_t *mark = symbol.size_bytes ? memchr(symbol.data, '!', symbol.size_bytes) : NULL;
    struct cairn_guest_frame frame = {.name = symbol};

    if (mark) {
        frame.file = (struct cairn_span){symbol.data, (size_t)(mark - symbol.data)};
        frame.name = (struct cairn_span){mark + 1, symbol.size_bytes - frame.file.size_bytes - 1};
    }
    return frame;
}

static bool is_frame(struct cairn_span symbol, const struct cairn_guest_frame *frame)
{
    struct cairn_guest_frame other = frame_of(symbol);

    return other.name.size_bytes == frame->name.size_bytes &&
           other.file.size_bytes == frame->file.size_bytes &&
           memcmp(other.name.data, frame->name.data, frame->name.size_bytes) == 0 &&
           (frame->file.size_bytes == 0 ||
            memcmp(other.file.data, frame->file.data, frame->file.size_bytes) == 0);
}

static int add(struct xperf *x, const struct cairn_guest_frame *frame, uint32_t *stack)
{
    uint32_t id;

    CAIRN_TRY(cairn_guest_frame(x->guest, frame, &id));
    return cairn_guest_stack(x->guest, *stack, id, stack);
}

/* From "[Root]" inwards; the function itself may be missing at the end. "?": it is all there is. */
static int make_stack(struct xperf *x, struct cairn_span text,
                      const struct cairn_guest_frame *function, uint32_t *ret_stack)
{
    struct cairn_span symbol = {NULL, 0};
    bool first = true;

    *ret_stack = 0;
    if (text.size_bytes == 1 && text.data[0] == '?')
        return add(x, function, ret_stack);
    while (text.data) {
        const uint8_t *slash = text.size_bytes ? memchr(text.data, '/', text.size_bytes) : NULL;
        struct cairn_guest_frame frame;

        symbol =
            (struct cairn_span){text.data, slash ? (size_t)(slash - text.data) : text.size_bytes};
        text = slash ? (struct cairn_span){slash + 1, text.size_bytes - symbol.size_bytes - 1}
                     : (struct cairn_span){NULL, 0};
        if (first && !(symbol.size_bytes == 6 && memcmp(symbol.data, "[Root]", 6) == 0))
            return -CAIRN_EDAMAGED;
        frame = frame_of(symbol);
        if (!first)
            CAIRN_TRY(add(x, &frame, ret_stack));
        first = false;
    }
    return is_frame(symbol, function) ? 0 : add(x, function, ret_stack);
}

static int read_row(struct xperf *x, struct cairn_span row)
{
    struct cairn_span field, fields[NEEDED] = {{NULL, 0}};
    struct cairn_guest_sample sample = {.state = CAIRN_SAMPLE_UNKNOWN, .count = 1};
    struct cairn_guest_thread thread = {.name = {NULL, 0}};
    struct cairn_guest_frame function;
    double weight, count;

    for (size_t i = 0; i < COLUMNS_MAX && take_field(&row, &field); i++)
        for (size_t k = 0; k < NEEDED; k++)
            if (x->column[k] == i)
                fields[k] = field;
    for (size_t k = 0; k < NEEDED; k++)
        if (fields[k].data == NULL)
            return -CAIRN_EDAMAGED;
    if (!cairn_words_decimal(fields[WEIGHT], &weight) ||
        !cairn_words_decimal(fields[COUNT], &count))
        return -CAIRN_EDAMAGED;
    if (fields[PROCESS].size_bytes == 4 && memcmp(fields[PROCESS].data, "Idle", 4) == 0) {
        x->idle++;
        return 0;
    }
    weight *= count * (double)(x->guest->interval_ns ? x->guest->interval_ns : 1000);
    if (!(weight <= (double)CAIRN_GUEST_TIME_MAX_NS))
        return -CAIRN_EDAMAGED;
    sample.ns = (uint64_t)weight;
    thread.process = fields[PROCESS];
    function = (struct cairn_guest_frame){.name = fields[FUNCTION], .file = fields[MODULE]};
    CAIRN_TRY(cairn_guest_thread(x->guest, &thread, &sample.thread));
    CAIRN_TRY(make_stack(x, fields[STACK], &function, &sample.stack));
    return cairn_guest_add(x->guest, &sample);
}

static int read_line(struct xperf *x, struct cairn_span line)
{
    if (x->has_head)
        return cairn_words_none(line) ? 0 : read_row(x, line);
    x->has_head = read_head(line, x->column);
    return x->has_head ? 0 : -CAIRN_EDAMAGED;
}

int cairn_in_xperf(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct xperf x = {.guest = guest};
    struct cairn_span line;
    uint64_t number = 0;
    int code;

    while ((code = cairn_feed_line(feed, &line)) == 0) {
        number++;
        code = read_line(&x, line);
        if (code == -CAIRN_EDAMAGED)
            return cairn_err_set(err, code, 0, "import", "line %" PRIu64 " is no row of its table",
                                 number);
        CAIRN_TRY(code);
    }
    if (code != -CAIRN_EEND)
        return code;
    if (!x.has_head)
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(cairn_guest_fact(guest, "import.times", "none"));
    if (x.idle > 0)
        CAIRN_TRY(cairn_guest_fact(guest, "import.lost", "%" PRIu64 " rows of Idle", x.idle));
    return cairn_guest_fact(guest, "import.values", "weight%s",
                            guest->interval_ns ? "" : ", each shown as 1 us");
}
