/* in_pprof.c: pprof's profile.proto, unpacked. Messages refer to each other by numbers that may be
 * any, and come in any order, so all of them are found before the first is used. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cursor.h"
#include "formats.h"
#include "jsonin.h"
#include "pieces.h"
#include "pprof_words.h"
#include "protobuf.h"

#define PROFILE_MAX_BYTES ((size_t)96 << 20)
#define ITEMS_MAX ((size_t)1 << 22)
#define TYPES_MAX 64
#define COMMENTS_MAX ((size_t)1 << 12)
#define COMMENTS_MAX_BYTES ((size_t)60 << 10)
#define US_NS 1000u

struct location { /* its frames, callers first, in `frames`; made when it is first met */
    struct cairn_span message;
    uint32_t first_frame, frame_count;
    bool made;
};

enum { SAMPLES, WALL, CPU, RUNQ, VALUE, ROLES }; /* what a column of values is used for */

struct pprof {
    struct cairn_guest *guest;
    struct cairn_err *err;
    CAIRN_VEC(struct cairn_span) strings;
    CAIRN_VEC(struct cairn_span) functions, mappings; /* messages */
    CAIRN_VEC(struct location) locations;
    CAIRN_VEC(uint32_t) frames, path;
    CAIRN_VEC(int64_t) comments;                           /* texts */
    struct cairn_map function_of, mapping_of, location_of; /* id to index */
    struct cairn_pprof_type types[TYPES_MAX], period_type;
    size_t type_count;
    int64_t default_type, period, duration_ns, start_real_ns;
    size_t column[ROLES];       /* SIZE_MAX: there is none */
    uint64_t unit_ns;           /* of the column VALUE */
    bool in_time;               /* its unit is one of time */
    uint64_t other_labels;      /* of samples, which have no place */
    uint64_t owed_samples;      /* to be spared by those that have more than one */
    struct cairn_pieces pieces; /* that follow each other in the file */
};

static int keep_message(struct pprof *p, const struct cairn_protobuf_field *field)
{
    uint64_t id, index;

    CAIRN_TRY(cairn_pprof_id(field->bytes, &id));
    if (field->number == 4) {
        index = p->locations.count;
        CAIRN_TRY(cairn_vec_reserve(&p->locations, index + 1, ITEMS_MAX));
        p->locations.items[p->locations.count++] = (struct location){.message = field->bytes};
        return cairn_map_put(&p->location_of, id, 0, index);
    }
    if (field->number == 5) {
        index = p->functions.count;
        CAIRN_TRY(cairn_vec_reserve(&p->functions, index + 1, ITEMS_MAX));
        p->functions.items[p->functions.count++] = field->bytes;
        return cairn_map_put(&p->function_of, id, 0, index);
    }
    index = p->mappings.count;
    CAIRN_TRY(cairn_vec_reserve(&p->mappings, index + 1, ITEMS_MAX));
    p->mappings.items[p->mappings.count++] = field->bytes;
    return cairn_map_put(&p->mapping_of, id, 0, index);
}

static int keep_comment(struct pprof *p, uint64_t text)
{
    if (p->comments.count == COMMENTS_MAX)
        return 0;
    CAIRN_TRY(cairn_vec_reserve(&p->comments, p->comments.count + 1, COMMENTS_MAX));
    p->comments.items[p->comments.count++] = (int64_t)text;
    return 0;
}

/* Several in one field. */
static int keep_comments(struct pprof *p, struct cairn_span packed)
{
    struct cairn_cursor cur;
    uint64_t text;
    int code;

    cairn_cursor_init(&cur, packed);
    while ((code = cairn_cursor_uvarint(&cur, &text)) == 0)
        CAIRN_TRY(keep_comment(p, text));
    return code == -CAIRN_EEND ? 0 : code;
}

static int keep_field(struct pprof *p, const struct cairn_protobuf_field *field)
{
    if (field->is_bytes) {
        switch (field->number) {
        case 1:
            if (p->type_count == TYPES_MAX)
                return -CAIRN_EDAMAGED;
            return cairn_pprof_type(field->bytes, &p->types[p->type_count++]);
        case 3:
        case 4:
        case 5:
            return keep_message(p, field);
        case 6:
            CAIRN_TRY(cairn_vec_reserve(&p->strings, p->strings.count + 1, ITEMS_MAX));
            p->strings.items[p->strings.count++] = field->bytes;
            return 0;
        case 11:
            return cairn_pprof_type(field->bytes, &p->period_type);
        case 13:
            return keep_comments(p, field->bytes);
        default:
            return 0;
        }
    }
    if (field->number == 9)
        p->start_real_ns = (int64_t)field->value;
    else if (field->number == 10)
        p->duration_ns = (int64_t)field->value;
    else if (field->number == 12)
        p->period = (int64_t)field->value;
    else if (field->number == 13)
        return keep_comment(p, field->value);
    else if (field->number == 14)
        p->default_type = (int64_t)field->value;
    else if (field->number >= 1 && field->number <= 6)
        return -CAIRN_EDAMAGED; /* these are messages and texts */
    return 0;
}

static struct cairn_span text_of(const struct pprof *p, int64_t index)
{
    if (index < 0 || (uint64_t)index >= p->strings.count)
        return (struct cairn_span){NULL, 0};
    return p->strings.items[index];
}

static bool is_type(const struct pprof *p, size_t i, const char *type, const char *unit)
{
    return cairn_span_is(text_of(p, p->types[i].type), type) &&
           cairn_span_is(text_of(p, p->types[i].unit), unit);
}

/* Which column is the time, and which tell more about it. */
static void choose_columns(struct pprof *p)
{
    struct cairn_span chosen = text_of(p, p->default_type);
    struct cairn_span period_unit = text_of(p, p->period_type.unit);

    for (size_t i = 0; i < ROLES; i++)
        p->column[i] = SIZE_MAX;
    for (size_t i = 0; i < p->type_count; i++) {
        struct cairn_span type = text_of(p, p->types[i].type);

        /* Go's profiles have the plural, those of Node.js the singular. */
        if (is_type(p, i, "samples", "count") || is_type(p, i, "sample", "count"))
            p->column[SAMPLES] = i;
        else if (is_type(p, i, "wall", "nanoseconds"))
            p->column[WALL] = i;
        else if (is_type(p, i, "cpu", "nanoseconds"))
            p->column[CPU] = i;
        else if (is_type(p, i, "runq", "nanoseconds"))
            p->column[RUNQ] = i;
        if (chosen.size_bytes > 0 && chosen.size_bytes == type.size_bytes &&
            memcmp(chosen.data, type.data, type.size_bytes) == 0)
            p->column[VALUE] = i;
    }
    if (p->column[VALUE] == SIZE_MAX)
        p->column[VALUE] = p->type_count - 1;
    if (p->column[WALL] != SIZE_MAX && p->column[CPU] != SIZE_MAX)
        p->column[VALUE] = p->column[WALL]; /* its parts are there, too */
    p->guest->with_states = p->column[CPU] != SIZE_MAX && (p->column[VALUE] == p->column[CPU] ||
                                                           p->column[VALUE] == p->column[WALL]);
    p->unit_ns = cairn_pprof_time_unit(text_of(p, p->types[p->column[VALUE]].unit));
    if (p->unit_ns == 0 && p->column[VALUE] == p->column[SAMPLES] && p->period > 0) {
        uint64_t unit_ns = cairn_pprof_time_unit(period_unit);

        if (unit_ns > 0 && (uint64_t)p->period < CAIRN_GUEST_TIME_MAX_NS / unit_ns)
            p->unit_ns = (uint64_t)p->period * unit_ns;
    }
    p->in_time = p->unit_ns > 0;
    if (!p->in_time)
        p->unit_ns = US_NS;
    p->guest->counted = p->column[SAMPLES] != SIZE_MAX;
}

static struct cairn_span message_of(const struct cairn_map *map, const struct cairn_span *items,
                                    uint64_t id)
{
    uint64_t index;

    if (id == 0 || !cairn_map_get(map, id, 0, &index))
        return (struct cairn_span){NULL, 0};
    return items[index];
}

static int read_function(struct pprof *p, uint64_t id, struct cairn_guest_frame *frame)
{
    struct cairn_cursor cur;
    struct cairn_protobuf_field field;
    int more;

    cairn_cursor_init(&cur, message_of(&p->function_of, p->functions.items, id));
    while ((more = cairn_protobuf_next(&cur, &field)) > 0) {
        if (field.number == 2)
            frame->name = text_of(p, (int64_t)field.value);
        else if (field.number == 3 && frame->name.size_bytes == 0)
            frame->name = text_of(p, (int64_t)field.value);
        else if (field.number == 4)
            frame->file = text_of(p, (int64_t)field.value);
        else if (field.number == 5 && field.value <= INT32_MAX)
            frame->first_line = (uint32_t)field.value;
    }
    return more;
}

static int keep_frame(struct pprof *p, const struct cairn_guest_frame *frame)
{
    CAIRN_TRY(cairn_vec_reserve(&p->frames, p->frames.count + 1, ITEMS_MAX));
    CAIRN_TRY(cairn_guest_frame(p->guest, frame, &p->frames.items[p->frames.count]));
    p->frames.count++;
    return 0;
}

static int keep_line(struct pprof *p, struct cairn_span message)
{
    struct cairn_guest_frame frame = {.line = 0};
    struct cairn_cursor cur;
    struct cairn_protobuf_field field;
    int more;

    cairn_cursor_init(&cur, message);
    while ((more = cairn_protobuf_next(&cur, &field)) > 0) {
        if (field.number == 1)
            CAIRN_TRY(read_function(p, field.value, &frame));
        else if (field.number == 2 && field.value <= INT32_MAX)
            frame.line = (uint32_t)field.value;
    }
    CAIRN_TRY(more);
    return keep_frame(p, &frame);
}

/* The file of a mapping; empty: it is not told. */
static int mapping_file(const struct pprof *p, struct cairn_span message,
                        struct cairn_span *ret_file)
{
    struct cairn_cursor cur;
    struct cairn_protobuf_field field;
    int more;

    *ret_file = (struct cairn_span){NULL, 0};
    cairn_cursor_init(&cur, message);
    while ((more = cairn_protobuf_next(&cur, &field)) > 0)
        if (field.number == 5)
            *ret_file = text_of(p, (int64_t)field.value);
    return more;
}

/* An address that nobody has put a name to. */
static int keep_address(struct pprof *p, uint64_t mapping, uint64_t address)
{
    struct cairn_span file;
    char name[32];

    CAIRN_TRY(mapping_file(p, message_of(&p->mapping_of, p->mappings.items, mapping), &file));
    snprintf(name, sizeof(name), "0x%" PRIx64, address);
    return keep_frame(p, &(struct cairn_guest_frame){.name = {(const uint8_t *)name, strlen(name)},
                                                     .file = file});
}

/* A location has a line for each function that was inlined there, the innermost first. */
static int make_location(struct pprof *p, struct location *location)
{
    uint64_t mapping = 0, address = 0;
    struct cairn_cursor cur;
    struct cairn_protobuf_field field;
    int more;

    location->first_frame = (uint32_t)p->frames.count;
    cairn_cursor_init(&cur, location->message);
    while ((more = cairn_protobuf_next(&cur, &field)) > 0) {
        if (field.number == 2)
            mapping = field.value;
        else if (field.number == 3)
            address = field.value;
        else if (field.number == 4 && field.is_bytes)
            CAIRN_TRY(keep_line(p, field.bytes));
    }
    CAIRN_TRY(more);
    if (p->frames.count == location->first_frame)
        CAIRN_TRY(keep_address(p, mapping, address));
    location->frame_count = (uint32_t)p->frames.count - location->first_frame;
    location->made = true;
    return 0;
}

/* The stack of the locations in `path`, which are leaf first. */
static int make_stack(struct pprof *p, uint32_t *ret_stack)
{
    *ret_stack = 0;
    for (size_t i = p->path.count; i-- > 0;) {
        struct location *location = &p->locations.items[p->path.items[i]];

        if (!location->made)
            CAIRN_TRY(make_location(p, location));
        for (uint32_t k = location->frame_count; k-- > 0;)
            CAIRN_TRY(cairn_guest_stack(p->guest, *ret_stack,
                                        p->frames.items[location->first_frame + k], ret_stack));
    }
    return 0;
}

struct sample {
    int64_t values[TYPES_MAX];
    size_t value_count;
    struct cairn_guest_thread thread;
    uint8_t state;
};

static int add_location(struct pprof *p, uint64_t id)
{
    uint64_t index;

    if (!cairn_map_get(&p->location_of, id, 0, &index))
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(cairn_vec_reserve(&p->path, p->path.count + 1, ITEMS_MAX));
    p->path.items[p->path.count++] = (uint32_t)index;
    return 0;
}

static int add_value(struct sample *sample, uint64_t value)
{
    if (sample->value_count == TYPES_MAX)
        return -CAIRN_EDAMAGED;
    sample->values[sample->value_count++] = (int64_t)value;
    return 0;
}

/* One number, or many that are packed. */
static int add_numbers(struct pprof *p, struct sample *sample,
                       const struct cairn_protobuf_field *field)
{
    struct cairn_cursor cur;
    uint64_t number;

    if (!field->is_bytes)
        return field->number == 1 ? add_location(p, field->value) : add_value(sample, field->value);
    cairn_cursor_init(&cur, field->bytes);
    while (cairn_cursor_left_bytes(&cur) > 0) {
        CAIRN_TRY(cairn_cursor_uvarint(&cur, &number));
        CAIRN_TRY(field->number == 1 ? add_location(p, number) : add_value(sample, number));
    }
    return 0;
}

static int add_label(struct pprof *p, struct sample *sample, struct cairn_span message)
{
    struct cairn_span key = {NULL, 0}, text = {NULL, 0};
    struct cairn_cursor cur;
    struct cairn_protobuf_field field;
    uint64_t number = 0;
    int more;

    cairn_cursor_init(&cur, message);
    while ((more = cairn_protobuf_next(&cur, &field)) > 0) {
        if (field.number == 1)
            key = text_of(p, (int64_t)field.value);
        else if (field.number == 2)
            text = text_of(p, (int64_t)field.value);
        else if (field.number == 3)
            number = field.value;
    }
    CAIRN_TRY(more);
    if (cairn_span_is(key, "thread"))
        sample->thread.name = text;
    else if (cairn_span_is(key, "process"))
        sample->thread.process = text;
    else if (cairn_span_is(key, "tid") || cairn_span_is(key, "thread_id"))
        sample->thread.tid = number;
    else if (cairn_span_is(key, "pid"))
        sample->thread.pid = number;
    else if (cairn_span_is(key, "state"))
        sample->state = cairn_pprof_state(text);
    else
        p->other_labels++;
    return 0;
}

static uint64_t value_of(const struct pprof *p, const struct sample *sample, int role)
{
    return p->column[role] == SIZE_MAX ? 0 : (uint64_t)sample->values[p->column[role]];
}

/* Time without a sample, where a tool has split what it counted, gets one that others can spare:
 * the sums stay those of the file. */
static int owe(struct pprof *p, struct cairn_guest_sample *given)
{
    p->owed_samples += given->ns > 0 && given->count == 0;
    return 0;
}

static int give(struct pprof *p, struct cairn_guest_sample *given)
{
    if (given->ns > 0 && given->count == 0)
        given->count = 1;
    while (given->count > 1 && p->owed_samples > 0) {
        given->count--;
        p->owed_samples--;
    }
    return cairn_guest_add(p->guest, given);
}

static int end_pieces(struct pprof *p,
                      int (*act)(struct pprof *p, struct cairn_guest_sample *given))
{
    cairn_pieces_even_out(&p->pieces);
    for (size_t i = 0; i < p->pieces.count; i++)
        CAIRN_TRY(act(p, &p->pieces.items[i]));
    p->pieces.count = 0;
    return 0;
}

static int take(struct pprof *p, const struct sample *sample,
                int (*act)(struct pprof *p, struct cairn_guest_sample *given))
{
    struct cairn_guest_sample given = {.state = sample->state, .count = 1};
    uint64_t value = value_of(p, sample, VALUE);
    struct cairn_pieces *pieces = &p->pieces;

    if (value > CAIRN_GUEST_TIME_MAX_NS / p->unit_ns)
        return -CAIRN_EDAMAGED;
    given.ns = value * p->unit_ns;
    if (p->guest->counted)
        given.count = value_of(p, sample, SAMPLES);
    if (p->guest->with_states) {
        given.cpu_ns = value_of(p, sample, CPU);
        given.runq_ns = value_of(p, sample, RUNQ);
    }
    CAIRN_TRY(make_stack(p, &given.stack));
    CAIRN_TRY(cairn_guest_thread(p->guest, &sample->thread, &given.thread));
    if (p->guest->with_states && p->guest->counted && cairn_pieces_join(pieces, &given))
        return 0;
    if (!cairn_pieces_have_room(pieces, &given))
        CAIRN_TRY(end_pieces(p, act));
    pieces->items[pieces->count++] = given;
    return 0;
}

static int read_sample(struct pprof *p, struct cairn_span message, struct sample *sample)
{
    struct cairn_cursor cur;
    struct cairn_protobuf_field field;
    int more;

    *sample = (struct sample){.state = CAIRN_SAMPLE_UNKNOWN};
    p->path.count = 0;
    cairn_cursor_init(&cur, message);
    while ((more = cairn_protobuf_next(&cur, &field)) > 0) {
        if (field.number == 1 || field.number == 2)
            CAIRN_TRY(add_numbers(p, sample, &field));
        else if (field.number == 3 && field.is_bytes)
            CAIRN_TRY(add_label(p, sample, field.bytes));
    }
    CAIRN_TRY(more);
    if (sample->value_count != p->type_count)
        return -CAIRN_EDAMAGED;
    for (size_t i = 0; i < sample->value_count; i++)
        if (sample->values[i] < 0)
            return cairn_err_set(p->err, -CAIRN_EDAMAGED, 0, "import",
                                 "it holds values below 0: a difference of two profiles");
    return 0;
}

static int each_sample(struct pprof *p, struct cairn_span bytes,
                       int (*act)(struct pprof *p, struct cairn_guest_sample *given))
{
    struct cairn_cursor cur;
    struct cairn_protobuf_field field;
    struct sample sample;
    int more;

    p->other_labels = 0;
    cairn_cursor_init(&cur, bytes);
    while ((more = cairn_protobuf_next(&cur, &field)) > 0) {
        if (field.number != 2)
            continue;
        CAIRN_TRY(read_sample(p, field.bytes, &sample));
        CAIRN_TRY(take(p, &sample, act));
    }
    CAIRN_TRY(more);
    return end_pieces(p, act);
}

static int read_profile(struct pprof *p, struct cairn_span bytes)
{
    struct cairn_cursor cur;
    struct cairn_protobuf_field field;
    int more;

    cairn_cursor_init(&cur, bytes);
    while ((more = cairn_protobuf_next(&cur, &field)) > 0)
        CAIRN_TRY(keep_field(p, &field));
    CAIRN_TRY(more);
    if (p->type_count == 0 || p->strings.count == 0 || p->strings.items[0].size_bytes > 0)
        return -CAIRN_EDAMAGED;
    choose_columns(p);
    if (p->guest->counted) /* how many are owed is known before the first can be spared */
        CAIRN_TRY(each_sample(p, bytes, owe));
    return each_sample(p, bytes, give);
}

/* A line each, as many as there is room for. */
static int put_comments(struct pprof *p)
{
    struct cairn_buf all;
    int code;

    cairn_buf_init(&all, COMMENTS_MAX_BYTES);
    for (size_t i = 0; i < p->comments.count; i++) {
        struct cairn_span comment = text_of(p, p->comments.items[i]);

        if (all.size_bytes + comment.size_bytes + 1 > COMMENTS_MAX_BYTES)
            break;
        cairn_buf_add(&all, comment.data, comment.size_bytes);
        cairn_buf_u8(&all, '\n');
    }
    code = all.code;
    if (code == 0)
        code = cairn_guest_fact(p->guest, "import.comments", "%s", cairn_buf_cstr(&all));
    cairn_buf_release(&all);
    return code;
}

static int put_facts(struct pprof *p)
{
    struct cairn_span type = text_of(p, p->types[p->column[VALUE]].type);
    struct cairn_span unit = text_of(p, p->types[p->column[VALUE]].unit);

    struct cairn_span binary = {NULL, 0};

    if (p->mappings.count > 0) /* the first is the program itself */
        CAIRN_TRY(mapping_file(p, p->mappings.items[0], &binary));
    if (binary.size_bytes > 0)
        CAIRN_TRY(cairn_guest_fact(p->guest, "import.binary", "%.*s",
                                   (int)(binary.size_bytes & 0xfff), (const char *)binary.data));
    if (p->comments.count > 0)
        CAIRN_TRY(put_comments(p));
    if (p->start_real_ns > 0)
        CAIRN_TRY(cairn_guest_fact(p->guest, "import.start_real_ns", "%" PRId64, p->start_real_ns));
    CAIRN_TRY(cairn_guest_fact(p->guest, "import.times", "none"));
    if (p->duration_ns > 0)
        CAIRN_TRY(cairn_guest_fact(p->guest, "run.wall_ns", "%" PRId64, p->duration_ns));
    if (p->other_labels > 0)
        CAIRN_TRY(cairn_guest_fact(p->guest, "import.lost", "%" PRIu64 " labels", p->other_labels));
    return cairn_guest_fact(p->guest, "import.values", "%.*s in %.*s%s",
                            (int)(type.size_bytes & 0xff), (const char *)type.data,
                            (int)(unit.size_bytes & 0xff), (const char *)unit.data,
                            p->in_time ? "" : ", each shown as 1 us");
}

int cairn_in_pprof(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct pprof p = {.guest = guest, .err = err};
    struct cairn_span bytes;
    int code = cairn_feed_rest(feed, PROFILE_MAX_BYTES, &bytes);

    cairn_map_init(&p.function_of, ITEMS_MAX);
    cairn_map_init(&p.mapping_of, ITEMS_MAX);
    cairn_map_init(&p.location_of, ITEMS_MAX);
    if (code == 0)
        code = read_profile(&p, bytes);
    if (code == -CAIRN_EDAMAGED && !feed->is_torn && err && !err->text[0])
        cairn_err_set(err, code, 0, "import", "What it holds is damaged, or was cut off.");
    if (code == 0)
        code = put_facts(&p);
    cairn_map_release(&p.function_of);
    cairn_map_release(&p.mapping_of);
    cairn_map_release(&p.location_of);
    cairn_vec_release(&p.strings);
    cairn_vec_release(&p.functions);
    cairn_vec_release(&p.mappings);
    cairn_vec_release(&p.locations);
    cairn_vec_release(&p.frames);
    cairn_vec_release(&p.path);
    cairn_vec_release(&p.comments);
    return code;
}
