#include "following.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "html_parts.h"
#include "html.h"
#include "show.h"

#define PATH_MAX_BYTES (1 << 16)
#define COLUMNS_MAX_BYTES ((size_t)4 << 30)
#define LARGE_NODES 50000 /* more, and a browser is slow to unpack a page that holds all */
#define EACH_NS ((uint64_t)1000000000) /* as often as a recorder writes */
#define FIRST_NS (3 * EACH_NS)         /* of a recording: by then there is something */
#define PART 8                         /* of a processor: at most one such */

struct cairn_making {
    const struct cairn_call *call;
    const struct cairn_words *words;
    pthread_t thread;
    struct cairn_showing made;
    uint64_t version; /* that it will be */
    uint64_t due_ns;
    int code;
    atomic_bool done; /* the rest is the thread's until then */
};

static void showing_release(struct cairn_showing *showing)
{
    cairn_model_free(showing->model);
    cairn_outlet_release(&showing->page);
    cairn_buf_release(&showing->columns);
    cairn_html_parts_free(showing->parts);
    *showing = (struct cairn_showing){.model = NULL};
}

static void look(const struct cairn_words *words, struct cairn_writing *ret_writing)
{
    *ret_writing = (struct cairn_writing){.held = false};
    for (size_t i = 0; i < words->count; i++)
        cairn_writing_look(words->items[i], ret_writing);
}

static void showing_init(struct cairn_showing *showing)
{
    *showing = (struct cairn_showing){.model = NULL};
    cairn_outlet_init(&showing->page, -1, "the page");
    cairn_buf_init(&showing->columns, COLUMNS_MAX_BYTES);
}

/* The page of a model that has been loaded. */
static int make_page(const struct cairn_call *call, struct cairn_showing *showing, bool follows,
                     uint64_t version, struct cairn_progress *progress, struct cairn_err *err)
{
    struct cairn_html_options options = {
        .source = call->settings.source, .version = version, .follows = follows};
    const struct cairn_node *nodes;
    struct cairn_model *before;
    int code;

    CAIRN_TRY(cairn_show_filter(&call->settings, &options.filter, err));
    CAIRN_TRY(cairn_show_load_before(&call->settings, progress, &before, err));
    options.before = before;
    if (cairn_model_nodes(showing->model, &nodes) > LARGE_NODES)
        options.columns = &showing->columns;
    options.parts = &showing->parts;
    code = cairn_html(showing->model, &options, &showing->page, err);
    cairn_model_free(before);
    return cairn_outlet_finish(&showing->page, code, err);
}

/* Loads it; of one that was begun just now, until the first of it has been written. */
static int load_first(struct cairn_following *following, struct cairn_progress *progress,
                      struct cairn_err *err)
{
    const struct cairn_call *call = following->call;
    struct cairn_showing *now = &following->now;
    uint64_t begun_ns = cairn_clock_mono_ns(), now_ns;
    int code;

    for (;;) {
        look(&following->words, &now->seen);
        code = cairn_show_load(&call->words, &call->settings.reading, progress, &now->model,
                               &following->path, err);
        if (call->words.count == 0 && following->path.size_bytes > 0) {
            following->newest[0] = (char *)(uintptr_t)cairn_buf_cstr(&following->path);
            following->words = (struct cairn_words){following->newest, 1};
            look(&following->words, &now->seen);
            now->seen.bytes = 0; /* it may have grown while it was read */
        }
        now_ns = cairn_clock_mono_ns();
        if (code != -CAIRN_EDAMAGED || !now->seen.held || now_ns - begun_ns > FIRST_NS)
            return code;
        *err = (struct cairn_err){0};
        following->words = call->words;
        cairn_buf_clear(&following->path);
        cairn_clock_sleep_until(now_ns + EACH_NS / 10);
    }
}

int cairn_following_begin(struct cairn_following *following, const struct cairn_call *call,
                          struct cairn_progress *progress, struct cairn_err *err)
{
    struct cairn_showing *now = &following->now;
    uint64_t begun_ns = cairn_clock_mono_ns(), begun_cpu_ns = cairn_clock_own_cpu_ns();

    *following = (struct cairn_following){.call = call, .words = call->words, .version = 1};
    showing_init(now);
    cairn_buf_init(&following->path, PATH_MAX_BYTES);
    CAIRN_TRY(load_first(following, progress, err));
    now->live = now->seen.held && !cairn_model_quality(now->model)->ended;
    following->follows = now->live;
    CAIRN_TRY(make_page(call, now, now->live, following->version, progress, err));
    following->due_ns = cairn_clock_again(begun_ns, begun_cpu_ns, EACH_NS, PART);
    return 0;
}

static void *make(void *context)
{
    struct cairn_making *making = context;
    uint64_t begun_ns = cairn_clock_mono_ns(), begun_cpu_ns = cairn_clock_own_cpu_ns();
    struct cairn_showing *made = &making->made;
    struct cairn_err err = {0}; /* nobody is told: what was read before stays */
    struct cairn_buf none;

    cairn_buf_init(&none, PATH_MAX_BYTES);
    making->code = cairn_show_load(making->words, &making->call->settings.reading, NULL,
                                   &made->model, &none, &err);
    if (making->code == 0) {
        made->live = made->seen.held && !cairn_model_quality(made->model)->ended;
        making->code = make_page(making->call, made, true, making->version, NULL, &err);
    }
    cairn_buf_release(&none);
    making->due_ns = cairn_clock_again(begun_ns, begun_cpu_ns, EACH_NS, PART);
    atomic_store(&making->done, true);
    return NULL;
}

static void begin_making(struct cairn_following *following, const struct cairn_writing *seen)
{
    struct cairn_making *making = cairn_calloc(1, sizeof(*making));

    if (making == NULL)
        return;
    making->call = following->call;
    making->words = &following->words;
    showing_init(&making->made);
    making->made.seen = *seen;
    making->version = following->version + 1;
    if (pthread_create(&making->thread, NULL, make, making) == 0)
        following->making = making;
    else
        free(making);
}

static void take_made(struct cairn_following *following)
{
    struct cairn_making *making = following->making;

    pthread_join(making->thread, NULL);
    following->making = NULL;
    following->due_ns = making->due_ns;
    if (making->code == 0) {
        showing_release(&following->now);
        following->now = making->made;
        following->version++;
    } else {
        following->now.live = false;
        showing_release(&making->made);
    }
    free(making);
}

void cairn_following_ask(struct cairn_following *following)
{
    struct cairn_writing seen;

    if (following->making != NULL && atomic_load(&following->making->done))
        take_made(following);
    if (following->making != NULL || !following->now.live ||
        cairn_clock_mono_ns() < following->due_ns)
        return;
    look(&following->words, &seen);
    if (!seen.held || !cairn_writing_same(&seen, &following->now.seen))
        begin_making(following, &seen);
}

uint64_t cairn_following_wait_ns(const struct cairn_following *following)
{
    uint64_t now_ns = cairn_clock_mono_ns();

    return following->due_ns > now_ns + EACH_NS ? following->due_ns - now_ns : EACH_NS;
}

bool cairn_following_end(struct cairn_following *following)
{
    if (following->making != NULL) {
        if (!atomic_load(&following->making->done))
            return false;
        take_made(following);
    }
    showing_release(&following->now);
    cairn_buf_release(&following->path);
    return true;
}
