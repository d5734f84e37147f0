#include "listing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "handle.h"

#define MOST_ITEMS ((size_t)1 << 28)
#define PROGRAM "__main__:" /* which file that was is not recorded */
#define NAME_BYTES 160      /* of a text in a message */
#define MOST_NAMED 2        /* functions in a message */

struct found { /* functions, while they are looked for */
    const struct cairn_function *functions;
    const struct cairn_counted_opcode *opcodes;
    size_t function_count, opcode_count;
    bool *counted; /* of each function: it has instructions */
    const char *name;
};

/* --- which function --- */

static bool is_text(struct cairn_span text, const char *str, size_t length)
{
    return text.size_bytes == length && memcmp(text.data, str, length) == 0;
}

/* "b.py" and "a/b.py" name "/x/a/b.py". */
static bool ends_path(struct cairn_span path, const char *end, size_t length)
{
    return length > 0 && path.size_bytes >= length &&
           memcmp(path.data + path.size_bytes - length, end, length) == 0 &&
           (path.size_bytes == length || end[0] == '/' ||
            path.data[path.size_bytes - length - 1] == '/');
}

static bool has_line(const struct found *found, uint32_t function, uint64_t line)
{
    if (found->functions[function].first_line == line)
        return true;
    for (size_t i = 0; i < found->opcode_count; i++)
        if (found->opcodes[i].function == function && found->opcodes[i].line == line)
            return true;
    return false;
}

/* Until 3.10 code has no qualified name: the last part of one has to do. */
static bool is_called(const struct cairn_function *function, const char *qualname)
{
    const char *last = function->plain_name ? strrchr(qualname, '.') : NULL;
    const char *name = last == NULL ? qualname : last + 1;

    return is_text(function->qualname, name, strlen(name));
}

static bool is_meant(const struct found *found, uint32_t index)
{
    const struct cairn_function *function = &found->functions[index];
    const char *name = found->name, *colon = strrchr(name, ':');
    uint64_t handle, line;
    char *end;

    if (is_text(function->name, name, strlen(name)) || is_called(function, name))
        return true;
    if (cairn_handle_read(CAIRN_HANDLE_FUNCTION, name, &handle))
        return cairn_handle_function(function) == handle;
    if (colon == NULL)
        return false;
    line = strtoull(colon + 1, &end, 10);
    if (end != colon + 1 && *end == '\0')
        return ends_path(function->file, name, (size_t)(colon - name)) &&
               has_line(found, index, line);
    return (is_text(function->module, name, (size_t)(colon - name)) ||
            strncmp(name, PROGRAM, strlen(PROGRAM)) == 0) &&
           is_called(function, colon + 1);
}

/* On one line, however a file of somebody else's calls it; the end of what is long. */
static void put_plain(struct cairn_span text, char ret_text[NAME_BYTES])
{
    size_t kept = text.size_bytes < NAME_BYTES ? text.size_bytes : NAME_BYTES - 1;
    const uint8_t *from = text.data + (text.size_bytes - kept);

    for (size_t i = 0; i < kept; i++)
        ret_text[i] = from[i] < ' ' || from[i] == 127 ? '?' : (char)from[i];
    ret_text[kept] = 0;
}

/* "NAME (FILE:LINE)" of some of the functions, behind the message. */
static void add_names(const struct found *found, const bool *which, struct cairn_err *err)
{
    char name[NAME_BYTES], file[NAME_BYTES];
    size_t named = 0;

    for (size_t i = 0; i < found->function_count; i++) {
        const struct cairn_function *function = &found->functions[i];

        if (!which[i])
            continue;
        if (++named > MOST_NAMED) {
            cairn_err_add(err, "and others");
            return;
        }
        put_plain(function->qualname, name);
        put_plain(function->file, file);
        cairn_err_add(err, "%s (%s:%" PRIu32 ")", name, file, function->first_line);
    }
}

static int refuse(const struct found *found, const bool *meant, size_t count, struct cairn_err *err)
{
    if (found->opcode_count == 0) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "dis",
                      "no instructions were counted in this recording");
        cairn_err_add(err, "`cairn count --opcodes --in %.100s SCRIPT.py` counts them.",
                      found->name);
    } else if (count == 0) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "dis",
                      "no instructions of \"%.200s\" were counted, but of", found->name);
        add_names(found, found->counted, err);
    } else {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "dis",
                      "\"%.200s\" means %zu functions; name one of them by FILE:LINE", found->name,
                      count);
        add_names(found, meant, err);
    }
    return -CAIRN_EUSAGE;
}

static int choose(const struct found *found, uint32_t *ret_function, struct cairn_err *err)
{
    bool *meant = cairn_calloc(found->function_count + 1, sizeof(*meant));
    size_t count = 0;
    int code = 0;

    if (meant == NULL)
        return -CAIRN_ENOMEM;
    for (uint32_t i = 0; i < found->function_count; i++) {
        meant[i] = found->counted[i] && is_meant(found, i);
        if (meant[i]) {
            *ret_function = i;
            count++;
        }
    }
    if (count != 1)
        code = refuse(found, meant, count, err);
    free(meant);
    return code;
}

static int find_function(const struct cairn_tally *tally, const char *name, uint32_t *ret_function,
                         struct cairn_err *err)
{
    struct found found = {.name = name};
    int code;

    found.function_count = cairn_model_functions(tally->model, &found.functions);
    found.opcode_count = cairn_model_counted_opcodes(tally->model, &found.opcodes);
    found.counted = cairn_calloc(found.function_count + 1, sizeof(*found.counted));
    if (found.counted == NULL)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < found.opcode_count; i++)
        found.counted[found.opcodes[i].function] = true;
    code = choose(&found, ret_function, err);
    free(found.counted);
    return code;
}

/* --- its instructions --- */

static struct cairn_span name_in(struct cairn_span text)
{
    const uint8_t *blank = text.size_bytes > 0 ? memchr(text.data, ' ', text.size_bytes) : NULL;

    return (struct cairn_span){text.data, blank ? (size_t)(blank - text.data) : text.size_bytes};
}

struct cairn_span cairn_listed_name(const struct cairn_counted_opcode *opcode)
{
    return name_in(opcode->text);
}

static int by_place(const void *left, const void *right)
{
    const struct cairn_counted_opcode *a = &((const struct cairn_listed *)left)->opcode;
    const struct cairn_counted_opcode *b = &((const struct cairn_listed *)right)->opcode;

    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return cairn_span_compare(cairn_listed_name(a), cairn_listed_name(b));
}

size_t cairn_listed_merge(struct cairn_listed *items, size_t count)
{
    size_t kept = 0;

    if (count == 0)
        return 0;
    qsort(items, count, sizeof(*items), by_place);
    for (size_t i = 1; i < count; i++) {
        struct cairn_counted_opcode *last = &items[kept].opcode;

        if (by_place(&items[kept], &items[i]) == 0) {
            last->hits += items[i].opcode.hits;
            last->let_go |= items[i].opcode.let_go;
            if (last->form.size_bytes == 0)
                last->form = items[i].opcode.form;
        } else {
            items[++kept] = items[i];
        }
    }
    return kept + 1;
}

static int take_items(struct cairn_listing *listing, const struct cairn_tally *tally)
{
    const struct cairn_counted_opcode *opcodes;
    size_t count = cairn_model_counted_opcodes(tally->model, &opcodes);

    for (size_t i = 0; i < count; i++) {
        if (opcodes[i].function != listing->function || !tally->kept_process[opcodes[i].thread])
            continue;
        CAIRN_TRY(cairn_vec_reserve(&listing->items, listing->items.count + 1, MOST_ITEMS));
        listing->items.items[listing->items.count++] = (struct cairn_listed){.opcode = opcodes[i]};
        listing->hits += opcodes[i].hits;
        listing->let_go |= opcodes[i].let_go;
    }
    listing->items.count = cairn_listed_merge(listing->items.items, listing->items.count);
    return 0;
}

/* --- what they were given --- */

static int by_instruction(const struct cairn_counted_given *a, const struct cairn_counted_given *b)
{
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return cairn_span_compare(name_in(a->text), name_in(b->text));
}

static int by_kind(const void *left, const void *right)
{
    int order = by_instruction(left, right);

    return order != 0 ? order
                      : cairn_span_compare(((const struct cairn_counted_given *)left)->kind,
                                           ((const struct cairn_counted_given *)right)->kind);
}

static int by_hits(const void *left, const void *right)
{
    const struct cairn_counted_given *a = left, *b = right;
    int order = by_instruction(a, b);

    if (order != 0)
        return order;
    if ((a->kind.size_bytes == 0) != (b->kind.size_bytes == 0))
        return a->kind.size_bytes == 0 ? 1 : -1;
    if (a->hits != b->hits)
        return a->hits > b->hits ? -1 : 1;
    return cairn_span_compare(a->kind, b->kind);
}

/* Those that are alike are of several processes, and become one. */
static void merge_given(struct cairn_listing *listing)
{
    struct cairn_counted_given *all = listing->given.items;
    size_t kept = 0;

    qsort(all, listing->given.count, sizeof(*all), by_kind);
    for (size_t i = 1; i < listing->given.count; i++) {
        if (by_kind(&all[kept], &all[i]) == 0)
            all[kept].hits += all[i].hits;
        else
            all[++kept] = all[i];
    }
    listing->given.count = kept + 1;
    qsort(all, listing->given.count, sizeof(*all), by_hits);
}

/* Both are by offset and name. */
static void hand_out(struct cairn_listing *listing)
{
    size_t at = 0;

    for (size_t i = 0; i < listing->items.count; i++) {
        struct cairn_listed *item = &listing->items.items[i];
        const struct cairn_counted_given instruction = {.offset = item->opcode.offset,
                                                        .text = item->opcode.text};

        while (at < listing->given.count &&
               by_instruction(&listing->given.items[at], &instruction) < 0)
            at++;
        item->given_from = at;
        for (; at < listing->given.count &&
               by_instruction(&listing->given.items[at], &instruction) == 0;
             at++) {
            item->given_count++;
            item->looked += listing->given.items[at].hits;
        }
    }
}

static int take_given(struct cairn_listing *listing, const struct cairn_tally *tally)
{
    const struct cairn_counted_given *given;
    size_t count = cairn_model_counted_given(tally->model, &given);

    for (size_t i = 0; i < count; i++) {
        if (given[i].function != listing->function || !tally->kept_process[given[i].thread])
            continue;
        CAIRN_TRY(cairn_vec_reserve(&listing->given, listing->given.count + 1, MOST_ITEMS));
        listing->given.items[listing->given.count++] = given[i];
    }
    if (listing->given.count == 0)
        return 0;
    merge_given(listing);
    hand_out(listing);
    return 0;
}

/* --- samples --- */

/* The last instruction that begins at the offset or before it: behind it lie its caches. */
static struct cairn_listed *item_at(struct cairn_listing *listing, int64_t offset)
{
    size_t low = 0, high = listing->items.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (listing->items.items[middle].opcode.offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NULL : &listing->items.items[low - 1];
}

static void take_samples(struct cairn_listing *listing, const struct cairn_tally *tally)
{
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;

    cairn_model_frames(tally->model, &frames);
    cairn_model_nodes(tally->model, &nodes);
    for (size_t i = 0; i < tally->cell_count; i++) {
        const struct cairn_cell *cell = &tally->cells[i];
        const struct cairn_frame *frame = &frames[nodes[cell->node].frame];
        struct cairn_listed *item;

        if (cell->node == 0 /* the empty stack */ || frame->function != listing->function)
            continue;
        listing->sampled.ticks += cell->weight.ticks;
        listing->sampled.value_ns += cell->weight.value_ns;
        item = item_at(listing, frame->offset);
        if (item == NULL)
            continue;
        item->sampled.ticks += cell->weight.ticks;
        item->sampled.value_ns += cell->weight.value_ns;
    }
}

int cairn_listing_make(const struct cairn_tally *tally, const char *name,
                       struct cairn_listing *ret_listing, struct cairn_err *err)
{
    int code;

    *ret_listing = (struct cairn_listing){.hits = 0};
    code = find_function(tally, name, &ret_listing->function, err);
    if (code == 0)
        code = take_items(ret_listing, tally);
    if (code == 0)
        code = take_given(ret_listing, tally);
    if (code == 0)
        take_samples(ret_listing, tally);
    else
        cairn_listing_release(ret_listing);
    return code == -CAIRN_ENOMEM ? cairn_err_set(err, code, 0, "dis", "cannot list the function")
                                 : code;
}

void cairn_listing_release(struct cairn_listing *listing)
{
    cairn_vec_release(&listing->items);
    cairn_vec_release(&listing->given);
}
