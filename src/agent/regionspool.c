#include "regionspool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "format.h"
#include "map.h"
#include "regions.h"
#include "spoolfile.h"
#include "ticks.h"
#include "vec.h"

#define MOST_ITEMS ((size_t)1 << 28)
#define VALUES_MAX_BYTES ((size_t)16 << 10) /* of a mark */
#define NAME_UNIT 16

enum column { COL_TRACK, COL_TIME, COL_DUR, COL_STACK, COL_STATE, COL_ON, COLS };

static const struct cairn_column_def columns[COLS] = {
    [COL_TRACK] = {"track", "id", CAIRN_ENC_RLE}, [COL_TIME] = {"time", "ns", CAIRN_ENC_DELTA},
    [COL_DUR] = {"dur", "ns", CAIRN_ENC_UVARINT}, [COL_STACK] = {"stack", "id", CAIRN_ENC_DELTA},
    [COL_STATE] = {"state", "", CAIRN_ENC_RLE},   [COL_ON] = {"on", "id", CAIRN_ENC_RLE},
};

struct put {
    struct cairn_writer *writer;
    struct cairn_err *err;
    struct cairn_regionspool_result *result;
    uint32_t boot_id, process, thread;
    double tick_ns;
    const struct cairn_spoolfile *file;
    int64_t last; /* when something began or ended last in the process, ticks */
    CAIRN_VEC(const struct cairn_region_page *) pages;
    struct cairn_map stacks; /* a name's number to its stack */
    bool marked;             /* a mark waits for its values: */
    uint64_t mark[COLS];     /* its row, */
    struct cairn_buf values; /* and what it has of them */
};

/* A name that lies in the file whole; NULL: there is none. */
static const struct cairn_region_name *name_at(const struct put *put, uint64_t number)
{
    const void *address =
        (const void *)(uintptr_t)(put->file->head->base + number * NAME_UNIT); /* there */
    const struct cairn_region_name *name = cairn_spoolfile_at(put->file, address, sizeof(*name));

    if (name == NULL || number == 0 || name->size_bytes > put->file->size_bytes ||
        cairn_spoolfile_at(put->file, address, sizeof(*name) + name->size_bytes) == NULL)
        return NULL;
    return name;
}

static struct cairn_span text_of(const struct cairn_region_name *name)
{
    return (struct cairn_span){(const uint8_t *)name->text, name->size_bytes};
}

static uint64_t name_of(const struct cairn_region_event *event)
{
    return event->what >> CAIRN_REGION_NAME_SHIFT & CAIRN_REGION_NAME_MASK;
}

static enum cairn_region_kind kind_of(const struct cairn_region_event *event)
{
    return (enum cairn_region_kind)(event->what >> CAIRN_REGION_KIND_SHIFT);
}

/* The end of a region, ticks; of one that is not over, and of a mark, its beginning. */
static int64_t end_of(const struct cairn_region_event *event)
{
    uint64_t length = event->what & CAIRN_REGION_OPEN;
    unsigned scale = (unsigned)(length >> CAIRN_REGION_SCALE_SHIFT);

    if (kind_of(event) != CAIRN_REGION_SPAN || length == CAIRN_REGION_OPEN)
        return event->start;
    length = (length & CAIRN_REGION_DURATION_MAX) << scale * CAIRN_REGION_SCALE_BITS;
    return (int64_t)((uint64_t)event->start + length);
}

/* Of a process that lives on an event may be begun: its name is not there yet. */
static size_t events_of(const struct cairn_region_page *page)
{
    size_t count = 0;

    while (count < CAIRN_REGIONS_A_PAGE && page->events[count].what != 0)
        count++;
    return count;
}

static int by_thread_and_number(const void *left, const void *right)
{
    const struct cairn_region_page *a = *(const struct cairn_region_page *const *)left;
    const struct cairn_region_page *b = *(const struct cairn_region_page *const *)right;

    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static int list_pages(struct put *put)
{
    const void *address = put->file->head->root;
    size_t left = put->file->size_bytes / sizeof(struct cairn_region_page);

    put->pages.count = 0;
    put->last = 0;
    for (; address != NULL && left > 0; left--) { /* pages that point at each other have no more */
        const struct cairn_region_page *page =
            cairn_spoolfile_at(put->file, address, sizeof(*page));
        size_t count = page == NULL ? 0 : events_of(page), at = put->pages.count;

        if (page == NULL)
            break;
        CAIRN_TRY(cairn_vec_reserve(&put->pages, at + 1, MOST_ITEMS));
        put->pages.items[put->pages.count++] = page;
        for (size_t i = 0; i < count; i++)
            if (kind_of(&page->events[i]) != CAIRN_REGION_VALUE &&
                end_of(&page->events[i]) > put->last)
                put->last = end_of(&page->events[i]);
        address = page->next;
    }
    if (put->pages.count > 0)
        qsort(put->pages.items, put->pages.count, sizeof(*put->pages.items), by_thread_and_number);
    return 0;
}

static int put_row(struct put *put, const uint64_t values[COLS])
{
    int code = cairn_writer_row(put->writer, CAIRN_ROW_MARK, columns, COLS, values);

    if (code != -CAIRN_ELIMIT)
        return code;
    CAIRN_TRY(cairn_writer_flush(put->writer, CAIRN_CHUNK_DATA, put->err));
    return cairn_writer_row(put->writer, CAIRN_ROW_MARK, columns, COLS, values);
}

/* 0, of which it is counted: the recording holds as much text as it may. */
static int put_string(struct put *put, struct cairn_span text, uint32_t *ret_string)
{
    int code = cairn_writer_string(put->writer, text, ret_string);

    if (code != -CAIRN_ELIMIT)
        return code;
    *ret_string = 0;
    put->result->lost++;
    return 0;
}

/* Of a text that is not there: 0, the empty stack. */
static int stack_of(struct put *put, uint64_t number, uint32_t *ret_stack)
{
    const struct cairn_region_name *name = name_at(put, number);
    struct cairn_location_def label = {.kind = CAIRN_LOC_LABEL};
    uint32_t location;
    uint64_t known;

    *ret_stack = 0;
    if (name == NULL)
        return 0;
    if (cairn_map_get(&put->stacks, number, 0, &known)) {
        *ret_stack = (uint32_t)known;
        return 0;
    }
    CAIRN_TRY(put_string(put, text_of(name), &label.ref));
    if (label.ref == 0)
        return 0;
    CAIRN_TRY(cairn_writer_location(put->writer, &label, &location));
    CAIRN_TRY(cairn_writer_stack(put->writer, 0, location, ret_stack));
    return cairn_map_put(&put->stacks, number, 0, *ret_stack);
}

/* The mark before has all its values. */
static int put_mark(struct put *put)
{
    uint32_t on = 0;

    if (!put->marked)
        return 0;
    put->marked = false;
    if (put->values.code == -CAIRN_ENOMEM)
        return -CAIRN_ENOMEM;
    if (put->values.size_bytes > 0)
        CAIRN_TRY(put_string(put, cairn_buf_span(&put->values), &on));
    put->mark[COL_ON] = on;
    put->result->marks++;
    return put_row(put, put->mark);
}

/* As short as Python has it, mostly. */
static void add_number(struct cairn_buf *buf, double number)
{
    char text[40];

    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    cairn_buf_add_str(buf, text);
}

static void add_value(struct put *put, const struct cairn_region_event *event)
{
    const struct cairn_region_name *name = name_at(put, name_of(event)), *text;
    double number;

    if (!put->marked || name == NULL)
        return;
    if (put->values.size_bytes > 0)
        cairn_buf_add_str(&put->values, " ");
    cairn_buf_add(&put->values, name->text, name->size_bytes);
    cairn_buf_add_str(&put->values, "=");
    switch (event->what & CAIRN_REGION_OPEN) {
    case CAIRN_REGION_INTEGER:
        cairn_buf_printf(&put->values, "%" PRId64, event->start);
        break;
    case CAIRN_REGION_NUMBER:
        memcpy(&number, &event->start, sizeof(number));
        add_number(&put->values, number);
        break;
    default:
        text = name_at(put, (uint64_t)event->start);
        if (text != NULL)
            cairn_buf_add(&put->values, text->text, text->size_bytes);
    }
}

static int put_event(struct put *put, const struct cairn_region_event *event)
{
    bool is_mark = kind_of(event) == CAIRN_REGION_MARK;
    bool open = !is_mark && (event->what & CAIRN_REGION_OPEN) == CAIRN_REGION_OPEN;
    int64_t end = open && put->last > event->start ? put->last : end_of(event);
    uint64_t begin_ns = cairn_ticks_mono_ns(event->start, put->tick_ns);
    uint64_t end_ns = cairn_ticks_mono_ns(end, put->tick_ns);
    uint32_t stack;

    CAIRN_TRY(put_mark(put));
    CAIRN_TRY(stack_of(put, name_of(event), &stack));
    if (stack == 0 || event->start <= 0) {
        put->result->lost++;
        return 0;
    }
    const uint64_t values[COLS] = {
        [COL_TRACK] = put->thread,
        [COL_TIME] = begin_ns,
        [COL_DUR] = end_ns > begin_ns ? end_ns - begin_ns : 0,
        [COL_STACK] = stack,
        [COL_STATE] = is_mark ? CAIRN_MARK_MOMENT
                      : open  ? CAIRN_MARK_OPEN
                              : CAIRN_MARK_OVER,
    };

    if (!is_mark) {
        put->result->regions++;
        return put_row(put, values);
    }
    put->marked = true;
    memcpy(put->mark, values, sizeof(values));
    cairn_buf_clear(&put->values);
    return 0;
}

static int put_page(struct put *put, const struct cairn_region_page *page)
{
    size_t count = events_of(page);

    for (size_t i = 0; i < count; i++) {
        if (kind_of(&page->events[i]) == CAIRN_REGION_VALUE)
            add_value(put, &page->events[i]);
        else
            CAIRN_TRY(put_event(put, &page->events[i]));
    }
    return 0;
}

static int put_thread(struct put *put, const struct cairn_region_page *page)
{
    const struct cairn_track_def track = {.kind = CAIRN_TRACK_THREAD,
                                          .parent = put->process,
                                          .number = page->tid,
                                          .start_ns = page->start_ns};

    CAIRN_TRY(put_mark(put));
    put->thread = 0;
    return cairn_writer_track(put->writer, &track, &put->thread);
}

static int put_file(void *context, const struct cairn_spoolfile *file)
{
    struct put *put = context;
    const struct cairn_track_def track = {.kind = CAIRN_TRACK_PROCESS,
                                          .number = file->head->pid,
                                          .start_ns = file->head->start_ns,
                                          .boot_id = put->boot_id};

    put->file = file;
    put->process = 0;
    put->result->processes++;
    put->result->lost += file->head->lost;
    cairn_map_clear(&put->stacks);
    CAIRN_TRY(list_pages(put));
    CAIRN_TRY(cairn_writer_track(put->writer, &track, &put->process));
    for (size_t i = 0; i < put->pages.count; i++) {
        const struct cairn_region_page *page = put->pages.items[i];

        if (i == 0 || page->tid != put->pages.items[i - 1]->tid ||
            page->start_ns != put->pages.items[i - 1]->start_ns)
            CAIRN_TRY(put_thread(put, page));
        CAIRN_TRY(put_page(put, page));
    }
    return put_mark(put);
}

int cairn_regionspool_put(const char *folder, struct cairn_writer *writer, uint32_t boot_id,
                          struct cairn_regionspool_result *ret_result, struct cairn_err *err)
{
    struct put put = {.writer = writer,
                      .err = err,
                      .result = ret_result,
                      .boot_id = boot_id,
                      .tick_ns = cairn_ticks_ns()};
    int code;

    *ret_result = (struct cairn_regionspool_result){0};
    cairn_map_init(&put.stacks, MOST_ITEMS);
    cairn_buf_init(&put.values, VALUES_MAX_BYTES);
    code = cairn_spoolfile_each(folder, &cairn_spool_regions, put_file, &put);
    cairn_map_release(&put.stacks);
    cairn_buf_release(&put.values);
    cairn_vec_release(&put.pages);
    return code;
}

int cairn_regionspool_counters(struct cairn_writer *writer,
                               const struct cairn_regionspool_result *result)
{
    if (result->processes == 0)
        return 0;
    CAIRN_TRY(cairn_writer_counter(writer, "regions_processes", result->processes));
    CAIRN_TRY(cairn_writer_counter(writer, "regions", result->regions));
    CAIRN_TRY(cairn_writer_counter(writer, "marks", result->marks));
    return cairn_writer_counter(writer, "regions_lost", result->lost);
}
