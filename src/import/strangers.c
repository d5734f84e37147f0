#include "strangers.h"

#include <string.h>
#include <strings.h>

/* The first bytes, and what stands somewhere in the head; NULL: whatever. */
struct stranger {
    const char *begins;
    size_t begins_bytes;
    const char *holds;
    const char *says;
    const char *after; /* the path stands in front of it; NULL: it need not be said */
};

#define WIDE_BYTES ((size_t)64) /* that are looked at */
#define BEGINS(bytes) (bytes), sizeof(bytes) - 1
#define MEMORY_ALONE "It is of memory, and holds no times: "
#define V8 "It is V8's log of events: `node --cpu-prof` writes a profile that Cairn knows."

static const struct stranger strangers[] = {
    {BEGINS("{"), "\"start_call_stack\"", "It is a session of pyinstrument: `pyinstrument --load ",
     " -r speedscope -o OUT.json` writes one that Cairn knows."},
    {BEGINS("{"), "\"root_frame\"",
     "It is what `pyinstrument -r json` writes: `pyinstrument -r speedscope` writes one that Cairn "
     "knows.",
     NULL},
    {BEGINS("{"), "\"alloc_samples\"",
     "It is of Scalene, and holds shares of lines, which `scalene view` shows.", NULL},
    {BEGINS("\x04\x22\x4d\x18"), "memray", MEMORY_ALONE "memray wrote it, and `memray flamegraph ",
     "` shows it."},
    {BEGINS("memray\0"), NULL, MEMORY_ALONE "memray wrote it, and `memray flamegraph ",
     "` shows it."},
    {BEGINS("{\"head\":"), "\"selfSize\"",
     MEMORY_ALONE "V8 wrote it. `node --cpu-prof` writes a profile that Cairn knows.", NULL},
    {BEGINS("v8-version,"), NULL, V8, NULL},
    {BEGINS("{"), "\"SHARED_LIB\"", V8, NULL},
    {BEGINS("heap profile: "), NULL, MEMORY_ALONE "gperftools wrote it, and its pprof shows it.",
     NULL},
    {BEGINS("--- symbol"), NULL,
     "It is what `pprof --raw` writes: Cairn knows the profile that it was made of.", NULL},
    {BEGINS("PERFILE2"), NULL, "It is of perf, whose `perf script` prints one that Cairn knows.",
     NULL},
    {BEGINS("gmon\x01"), NULL, "It is of a program that was built with -pg: `gprof PROGRAM ",
     "` prints one that Cairn knows."},
    {BEGINS("digraph "), NULL,
     "It is a graph for graphviz: Cairn knows the profile that it was made of.", NULL},
    {BEGINS("<!doctype html"), NULL,
     "It is a page: Cairn knows recordings and profiles, of which pages are made.", NULL},
    {BEGINS("<html"), NULL,
     "It is a page: Cairn knows recordings and profiles, of which pages are made.", NULL},
    {BEGINS("<"), "<svg", "It is a picture: Cairn knows the profile that it was made of.", NULL},
    {BEGINS("\x7f"
            "ELF"),
     NULL, "It is a program: `cairn run` records what it does.", NULL},
};

static bool is(const struct stranger *stranger, struct cairn_span head)
{
    return head.size_bytes >= stranger->begins_bytes &&
           strncasecmp((const char *)head.data, stranger->begins, stranger->begins_bytes) == 0 &&
           (!stranger->holds ||
            memmem(head.data, head.size_bytes, stranger->holds, strlen(stranger->holds)));
}

/* Without a mark: as many letters of ASCII as a short line has, each beside a byte of zeros. */
static bool is_wide(struct cairn_span head, size_t letter)
{
    size_t size_bytes = head.size_bytes < WIDE_BYTES ? head.size_bytes & ~(size_t)1 : WIDE_BYTES;

    for (size_t at = 0; at < size_bytes; at += 2) {
        uint8_t byte = head.data[at + letter];

        if (head.data[at + 1 - letter] != 0 ||
            !((byte >= ' ' && byte <= '~') || (byte >= '\t' && byte <= '\r')))
            return false;
    }
    return size_bytes >= 8;
}

/* What it is as iconv names it, where that is no UTF-8 but as wide as Windows writes text; NULL. */
static const char *coding_of(struct cairn_span head)
{
    static const struct {
        char mark[4];
        uint8_t mark_bytes;
        const char *name;
    } marked[] = {{{'\xff', '\xfe', 0, 0}, 4, "UTF-32"},
                  {{0, 0, '\xfe', '\xff'}, 4, "UTF-32"},
                  {{'\xff', '\xfe'}, 2, "UTF-16"},
                  {{'\xfe', '\xff'}, 2, "UTF-16"}};

    for (size_t i = 0; i < sizeof(marked) / sizeof(marked[0]); i++)
        if (head.size_bytes >= marked[i].mark_bytes &&
            memcmp(head.data, marked[i].mark, marked[i].mark_bytes) == 0)
            return marked[i].name;
    return is_wide(head, 0) ? "UTF-16LE" : is_wide(head, 1) ? "UTF-16BE" : NULL;
}

bool cairn_is_perfetto(struct cairn_span head)
{
    size_t at = 1;

    if (head.size_bytes < 4 || head.data[0] != 0x0a || head.data[1] == 0)
        return false;
    while (at < 6 && head.data[at] & 0x80) /* how long it is */
        at++;
    at++;
    return at < head.size_bytes && head.data[at] != 0x08 && head.data[at] != 0x10;
}

bool cairn_stranger_tell(struct cairn_span head, const char *path, struct cairn_err *err)
{
    const char *coding = coding_of(head);

    if (head.size_bytes == 0)
        cairn_err_add(err, "It is empty.");
    if (cairn_is_perfetto(head)) {
        cairn_err_add(err,
                      "It looks like a trace of Perfetto, which https://ui.perfetto.dev shows: "
                      "Cairn writes those, and knows the recording that one was made of.");
        return true;
    }
    if (coding) {
        cairn_err_add(err, "Its text is %s, and that of the profiles that Cairn knows UTF-8.",
                      coding);
        cairn_err_add(err, "`iconv -f %s -t UTF-8 %.100s` prints it so.", coding, path);
        return true;
    }
    for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
        const struct stranger *stranger = &strangers[i];

        if (!is(stranger, head))
            continue;
        if (stranger->after)
            cairn_err_add(err, "%s%.100s%s", stranger->says, path, stranger->after);
        else
            cairn_err_add(err, "%s", stranger->says);
        return true;
    }
    return head.size_bytes == 0;
}
