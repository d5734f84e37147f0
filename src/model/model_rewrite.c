/* model_rewrite.c: other texts in the place of those that a recording holds. */
#include <stdlib.h>

#include "alloc.h"
#include "model_priv.h"
#include "model_rewrite.h"

#define TEXT_MAX_BYTES ((size_t)64 << 20)

struct rewriting {
    struct cairn_model *model;
    cairn_rewrite_fn *rewrite;
    const void *ctx;
    struct cairn_buf text;
};

static int rewrite_to(struct rewriting *r, struct cairn_told told, uint32_t *ret_id)
{
    cairn_buf_clear(&r->text);
    r->rewrite(r->ctx, &told, &r->text);
    CAIRN_TRY(r->text.code);
    return cairn_intern_add(&r->model->strings, cairn_buf_span(&r->text), ret_id);
}

static int rewrite(struct rewriting *r, enum cairn_told_kind kind, struct cairn_span *span)
{
    uint32_t id;

    if (span->size_bytes == 0)
        return 0;
    CAIRN_TRY(rewrite_to(r, (struct cairn_told){.kind = kind, .text = *span}, &id));
    *span = cairn_intern_get(&r->model->strings, id);
    return 0;
}

static int rewrite_functions(struct rewriting *r)
{
    for (size_t i = 0; i < r->model->functions.count; i++) {
        struct cairn_function *function = &r->model->functions.items[i];

        CAIRN_TRY(rewrite(r, CAIRN_TOLD_NAME, &function->name));
        CAIRN_TRY(rewrite(r, CAIRN_TOLD_NAME, &function->qualname));
        CAIRN_TRY(rewrite(r, CAIRN_TOLD_PATH, &function->file));
        CAIRN_TRY(rewrite(r, CAIRN_TOLD_NAME, &function->module));
    }
    return 0;
}

static int rewrite_tracks(struct rewriting *r)
{
    struct cairn_model *model = r->model;

    for (size_t i = 0; i < model->processes.count; i++) {
        CAIRN_TRY(rewrite(r, CAIRN_TOLD_PROCESS, &model->processes.items[i].name));
        CAIRN_TRY(rewrite(r, CAIRN_TOLD_COMMAND, &model->processes.items[i].command));
    }
    for (size_t i = 0; i < model->threads.count; i++)
        CAIRN_TRY(rewrite(r, CAIRN_TOLD_NAME, &model->threads.items[i].name));
    for (size_t i = 0; i < model->tasks.count; i++) {
        CAIRN_TRY(rewrite(r, CAIRN_TOLD_NAME, &model->tasks.items[i].name));
        CAIRN_TRY(rewrite(r, CAIRN_TOLD_NAME, &model->tasks.items[i].coroutine));
    }
    return 0;
}

static int rewrite_settings(struct rewriting *r)
{
    for (size_t i = 0; i < r->model->env.count; i++) {
        struct cairn_model_env_entry *entry = &r->model->env.items[i];

        CAIRN_TRY(rewrite_to(r,
                             (struct cairn_told){
                                 .kind = CAIRN_TOLD_SETTING,
                                 .key = cairn_intern_get(&r->model->strings, entry->key),
                                 .text = cairn_intern_get(&r->model->strings, entry->value),
                             },
                             &entry->value));
    }
    return 0;
}

/* What rows name by its number. Settings are found by their keys, which stay. */
static int rewrite_texts(struct rewriting *r, size_t count)
{
    struct cairn_intern *strings = &r->model->strings;
    uint32_t *ids = cairn_calloc(count, sizeof(*ids));
    int code = ids ? 0 : -CAIRN_ENOMEM;

    for (size_t i = 0; i < count && code == 0; i++)
        code = rewrite_to(r,
                          (struct cairn_told){.kind = CAIRN_TOLD_TEXT,
                                              .text = cairn_intern_get(strings, (uint32_t)i)},
                          &ids[i]);
    for (size_t i = 0; i < r->model->env.count && code == 0; i++)
        if (r->model->env.items[i].key < count)
            ids[r->model->env.items[i].key] = r->model->env.items[i].key;
    for (size_t i = 0; i < count && code == 0; i++)
        strings->strings.items[i] = cairn_intern_get(strings, ids[i]);
    free(ids);
    return code;
}

int cairn_model_rewrite(struct cairn_model *model, cairn_rewrite_fn *rewrite_text, const void *ctx)
{
    struct rewriting r = {.model = model, .rewrite = rewrite_text, .ctx = ctx};
    size_t count = cairn_intern_count(&model->strings);
    int code;

    cairn_buf_init(&r.text, TEXT_MAX_BYTES);
    code = rewrite_functions(&r);
    if (code == 0)
        code = rewrite_tracks(&r);
    if (code == 0)
        code = rewrite_settings(&r);
    if (code == 0)
        code = rewrite_texts(&r, count);
    cairn_buf_release(&r.text);
    return code;
}
