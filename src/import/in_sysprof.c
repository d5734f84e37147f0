/* in_sysprof.c: the XML of sysprof 1: objects, which are functions and what stands for processes
 * and modules, and nodes, a tree of them by "parent", each with the samples that ended there. */
#include <inttypes.h>
#include <string.h>

#include "formats.h"
#include "intern.h"
#include "linewords.h"
#include "map.h"
#include "xmlin.h"

#define ITEMS_MAX ((size_t)1 << 22)
#define NAMES_MAX_BYTES ((size_t)64 << 20)
#define DEPTH_MAX 4u /* profile, objects, object, name */
#define SNIFFED_BYTES 4096

struct node {
    uint64_t id, object, parent, self;
    uint32_t stack; /* 0: not made yet */
};

struct sysprof {
    struct cairn_guest *guest;
    struct cairn_xmlin xml;
    struct cairn_intern names;
    struct cairn_map object_of, node_of; /* by id: to a name; to an index */
    CAIRN_VEC(struct node) nodes;
    CAIRN_VEC(uint32_t) path;
    struct node item; /* at hand */
    uint32_t name;
    unsigned depth;
    bool has_objects, has_nodes;
};

int cairn_is_sysprof(struct cairn_feed *feed)
{
    size_t size_bytes = (size_t)(feed->end - feed->next);
    const uint8_t *found;

    if (size_bytes > SNIFFED_BYTES)
        size_bytes = SNIFFED_BYTES;
    found = size_bytes ? memmem(feed->next, size_bytes, "<profile>", 9) : NULL;
    return found && memmem(found, (size_t)(feed->next + size_bytes - found), "<", 1) &&
           (size_bytes > 0 && feed->next[0] == '<');
}

static bool is(struct cairn_span text, const char *word)
{
    return text.size_bytes == strlen(word) && memcmp(text.data, word, text.size_bytes) == 0;
}

static int begin(struct sysprof *s)
{
    struct cairn_span id;
    bool item = is(s->xml.name, "object") || is(s->xml.name, "node");

    s->depth++;
    if (s->depth > DEPTH_MAX || (s->depth == 1) != is(s->xml.name, "profile"))
        return -CAIRN_EDAMAGED;
    if (s->depth == 2) {
        s->has_objects = s->has_objects || is(s->xml.name, "objects");
        s->has_nodes = s->has_nodes || is(s->xml.name, "nodes");
    }
    if (s->depth != 3 || !item)
        return 0;
    s->item = (struct node){.id = 0};
    s->name = 0;
    return cairn_xmlin_attribute(&s->xml, "id", &id) && cairn_whole_of_text(id, &s->item.id)
               ? 0
               : -CAIRN_EDAMAGED;
}

/* A value: the name may stand in quotes. */
static int read_value(struct sysprof *s)
{
    struct cairn_span text = cairn_buf_span(&s->xml.text);
    uint64_t *field = NULL;

    if (is(s->xml.name, "name")) {
        if (text.size_bytes >= 2 && text.data[0] == '"' && text.data[text.size_bytes - 1] == '"') {
            text.data++;
            text.size_bytes -= 2;
        }
        return cairn_intern_add(&s->names, text, &s->name);
    }
    if (is(s->xml.name, "object"))
        field = &s->item.object;
    else if (is(s->xml.name, "parent"))
        field = &s->item.parent;
    else if (is(s->xml.name, "self"))
        field = &s->item.self;
    return !field || cairn_whole_of_text(cairn_words_trim(text), field) ? 0 : -CAIRN_EDAMAGED;
}

static int end(struct sysprof *s)
{
    uint64_t found;

    if (s->depth-- == 0)
        return -CAIRN_EDAMAGED;
    if (s->depth == 3)
        return read_value(s);
    if (s->depth == 2 && is(s->xml.name, "object"))
        return cairn_map_get(&s->object_of, s->item.id, 0, &found)
                   ? -CAIRN_EDAMAGED
                   : cairn_map_put(&s->object_of, s->item.id, 0, s->name);
    if (s->depth != 2 || !is(s->xml.name, "node"))
        return 0;
    if (s->item.id == 0 || cairn_map_get(&s->node_of, s->item.id, 0, &found))
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(cairn_map_put(&s->node_of, s->item.id, 0, s->nodes.count));
    CAIRN_TRY(cairn_vec_reserve(&s->nodes, s->nodes.count + 1, ITEMS_MAX));
    s->nodes.items[s->nodes.count++] = s->item;
    return 0;
}

/* Up to a node whose stack is known, or the outermost, and back down. */
static int make_stack(struct sysprof *s, size_t index, uint32_t *ret_stack)
{
    uint64_t at = index;

    s->path.count = 0;
    *ret_stack = 0;
    for (;;) {
        struct node *node = &s->nodes.items[at];

        if (node->stack != 0) {
            *ret_stack = node->stack;
            break;
        }
        if (s->path.count == s->nodes.count)
            return -CAIRN_EDAMAGED; /* a ring */
        CAIRN_TRY(cairn_vec_reserve(&s->path, s->path.count + 1, ITEMS_MAX));
        s->path.items[s->path.count++] = (uint32_t)at;
        if (node->parent == 0)
            break;
        if (!cairn_map_get(&s->node_of, node->parent, 0, &at))
            return -CAIRN_EDAMAGED;
    }
    while (s->path.count > 0) {
        struct node *node = &s->nodes.items[s->path.items[--s->path.count]];
        struct cairn_guest_frame frame = {.line = 0};
        uint64_t name;
        uint32_t id;

        if (!cairn_map_get(&s->object_of, node->object, 0, &name))
            return -CAIRN_EDAMAGED;
        frame.name = cairn_intern_get(&s->names, (uint32_t)name);
        CAIRN_TRY(cairn_guest_frame(s->guest, &frame, &id));
        CAIRN_TRY(cairn_guest_stack(s->guest, *ret_stack, id, ret_stack));
        node->stack = *ret_stack;
    }
    return 0;
}

static int give(struct sysprof *s)
{
    struct cairn_guest_thread all = {.name = {NULL, 0}};
    struct cairn_guest_sample sample = {.state = CAIRN_SAMPLE_UNKNOWN};
    uint64_t unit_ns = s->guest->interval_ns ? s->guest->interval_ns : 1000;

    if (s->depth != 0 || !s->has_objects || !s->has_nodes)
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(cairn_guest_thread(s->guest, &all, &sample.thread));
    for (size_t i = 0; i < s->nodes.count; i++) {
        sample.count = s->nodes.items[i].self;
        if (sample.count == 0)
            continue;
        if (sample.count > CAIRN_GUEST_TIME_MAX_NS / unit_ns)
            return -CAIRN_EDAMAGED;
        sample.ns = sample.count * unit_ns;
        CAIRN_TRY(make_stack(s, i, &sample.stack));
        CAIRN_TRY(cairn_guest_add(s->guest, &sample));
    }
    CAIRN_TRY(cairn_guest_fact(s->guest, "import.times", "none"));
    return cairn_guest_fact(s->guest, "import.values", "samples%s",
                            s->guest->interval_ns ? "" : ", each shown as 1 us");
}

static int read_file(struct sysprof *s)
{
    enum cairn_xmlin_kind kind;
    int more;

    while ((more = cairn_xmlin_next(&s->xml, &kind)) > 0)
        CAIRN_TRY(kind == CAIRN_XMLIN_BEGIN ? begin(s) : end(s));
    CAIRN_TRY(more);
    return give(s);
}

int cairn_in_sysprof(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct sysprof s = {.guest = guest};
    int code = cairn_intern_init(&s.names, NAMES_MAX_BYTES);

    (void)err;
    guest->counted = true;
    cairn_xmlin_init(&s.xml, feed);
    cairn_map_init(&s.object_of, ITEMS_MAX);
    cairn_map_init(&s.node_of, ITEMS_MAX);
    if (code == 0)
        code = read_file(&s);
    cairn_xmlin_release(&s.xml);
    cairn_intern_release(&s.names);
    cairn_map_release(&s.object_of);
    cairn_map_release(&s.node_of);
    cairn_vec_release(&s.nodes);
    cairn_vec_release(&s.path);
    return code;
}
