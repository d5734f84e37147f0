#include "counting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "announce.h"
#include "callspool.h"
#include "owner.h"
#include "package.h"
#include "say.h"
#include "spoolfile.h"
#include "writer.h"

#define PATH_MAX_BYTES 4096
#define LIST_MAX_BYTES (1 << 20)
#define WRITER_ID 2 /* beside the collector's */
#define REFUSAL_WRITER_ID 3
#define REFUSAL_MAX_BYTES 512
#define MET_MAX (1 << 20)
#define SHOWN_MAX 8                      /* of the processes that are not counted */
#define FULL_BYTES ((uint64_t)512 << 20) /* of a timeline: 33 million calls of a process */
#define RING_BYTES ((uint64_t)64 << 20)

/* Best effort: of more than that nobody says that they were not counted. */
static void note_met(void *ctx, pid_t pid, uint64_t start_ns)
{
    struct cairn_counting *counting = ctx;
    size_t count = counting->met.count;

    if (cairn_map_get(&counting->met_since, (uint64_t)pid, start_ns, &(uint64_t){0}) ||
        cairn_vec_reserve(&counting->met, count + 1, MET_MAX) < 0 ||
        cairn_map_put(&counting->met_since, (uint64_t)pid, start_ns, count) < 0)
        return;
    counting->met.items[counting->met.count++] = pid;
}

/* Who was met became another program, so what a forked child counted was counted before that. */
static void note_counted(void *ctx, const struct cairn_spool_head *head)
{
    struct cairn_counting *counting = ctx;
    uint64_t at;

    if (head->forked)
        return;
    if (cairn_map_get(&counting->met_since, head->pid, head->start_ns, &at))
        counting->met.items[at] = 0;
    for (size_t i = 0; head->start_ns == 0 && i < counting->met.count; i++)
        if (counting->met.items[i] == (pid_t)head->pid) /* it sees no /proc: who else would it be */
            counting->met.items[i] = 0;
}

/* Pythons that began without what counts, in the order in which they were met; false: none did. */
static bool find_uncounted(struct cairn_counting *counting, char ret_text[REFUSAL_MAX_BYTES])
{
    char pids[REFUSAL_MAX_BYTES / 4] = "";
    size_t count = 0, length = 0;

    cairn_spoolfile_heads(cairn_buf_cstr(&counting->spool), note_counted, counting);
    for (size_t i = 0; i < counting->met.count; i++)
        if (counting->met.items[i] != 0 && count++ < SHOWN_MAX)
            length += (size_t)snprintf(pids + length, sizeof(pids) - length, "%s%d",
                                       length > 0 ? ", " : "", (int)counting->met.items[i]);
    if (count > 0)
        (void)snprintf(ret_text, REFUSAL_MAX_BYTES,
                       "%zu process%s that began a Python (%s%s): nothing that counts was there; "
                       "-E, -I, -S and an environment that C gives it leave it out, or it or the "
                       "program was over before",
                       count, count == 1 ? "" : "es", pids, count > SHOWN_MAX ? ", …" : "");
    return count > 0;
}

/* ".cpython-313t-…": what a free-threaded build has at the end of its modules' names. */
static bool is_free_threaded(const char *suffix)
{
    size_t name = strcspn(suffix, "-");

    return suffix[name] == '-' && suffix[name + 1 + strspn(suffix + name + 1, "0123456789")] == 't';
}

/* Why something is not counted that was to be; false: nothing is known to be missing. */
static bool find_refusal(struct cairn_counting *counting,
                         const struct cairn_callspool_result *result,
                         char ret_text[REFUSAL_MAX_BYTES])
{
    bool any = result->processes > 0 || result->lines.processes > 0;
    char suffix[CAIRN_SPOOL_SUFFIX_BYTES];

    bool without = cairn_spoolfile_without(cairn_buf_cstr(&counting->spool), suffix);

    if (without && is_free_threaded(suffix))
        (void)snprintf(ret_text, REFUSAL_MAX_BYTES,
                       "%s: its Python is a free-threaded build (_exact%s), which is not supported "
                       "yet; CPython 3.8 to 3.15 are counted",
                       any ? "a process" : "the program", suffix);
    else if (without)
        (void)snprintf(ret_text, REFUSAL_MAX_BYTES,
                       "%s: there is no module _exact%s for its Python; CPython 3.8 to 3.15 are "
                       "counted, and `pip install .` makes one, in Cairn's sources, by such a "
                       "Python",
                       any ? "a process" : "the program", suffix);
    else if (!any && counting->wants)
        (void)snprintf(ret_text, REFUSAL_MAX_BYTES,
                       "the program: no Python began with what counts; -E, -I, -S and a PYTHONPATH "
                       "set on the way leave it out");
    else
        return counting->wants && find_uncounted(counting, ret_text);
    return true;
}

static int write_refusal(const char *text, struct cairn_sink *sink, struct cairn_err *err)
{
    const struct cairn_writer_options options = {
        .id = REFUSAL_WRITER_ID, .role = "agent", .pid = (uint64_t)getpid()};
    struct cairn_writer *writer = NULL;
    int code = cairn_writer_open(sink, &options, &writer);

    if (code == 0)
        code = cairn_writer_env(writer, "counting.refused",
                                (struct cairn_span){(const uint8_t *)text, strlen(text)});
    if (code == 0)
        code = cairn_writer_flush(writer, CAIRN_CHUNK_DATA, err);
    else
        cairn_err_set(err, code, 0, "exact", "why nothing is counted: %s",
                      cairn_err_sentence(code));
    cairn_writer_free(writer);
    return code;
}

static int add(void *ctx, struct cairn_sink *sink, struct cairn_err *err)
{
    struct cairn_counting *counting = ctx;
    struct cairn_callspool_result result = {0};
    char refusal[REFUSAL_MAX_BYTES];
    bool refused;

    if (cairn_spoolfile_any(cairn_buf_cstr(&counting->spool)))
        CAIRN_TRY(
            cairn_callspool_write(cairn_buf_cstr(&counting->spool), sink, WRITER_ID, &result, err));
    refused = find_refusal(counting, &result, refusal);
    if (refused)
        CAIRN_TRY(write_refusal(refusal, sink, err));
    counting->calls_missing = result.processes > 0 && result.events == 0 && result.lost == 0;
    counting->lines_missing = result.lines.processes > 0 && result.lines.events == 0 &&
                              result.lines.instructions == 0 && result.lines.lost == 0;
    /* Where counting may have ended before the program, nobody knows what ran later. */
    if (result.processes > 0 && result.displaced == 0 && counting->settings->max_overhead_ppm == 0)
        counting->calls_unmet = ~cairn_spoolfile_met(cairn_buf_cstr(&counting->spool), true);
    if (result.lines.processes > 0 && result.lines.displaced == 0)
        counting->lines_unmet = ~cairn_spoolfile_met(cairn_buf_cstr(&counting->spool), false);
    return refused || result.processes > 0 || result.lines.processes > 0 ||
           result.regions.processes > 0;
}

static int make_folder(struct cairn_counting *counting, struct cairn_err *err)
{
    const char *place = getenv("TMPDIR");
    struct cairn_owner_saved saved;
    char folder[PATH_MAX_BYTES];
    int sys = 0;

    if (place == NULL || place[0] != '/')
        place = "/tmp";
    if (snprintf(folder, sizeof(folder), "%s/cairn-XXXXXX", place) >= (int)sizeof(folder))
        return cairn_err_set(err, -CAIRN_ELIMIT, 0, "exact", "%.300s is too long a name", place);
    CAIRN_TRY(cairn_owner_enter(counting->owner, &saved));
    if (mkdtemp(folder) == NULL)
        sys = errno;
    cairn_owner_leave(&saved);
    if (sys == 0) {
        cairn_buf_add_str(&counting->spool, folder);
        return counting->spool.code;
    }
    cairn_err_set(err, -CAIRN_EIO, sys, "exact", "no folder for the counts can be made in %.300s",
                  place);
    cairn_err_add(err, "Name a place that can be written with TMPDIR=/PATH.");
    return -CAIRN_EIO;
}

/* The folder with our sitecustomize comes first; what there was stays behind it. In place of an
 * empty value it stands there once more: behind a colon nothing would mean the working folder. */
static int tell(struct cairn_counting *counting, struct cairn_err *err)
{
    const char *before = getenv("PYTHONPATH");
    struct cairn_buf folder, path;
    int code;

    cairn_buf_init(&folder, PATH_MAX_BYTES);
    cairn_buf_init(&path, LIST_MAX_BYTES);
    code = cairn_package_find("_site", &folder, err);
    if (code == 0)
        cairn_buf_add_str(&path, cairn_buf_cstr(&folder));
    if (code == 0 && before != NULL)
        cairn_buf_printf(&path, ":%s", before[0] == '\0' ? cairn_buf_cstr(&folder) : before);
    if (code == 0 && (path.code < 0 || setenv("PYTHONPATH", cairn_buf_cstr(&path), 1) < 0 ||
                      setenv("CAIRN_SPOOL", cairn_buf_cstr(&counting->spool), 1) < 0))
        code = cairn_err_set(err, -CAIRN_ENOMEM, 0, "exact", "the environment of the program");
    cairn_buf_release(&path);
    cairn_buf_release(&folder);
    return code;
}

static uint64_t timeline_bytes(const struct cairn_settings *settings)
{
    if (settings->timeline_bytes != 0)
        return settings->timeline_bytes;
    return settings->timeline == CAIRN_TIMELINE_RING ? RING_BYTES : FULL_BYTES;
}

/* What is to be counted, a line each; the program's side of it is _site/_cairn_counting.py. */
static int write_wanted(struct cairn_counting *counting, const struct cairn_settings *settings,
                        struct cairn_err *err)
{
    struct cairn_owner_saved saved;
    char path[PATH_MAX_BYTES];
    FILE *file;
    bool written = false;

    (void)snprintf(path, sizeof(path), "%s/" CAIRN_SPOOL_WANTED, cairn_buf_cstr(&counting->spool));
    CAIRN_TRY(cairn_owner_enter(counting->owner, &saved));
    file = fopen(path, "wxe");
    cairn_owner_leave(&saved);
    if (file != NULL) {
        if (settings->exact)
            fputs("calls\n", file);
        if (settings->counted.wanted)
            fputs("lines\n", file);
        if (settings->hybrid)
            fputs("hybrid\n", file);
        if (settings->opcodes)
            fputs("opcodes\n", file);
        if (settings->text_hook)
            fputs("text\n", file);
        if (settings->timeline != CAIRN_CHOICE_NONE)
            fprintf(file, "timeline %" PRIu64 "%s\n", timeline_bytes(settings),
                    settings->timeline == CAIRN_TIMELINE_RING ? " ring" : "");
        if (settings->max_overhead_ppm != 0)
            fprintf(file, "limit %" PRIu64 "\n", settings->max_overhead_ppm);
        if (settings->toggle_signal != 0)
            fprintf(file, "toggle %" PRIu64 "\n", settings->toggle_signal);
        for (size_t i = 0; i < settings->counted.count; i++)
            fprintf(file, "in %s\n", settings->counted.items[i]);
        for (size_t i = 0; i < settings->called.count; i++)
            fprintf(file, "calls in %s\n%s%s\n", settings->called.items[i],
                    settings->opcodes ? "in " : "",
                    settings->opcodes ? settings->called.items[i] : "");
        written = !ferror(file);
        written = fclose(file) == 0 && written;
    }
    if (written)
        return 0;
    return cairn_err_set(err, -CAIRN_EIO, errno, "exact", "%.300s cannot be written", path);
}

static bool counts(const struct cairn_settings *settings)
{
    return settings->exact || settings->counted.wanted || settings->opcodes;
}

/* Best effort: who does not hear of it writes no regions. */
static void announce(struct cairn_counting *counting, pid_t pid)
{
    struct cairn_owner_saved saved;

    if (cairn_owner_enter(counting->owner, &saved) < 0)
        return;
    counting->lock = cairn_announce_make(pid, cairn_buf_cstr(&counting->spool));
    counting->announced = counting->lock < 0 ? 0 : pid;
    cairn_owner_leave(&saved);
}

int cairn_counting_open(struct cairn_counting *counting, const struct cairn_settings *settings,
                        pid_t pid, struct cairn_session_options *options, struct cairn_err *err)
{
    struct cairn_err unheard = {0};
    int code;

    counting->owner = options->owner;
    counting->announced = 0;
    counting->settings = settings;
    counting->calls_missing = counting->lines_missing = false;
    counting->calls_unmet = counting->lines_unmet = 0;
    counting->wants = counts(settings) && settings->toggle_signal == 0;
    cairn_buf_init(&counting->spool, PATH_MAX_BYTES);
    cairn_map_init(&counting->met_since, MET_MAX);
    code = make_folder(counting, counts(settings) ? err : &unheard);
    if (code == 0)
        code = write_wanted(counting, settings, counts(settings) ? err : &unheard);
    if (code < 0)
        return counts(settings) ? code : 0;
    if (counts(settings))
        CAIRN_TRY(tell(counting, err));
    announce(counting, pid);
    options->add = add;
    options->add_ctx = counting;
    options->met = note_met;
    options->met_ctx = counting;
    return 0;
}

_Static_assert(CAIRN_PLACES_MAX <= 64, "a bit for each word");

/* `all`: nothing was counted at all; else of those words alone whose bit is set. */
static void say_missing(const char *what, const struct cairn_places *places, bool all,
                        uint64_t unmet)
{
    struct cairn_buf names;

    cairn_buf_init(&names, LIST_MAX_BYTES);
    for (size_t i = 0; i < places->count; i++)
        if (all || (unmet >> i & 1) != 0)
            cairn_buf_printf(&names, "%s%s", names.size_bytes > 0 ? " or " : "", places->items[i]);
    if (all && places->count > 0)
        cairn_say(
            "no %s was counted: nothing that ran is a function, module or FILE:LINE called %s",
            what, cairn_buf_cstr(&names));
    else if (names.size_bytes > 0)
        cairn_say(
            "no %s was counted of %s: no function, module or FILE:LINE that was met is called so",
            what, cairn_buf_cstr(&names));
    cairn_buf_release(&names);
}

void cairn_counting_say(const struct cairn_counting *counting)
{
    const struct cairn_settings *settings = counting->settings;

    if (settings->toggle_signal != 0) /* it may have been off all the while */
        return;
    say_missing("line", &settings->counted, counting->lines_missing, counting->lines_unmet);
    say_missing("call", &settings->called, counting->calls_missing, counting->calls_unmet);
}

void cairn_counting_close(struct cairn_counting *counting)
{
    const char *spool = cairn_buf_cstr(&counting->spool);
    struct cairn_owner_saved saved;
    bool entered = cairn_owner_enter(counting->owner, &saved) == 0; /* else it is who we are */

    if (counting->announced != 0) {
        cairn_announce_remove(counting->announced, spool);
        close(counting->lock);
    }
    if (counting->spool.size_bytes > 0)
        cairn_spoolfile_remove_all(spool);
    if (entered)
        cairn_owner_leave(&saved);
    cairn_vec_release(&counting->met);
    cairn_map_release(&counting->met_since);
    cairn_buf_release(&counting->spool);
}
