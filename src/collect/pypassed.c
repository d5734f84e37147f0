#include "pypassed.h"

#include "clock.h"
#include "err.h"
#include "format.h"
#include "pyfresh.h"
#include "pylook.h"

#define BATCH CAIRN_PYLOOK_BATCH
#define NAMES CAIRN_PYPASSED_NAMES
#define HEAD_BYTES CAIRN_PYPASSED_HEAD_BYTES
#define CODES_MAX ((size_t)1 << 22)
#define SHARED 3     /* references: of who makes a file name and gives it to the compiler, 2 */
#define FILE_SPANS 4 /* in which a file with functions of its own is found and compiled */
#define ALIKE_MAX 8  /* of one name, that are over in one copy */
#define IMMORTAL_MINOR 12
#define NAMES_MINOR 13
#define IMMORTAL 0x80000000u /* references, at least, of what is never freed */
#define OPTIMIZED 1u         /* of co_flags, which stands in front of the first line */
#define MODULE "<module>"

/* A version without qualified names has no address of one. */
static bool has_part(const struct cairn_pylayout *l, int part)
{
    return part != CAIRN_PYPART_QUALNAME || cairn_pylayout_has(l->code_qualname);
}

/* The names, as far as they have room, and the fixed part behind them; how many parts these are. */
static size_t plan(const struct cairn_pylayout *l, const struct cairn_pyarrival *from,
                   struct cairn_pycalled *called, uint8_t *again, struct cairn_remote_part *parts)
{
    uint64_t print[CAIRN_PYCODE_PARTS];
    size_t some = 0;

    cairn_pyarrival_fingerprint(l, from, print);
    for (int part = 0; part < NAMES; part++)
        if (has_part(l, part))
            parts[some++] =
                (struct cairn_remote_part){print[part], called->heads[part], HEAD_BYTES};
    parts[some++] = (struct cairn_remote_part){from->address, again, cairn_pyarrival_bytes(l)};
    return some;
}

/* So soon after the frames were copied that in each of `spans` nothing can have been freed and
 * other code have been made in its place. */
static bool is_soon(const struct cairn_pycodes *codes, const struct cairn_pycalled *called,
                    uint64_t spans)
{
    return called->read_ns <= codes->copied_ns + spans * CAIRN_PYCODE_LATE_NS;
}

static void take(const struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                 const uint8_t *fixed, const bool *ok, struct cairn_pycalled *called)
{
    const struct cairn_pylayout *l = codes->layout;
    struct cairn_pyarrival again;

    called->whole = true;
    for (int part = 0; part < NAMES; part++) {
        if (!has_part(l, part))
            continue;
        called->read[part] = *ok++ && cairn_pystr_in(l, codes->table, called->heads[part],
                                                     HEAD_BYTES, &called->names[part]);
        called->whole &= called->read[part];
    }
    memcpy(again.bytes, fixed, cairn_pyarrival_bytes(l));
    called->read_ns = cairn_clock_mono_ns();
    called->whole &= *ok && cairn_pyarrival_is_counted(l, &again) &&
                     cairn_pyarrival_is_same(l, from, &again) &&
                     cairn_pyarrival_is_counted(l, from) && is_soon(codes, called, 2);
}

/* Not known there, or no longer there, as far as the fixed part says it; or one that may go while
 * it is looked at. */
static bool may_pass(const struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                     const struct cairn_pylook *look)
{
    const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, from->address);

    return look->ok[0] &&
           (!codes->type || cairn_pyarrival_u64(from, codes->layout->object_type) == codes->type) &&
           !(entry && !entry->passed && !cairn_pycodes_is_busy(codes, codes->looked_ns) &&
             cairn_pyarrival_is_counted(codes->layout, from) &&
             cairn_pylook_has_print(codes->layout, from, entry));
}

int cairn_pypassed_look(struct cairn_pycodes *codes, const struct cairn_pyarrival *batch,
                        const struct cairn_pylook *looks, size_t count,
                        struct cairn_pycalled *ret_called)
{
    struct cairn_remote_part parts[BATCH * (NAMES + 1)];
    uint8_t again[BATCH][CAIRN_PYLAYOUT_CODE_BYTES];
    bool ok[BATCH * (NAMES + 1)] = {0};
    size_t some = 0, each = 0;

    for (size_t i = 0; i < count; i++) {
        ret_called[i].looked = may_pass(codes, &batch[i], &looks[i]);
        if (ret_called[i].looked)
            some += each = plan(codes->layout, &batch[i], &ret_called[i], again[i], parts + some);
    }
    if (!some)
        return 0;
    CAIRN_TRY(cairn_pystr_read_each(codes->remote, parts, some, ok));
    some = 0;
    for (size_t i = 0; i < count; i++)
        if (ret_called[i].looked) {
            take(codes, &batch[i], again[i], ok + some, &ret_called[i]);
            some += each;
        }
    return 0;
}

/* --- Names that are its own --- */

/* A module, a class or a text that is evaluated: no function. */
static bool is_body(const struct cairn_pycodes *codes, const struct cairn_pyarrival *from)
{
    const struct cairn_pylayout *l = codes->layout;
    uint32_t between = cairn_pylayout_has(l->code_bytes) ? 4 : codes->table->minor == 11 ? 24 : 20;

    return l->code_first_line >= between &&
           !(cairn_pyarrival_u32(from, l->code_first_line - between) & OPTIMIZED);
}

static bool is_text(struct cairn_span text, const char *other)
{
    return text.size_bytes == strlen(other) && memcmp(text.data, other, text.size_bytes) == 0;
}

static uint32_t references(const struct cairn_pylayout *l, const uint8_t *head)
{
    uint32_t count;

    memcpy(&count, head + l->object_type - 8, sizeof(count));
    return count;
}

/* Whether more hold the text that lies where one was than can have come to hold another since. */
static bool is_shared(const struct cairn_pycodes *codes, const struct cairn_pycalled *called,
                      int part)
{
    const uint8_t *head = called->heads[part];

    return is_soon(codes, called, FILE_SPANS) && cairn_pyarrival_counts(codes->layout, head) &&
           references(codes->layout, head) >= SHARED;
}

/* From 3.12 on most identifiers are never freed: one that code is named by has lain there all the
 * time. In place of a text that was, one may have come since. */
static bool is_for_ever(const struct cairn_pycodes *codes, const struct cairn_pycalled *called,
                        int part)
{
    const struct cairn_pylayout *l = codes->layout;

    return codes->table->minor >= IMMORTAL_MINOR && called->read[part] &&
           is_soon(codes, called, FILE_SPANS) && cairn_pyarrival_counts(l, called->heads[part]) &&
           references(l, called->heads[part]) >= IMMORTAL;
}

/* "<lambda>" and the like: such a name is there all the time, or goes with its code; of any other
 * name that was freed another may have taken the place. */
static bool is_compilers(const struct cairn_pycodes *codes, const struct cairn_pycalled *called)
{
    static const char *const names[] = {MODULE,       "<lambda>",  "<listcomp>",
                                        "<dictcomp>", "<setcomp>", "<genexpr>"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (is_text(called->names[CAIRN_PYPART_NAME], names[i]))
            return is_soon(codes, called, 2) || is_shared(codes, called, CAIRN_PYPART_NAME);
    return false;
}

/* No text that the program made up. */
static bool is_file(struct cairn_span file)
{
    return file.size_bytes && file.data[0] != '<';
}

/* No identifier, of which most is made. */
static bool is_path(struct cairn_span file)
{
    return file.size_bytes && (file.data[0] == '<' || memchr(file.data, '/', file.size_bytes));
}

/* The file, which all code of it has in common. A text that was made since is in fewer hands. */
static struct cairn_span file_of(const struct cairn_pycodes *codes,
                                 const struct cairn_pycalled *called)
{
    struct cairn_span file = called->names[CAIRN_PYPART_FILE];

    if (called->whole || (called->read[CAIRN_PYPART_FILE] &&
                          (is_for_ever(codes, called, CAIRN_PYPART_FILE)
                               ? is_path(file)
                               : (is_file(file) || is_soon(codes, called, 1)) &&
                                     is_shared(codes, called, CAIRN_PYPART_FILE))))
        return file;
    return (struct cairn_span){(const uint8_t *)"", 0};
}

/* Whether a name lies where its name was, held by somebody. */
static bool has_held_name(const struct cairn_pycodes *codes, const struct cairn_pycalled *called)
{
    const uint8_t *head = called->heads[CAIRN_PYPART_NAME];

    return called->read[CAIRN_PYPART_NAME] && cairn_pyarrival_counts(codes->layout, head) &&
           cairn_pystr_is_interned(codes->layout, codes->table, head);
}

static bool is_first(const struct cairn_pycodes *codes, const struct cairn_pyarrival *from)
{
    return is_body(codes, from) && cairn_pyarrival_u32(from, codes->layout->code_first_line) == 1;
}

/* A class holds its name when its body is gone: that goes with the whole file. From 3.11 on the
 * body of a module has a name of its own, which is freed with it: another may lie where that was.
 */
static bool is_class(const struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                     const struct cairn_pycalled *called)
{
    return is_body(codes, from) && !(codes->table->minor >= 11 && is_first(codes, from)) &&
           has_held_name(codes, called) &&
           (is_soon(codes, called, 2) || is_file(file_of(codes, called)));
}

/* Of a file there is nothing else, but functions, that begins at its first line and does not keep
 * its name; until 3.10 all modules share one, which is freed with the last of them. */
static bool is_nameless_module(const struct cairn_pycodes *codes,
                               const struct cairn_pyarrival *from,
                               const struct cairn_pycalled *called)
{
    return is_first(codes, from) && !has_held_name(codes, called) &&
           is_file(file_of(codes, called));
}

/* In full a name ends in the name. */
static bool has_full_name(const struct cairn_pycodes *codes, const struct cairn_pycalled *called)
{
    struct cairn_span name = called->names[CAIRN_PYPART_NAME],
                      full = called->names[CAIRN_PYPART_QUALNAME];
    size_t before = full.size_bytes - name.size_bytes;

    return called->read[CAIRN_PYPART_NAME] && is_for_ever(codes, called, CAIRN_PYPART_QUALNAME) &&
           full.size_bytes >= name.size_bytes && (!before || full.data[before - 1] == '.') &&
           memcmp(full.data + before, name.data, name.size_bytes) == 0;
}

/* Until 3.12 a .pyc file has names that are freed; later only code that is made by hand has. What
 * begins a text is named by nobody who keeps it. */
static bool has_lasting_name(const struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                             const struct cairn_pycalled *called)
{
    return codes->table->minor >= NAMES_MINOR && !is_first(codes, from) &&
           is_for_ever(codes, called, CAIRN_PYPART_NAME);
}

/* *ret_name: what the code is called; false: that is not known. What is no function and is called
 * as a module is one, whenever that was read. */
static bool find_name(const struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                      const struct cairn_pycalled *called, struct cairn_span *ret_name)
{
    bool read;

    if (!called->looked)
        return false;
    read = called->read[CAIRN_PYPART_NAME];
    *ret_name = called->names[CAIRN_PYPART_NAME];
    if (read && is_body(codes, from) && is_text(*ret_name, MODULE))
        return true;
    if (called->whole || has_lasting_name(codes, from, called) ||
        (read && is_compilers(codes, called)) || is_class(codes, from, called))
        return true;
    *ret_name = (struct cairn_span){(const uint8_t *)MODULE, strlen(MODULE)};
    return is_nameless_module(codes, from, called);
}

static int take_names(struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                      const struct cairn_pycalled *called, struct cairn_pycode_entry *made)
{
    struct cairn_pystr name = {0}, full = {0}, file = {0};

    made->named = find_name(codes, from, called, &name.text);
    if (!made->named)
        return 0;
    full.text = called->names[CAIRN_PYPART_QUALNAME];
    file.text = file_of(codes, called);
    if (has_part(codes->layout, CAIRN_PYPART_QUALNAME) &&
        (called->whole || has_full_name(codes, called)))
        CAIRN_TRY(cairn_pyarrival_intern(codes, &full, &made->code.qualname));
    CAIRN_TRY(cairn_pyarrival_intern(codes, &name, &made->code.name));
    return cairn_pyarrival_intern(codes, &file, &made->code.file);
}

/* --- Entries --- */

static int add_entry(struct cairn_pycodes *codes, struct cairn_pycode_entry **ret)
{
    struct cairn_pycode_entry *entry = cairn_arena_alloc(&codes->arena, sizeof(*entry));

    if (!entry)
        return -CAIRN_ENOMEM;
    CAIRN_TRY(cairn_vec_reserve(&codes->entries, codes->entries.count + 1, CODES_MAX));
    *entry = (struct cairn_pycode_entry){.code = {.number = (uint32_t)codes->entries.count}};
    codes->entries.items[codes->entries.count++] = *ret = entry;
    return 0;
}

static bool has_texts(const struct cairn_pycode *code, const struct cairn_pycode *other)
{
    return code->file.data == other->file.data && code->name.data == other->name.data &&
           code->qualname.data == other->qualname.data;
}

/* The entry of all code of that name and file that is gone, or where that stands for another one in
 * the same copy the next. *ret stays as it is: there are too many of them. */
static int find_named(struct cairn_pycodes *codes, const struct cairn_pycode_entry *made,
                      struct cairn_pycode_entry **ret)
{
    const struct cairn_pycode *code = &made->code;
    uint64_t texts = (uintptr_t)code->file.data ^ (uint64_t)(uintptr_t)code->name.data << 20 ^
                     (uint64_t)(uintptr_t)code->qualname.data << 40;

    for (uint64_t i = 0; i < ALIKE_MAX; i++) {
        uint64_t line = ((uint64_t)code->first_line + 1) | i << 32, found;
        struct cairn_pycode_entry *entry;

        if (!cairn_map_get(&codes->by_content, texts, line, &found)) {
            CAIRN_TRY(add_entry(codes, ret));
            return cairn_map_put(&codes->by_content, texts, line, codes->entries.count);
        }
        entry = codes->entries.items[found - 1];
        if (!has_texts(&entry->code, code))
            return 0;
        if (entry->code.address == code->address || entry->looked_ns < codes->copied_ns) {
            *ret = entry;
            return 0;
        }
    }
    return 0;
}

/* One of a few, each in turn. */
static int find_nameless(struct cairn_pycodes *codes, struct cairn_pycode_entry *made,
                         struct cairn_pycode_entry **ret)
{
    struct cairn_pycode_entry **place = &codes->passed[codes->passed_next];

    codes->passed_next = (codes->passed_next + 1) % CAIRN_PYCODE_PASSED;
    if (!*place)
        CAIRN_TRY(add_entry(codes, place));
    *ret = *place;
    made->code.name = made->code.qualname = made->code.file = (struct cairn_span){NULL, 0};
    made->named = false;
    return 0;
}

int cairn_pypassed_add(struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                       const struct cairn_pycalled *called, uint64_t now_ns)
{
    struct cairn_pycode_entry *entry = NULL, *known = cairn_pycodes_find(codes, from->address);
    struct cairn_pycode_entry made = {
        .code = {.address = from->address, .linetable_kind = CAIRN_LINES_NONE},
        .looked_ns = codes->looked_ns,
        .moved_ns = codes->looked_ns,
        .passed = true,
        .body = is_body(codes, from),
    };

    cairn_pyarrival_fingerprint(codes->layout, from, made.parts);
    cairn_pyarrival_extent(codes->layout, from, &made);
    made.code.first_line = (uint32_t)made.parts[CAIRN_PYPART_LINE];
    CAIRN_TRY(take_names(codes, from, called, &made));
    codes->nameless_late += !made.named && called->looked && !is_soon(codes, called, 2);
    if (made.named)
        CAIRN_TRY(find_named(codes, &made, &entry));
    if (!entry)
        CAIRN_TRY(find_nameless(codes, &made, &entry));
    if (known && (known != entry || !cairn_pylook_has_print(codes->layout, from, known))) {
        known->moved_ns = codes->looked_ns;
        codes->taken_over_ns = now_ns;
    }
    if (cairn_pycodes_find(codes, entry->code.address) == entry)
        cairn_map_remove(&codes->by_address, entry->code.address, 0);
    made.code.number = entry->code.number;
    made.code.user = entry->code.user;
    *entry = made;
    codes->came_ns = now_ns;
    codes->unsure++;
    return cairn_map_put(&codes->by_address, from->address, 0, entry->code.number);
}

static bool is_importlibs(const struct cairn_pycode_entry *entry, const char *name)
{
    return entry && entry->named && is_text(entry->code.file, "<frozen importlib._bootstrap>") &&
           is_text(entry->code.name, name);
}

/* A class is called from the text that it stands in: where it begins at the first line, so does who
 * calls it, but, until 3.9, for what begins with a decorator. */
static bool is_outermost(const struct cairn_pycode_entry *caller,
                         const struct cairn_pycode_entry *entry)
{
    return entry->code.first_line == 1 &&
           (!caller ||
            (caller->named && caller->code.first_line > 1 && !is_text(caller->code.name, MODULE)));
}

static bool is_module(const struct cairn_pycode_entry *caller,
                      const struct cairn_pycode_entry *entry)
{
    bool imports = is_importlibs(caller, "_call_with_frames_removed");

    if (!entry)
        return imports; /* what else it runs stays, but for what modules of C do at first */
    return entry->body &&
           (imports || is_importlibs(caller, "exec_module") || is_outermost(caller, entry));
}

int cairn_pypassed_called_by(struct cairn_pycodes *codes, const struct cairn_pycode_entry *caller,
                             const struct cairn_pycode_entry *entry, struct cairn_pycode **ret_code)
{
    struct cairn_pystr name = {.text = {(const uint8_t *)MODULE, strlen(MODULE)}};

    *ret_code = NULL;
    if (!is_module(caller, entry))
        return 0;
    if (!codes->imported) {
        CAIRN_TRY(add_entry(codes, &codes->imported));
        codes->imported->passed = codes->imported->named = true;
        codes->imported->code.first_line = 1;
        codes->imported->code.linetable_kind = CAIRN_LINES_NONE;
        CAIRN_TRY(cairn_pyarrival_intern(codes, &name, &codes->imported->code.name));
    }
    *ret_code = &codes->imported->code;
    return 0;
}
