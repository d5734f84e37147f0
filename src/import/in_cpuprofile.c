/* in_cpuprofile.c: what V8's profiler writes (node --cpu-prof, Chrome, VS Code): a tree of calls,
 * and which of its nodes was on top at each sample. One thread. Lines count from 0.
 *
 * Kept until the end, because all of it may come in any order: the nodes, the samples, the times
 * between them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "formats.h"
#include "jsonin.h"
#include "text.h"

#define NODES_MAX ((size_t)1 << 20)
#define SAMPLES_MAX ((size_t)1 << 24)
#define US_NS 1000u
#define NONE UINT32_MAX

struct node {
    uint32_t parent, frame, stack; /* parent: index, or NONE; stack: 0 until it is made */
};

struct link { /* as the file says it: ids */
    int64_t parent, child;
};

struct cpuprofile {
    struct cairn_jsonin json;
    struct cairn_guest *guest;
    struct cairn_err *err;
    struct cairn_map index_of; /* id to node */
    CAIRN_VEC(struct node) nodes;
    CAIRN_VEC(struct link) links;
    CAIRN_VEC(uint32_t) path;
    CAIRN_VEC(int64_t) samples; /* ids of nodes */
    CAIRN_VEC(int64_t) deltas; /* us to each sample from the one before; the first from the start */
    struct cairn_buf name, file;
    double start_us, end_us;
};

static int copy_text(struct cairn_jsonin *json, struct cairn_buf *buf)
{
    struct cairn_span text;

    CAIRN_TRY(cairn_jsonin_text(json, &text));
    cairn_buf_clear(buf);
    return cairn_buf_add(buf, text.data, text.size_bytes);
}

/* "file:///srv/my%20app.js", as V8 names what lies on the disk, is /srv/my app.js. */
static void take_path(struct cairn_buf *url)
{
    size_t head_bytes = strlen("file://"), size_bytes = 0;

    if (url->size_bytes <= head_bytes || memcmp(url->data, "file:///", head_bytes + 1) != 0)
        return;
    for (size_t i = head_bytes; i < url->size_bytes; i++) {
        bool is_code = url->data[i] == '%' && i + 2 < url->size_bytes &&
                       cairn_hex_value((char)url->data[i + 1]) >= 0 &&
                       cairn_hex_value((char)url->data[i + 2]) >= 0;

        url->data[size_bytes++] = is_code ? (uint8_t)(cairn_hex_value((char)url->data[i + 1]) << 4 |
                                                      cairn_hex_value((char)url->data[i + 2]))
                                          : url->data[i];
        i += is_code ? 2 : 0;
    }
    url->size_bytes = size_bytes;
}

static int read_call_frame(struct cpuprofile *p, uint32_t *ret_frame)
{
    struct cairn_guest_frame frame = {.line = 0};
    struct cairn_span key;
    double line;
    int more;

    cairn_buf_clear(&p->name);
    cairn_buf_clear(&p->file);
    CAIRN_TRY(cairn_jsonin_enter(&p->json, '{'));
    while ((more = cairn_jsonin_key(&p->json, &key)) > 0) {
        if (cairn_span_is(key, "functionName")) {
            CAIRN_TRY(copy_text(&p->json, &p->name));
        } else if (cairn_span_is(key, "url")) {
            CAIRN_TRY(copy_text(&p->json, &p->file));
            take_path(&p->file);
        } else if (cairn_span_is(key, "lineNumber")) {
            CAIRN_TRY(cairn_jsonin_number(&p->json, &line));
            if (line >= 0 && line < INT32_MAX)
                frame.first_line = (uint32_t)line + 1;
        } else {
            CAIRN_TRY(cairn_jsonin_skip(&p->json));
        }
    }
    CAIRN_TRY(more);
    frame.name = cairn_buf_span(&p->name);
    frame.file = cairn_buf_span(&p->file);
    if (frame.name.size_bytes == 0)
        frame.name = (struct cairn_span){(const uint8_t *)"(anonymous)", 11};
    frame.line = frame.first_line;
    return cairn_guest_frame(p->guest, &frame, ret_frame);
}

static int add_link(struct cpuprofile *p, int64_t parent, int64_t child)
{
    CAIRN_TRY(cairn_vec_reserve(&p->links, p->links.count + 1, NODES_MAX));
    p->links.items[p->links.count++] = (struct link){parent, child};
    return 0;
}

/* Who calls whom is told by the children, or, in what editors write, by the parent. The id may
 * stand behind either. */
static int read_node(struct cpuprofile *p)
{
    size_t first = p->links.count;
    struct node node = {.parent = NONE};
    struct cairn_span key;
    int64_t id = 0, other;
    int more, inner;

    CAIRN_TRY(cairn_jsonin_enter(&p->json, '{'));
    while ((more = cairn_jsonin_key(&p->json, &key)) > 0) {
        if (cairn_span_is(key, "id")) {
            CAIRN_TRY(cairn_jsonin_whole(&p->json, &id));
        } else if (cairn_span_is(key, "callFrame")) {
            CAIRN_TRY(read_call_frame(p, &node.frame));
        } else if (cairn_span_is(key, "parent")) {
            CAIRN_TRY(cairn_jsonin_whole(&p->json, &other));
            CAIRN_TRY(add_link(p, other, INT64_MIN));
        } else if (cairn_span_is(key, "children")) {
            CAIRN_TRY(cairn_jsonin_enter(&p->json, '['));
            while ((inner = cairn_jsonin_item(&p->json)) > 0) {
                CAIRN_TRY(cairn_jsonin_whole(&p->json, &other));
                CAIRN_TRY(add_link(p, INT64_MIN, other));
            }
            CAIRN_TRY(inner);
        } else {
            CAIRN_TRY(cairn_jsonin_skip(&p->json));
        }
    }
    CAIRN_TRY(more);
    for (size_t i = first; i < p->links.count; i++) {
        struct link *link = &p->links.items[i];

        if (link->parent == INT64_MIN)
            link->parent = id;
        if (link->child == INT64_MIN)
            link->child = id;
    }
    if (node.frame == 0)
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(cairn_vec_reserve(&p->nodes, p->nodes.count + 1, NODES_MAX));
    CAIRN_TRY(cairn_map_put(&p->index_of, (uint64_t)id, 0, p->nodes.count));
    p->nodes.items[p->nodes.count++] = node;
    return 0;
}

static int read_nodes(struct cpuprofile *p)
{
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&p->json, '['));
    while ((more = cairn_jsonin_item(&p->json)) > 0)
        CAIRN_TRY(read_node(p));
    return more;
}

static int read_samples(struct cpuprofile *p)
{
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&p->json, '['));
    while ((more = cairn_jsonin_item(&p->json)) > 0) {
        CAIRN_TRY(cairn_vec_reserve(&p->samples, p->samples.count + 1, SAMPLES_MAX));
        CAIRN_TRY(cairn_jsonin_whole(&p->json, &p->samples.items[p->samples.count]));
        p->samples.count++;
    }
    return more;
}

static int read_deltas(struct cpuprofile *p)
{
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&p->json, '['));
    while ((more = cairn_jsonin_item(&p->json)) > 0) {
        CAIRN_TRY(cairn_vec_reserve(&p->deltas, p->deltas.count + 1, SAMPLES_MAX));
        CAIRN_TRY(cairn_jsonin_whole(&p->json, &p->deltas.items[p->deltas.count]));
        p->deltas.count++;
    }
    return more;
}

static int join_nodes(struct cpuprofile *p)
{
    for (size_t i = 0; i < p->links.count; i++) {
        uint64_t parent, child;

        if (!cairn_map_get(&p->index_of, (uint64_t)p->links.items[i].parent, 0, &parent) ||
            !cairn_map_get(&p->index_of, (uint64_t)p->links.items[i].child, 0, &child))
            return cairn_err_set(p->err, -CAIRN_EDAMAGED, 0, "import",
                                 "a node names one that is not there");
        p->nodes.items[child].parent = (uint32_t)parent;
    }
    return 0;
}

/* A way up that is longer than there are nodes goes in a ring. */
static int stack_of(struct cpuprofile *p, uint32_t node, uint32_t *ret_stack)
{
    p->path.count = 0;
    for (; node != NONE && p->nodes.items[node].stack == 0; node = p->nodes.items[node].parent) {
        if (p->path.count == p->nodes.count)
            return cairn_err_set(p->err, -CAIRN_EDAMAGED, 0, "import",
                                 "its nodes call each other in a ring");
        CAIRN_TRY(cairn_vec_reserve(&p->path, p->path.count + 1, NODES_MAX));
        p->path.items[p->path.count++] = node;
    }
    *ret_stack = node == NONE ? 0 : p->nodes.items[node].stack;
    while (p->path.count > 0) {
        struct node *at = &p->nodes.items[p->path.items[--p->path.count]];

        CAIRN_TRY(cairn_guest_stack(p->guest, *ret_stack, at->frame, ret_stack));
        at->stack = *ret_stack;
    }
    return 0;
}

/* A sample's node was on top until the next sample was taken; the last one until the end. V8 writes
 * a time that lies before the one before it now and then: none passes there. */
static int give_samples(struct cpuprofile *p, uint32_t thread)
{
    double at_us = p->start_us;

    for (size_t i = 0; i < p->samples.count; i++) {
        struct cairn_guest_sample sample = {
            .thread = thread, .state = CAIRN_SAMPLE_UNKNOWN, .count = 1};
        double until_us;
        uint64_t node;

        at_us += (double)p->deltas.items[i];
        until_us = i + 1 < p->deltas.count ? at_us + (double)p->deltas.items[i + 1] : p->end_us;
        if (until_us - at_us > (double)CAIRN_GUEST_TIME_MAX_NS / US_NS)
            return -CAIRN_EDAMAGED;
        if (i == 0 && at_us - p->start_us > 0 &&
            at_us - p->start_us < (double)CAIRN_GUEST_TIME_MAX_NS / US_NS)
            cairn_guest_wait(p->guest, thread, (uint64_t)(at_us - p->start_us) * US_NS);
        if (!cairn_map_get(&p->index_of, (uint64_t)p->samples.items[i], 0, &node))
            return cairn_err_set(p->err, -CAIRN_EDAMAGED, 0, "import",
                                 "a sample names a node that is not there");
        CAIRN_TRY(stack_of(p, (uint32_t)node, &sample.stack));
        if (until_us > at_us)
            sample.ns = (uint64_t)llround((until_us - at_us) * US_NS);
        CAIRN_TRY(cairn_guest_add(p->guest, &sample));
    }
    return 0;
}

static int read_file(struct cpuprofile *p)
{
    struct cairn_guest_thread main = {.tid = 1};
    struct cairn_span key;
    uint32_t thread;
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&p->json, '{'));
    while ((more = cairn_jsonin_key(&p->json, &key)) > 0) {
        if (cairn_span_is(key, "nodes") && p->nodes.count == 0)
            CAIRN_TRY(read_nodes(p));
        else if (cairn_span_is(key, "samples") && p->samples.count == 0)
            CAIRN_TRY(read_samples(p));
        else if (cairn_span_is(key, "timeDeltas") && p->deltas.count == 0)
            CAIRN_TRY(read_deltas(p));
        else if (cairn_span_is(key, "startTime"))
            CAIRN_TRY(cairn_jsonin_number(&p->json, &p->start_us));
        else if (cairn_span_is(key, "endTime"))
            CAIRN_TRY(cairn_jsonin_number(&p->json, &p->end_us));
        else
            CAIRN_TRY(cairn_jsonin_skip(&p->json));
    }
    CAIRN_TRY(more);
    CAIRN_TRY(cairn_jsonin_end(&p->json));
    if (p->samples.count != p->deltas.count || isnan(p->start_us) || isnan(p->end_us))
        return cairn_err_set(p->err, -CAIRN_EDAMAGED, 0, "import",
                             "it has %zu samples and %zu times", p->samples.count, p->deltas.count);
    CAIRN_TRY(join_nodes(p));
    p->guest->counted = true;
    CAIRN_TRY(cairn_guest_thread(p->guest, &main, &thread));
    CAIRN_TRY(give_samples(p, thread));
    return cairn_guest_fact(p->guest, "import.values", "samples of time");
}

int cairn_in_cpuprofile(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct cpuprofile p = {.guest = guest, .err = err};
    int code;

    cairn_jsonin_init(&p.json, feed);
    cairn_map_init(&p.index_of, NODES_MAX);
    cairn_buf_init(&p.name, 2 * CAIRN_JSONIN_TEXT_MAX_BYTES);
    cairn_buf_init(&p.file, 2 * CAIRN_JSONIN_TEXT_MAX_BYTES);
    code = read_file(&p);
    cairn_jsonin_release(&p.json);
    cairn_map_release(&p.index_of);
    cairn_buf_release(&p.name);
    cairn_buf_release(&p.file);
    cairn_vec_release(&p.nodes);
    cairn_vec_release(&p.links);
    cairn_vec_release(&p.path);
    cairn_vec_release(&p.samples);
    cairn_vec_release(&p.deltas);
    return code;
}
