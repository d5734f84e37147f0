/* What several recordings say of their runs, as one: times are added up, the largest peak is the
 * peak, and how they ended is told where all ended alike. What one of them does not say, as when it
 * was cut off, is not known of all. */
#include "model_raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_MAX_BYTES 24

enum rule { SUM, MOST, ALIKE };

static const struct {
    const char *key;
    enum rule rule;
} rules[] = {{"run.wall_ns", SUM},     {"run.user_ns", SUM}, {"run.sys_ns", SUM},
             {"run.peak_bytes", MOST}, {"run.exit", ALIKE},  {"run.signal", ALIKE}};

struct sum {
    uint64_t value, last, values; /* values: how many said one */
    bool bad, differs;
};

static bool read_number(struct cairn_span text, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (size_t i = 0; i < text.size_bytes; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (text.data[i] - '0');
    }
    *ret_value = value;
    return text.size_bytes > 0 && text.size_bytes < 19; /* the sum of some fits as well */
}

static void add(struct sum *sum, enum rule rule, struct cairn_span text)
{
    uint64_t value;

    if (!read_number(text, &value)) {
        sum->bad = true;
        return;
    }
    sum->differs |= sum->values++ > 0 && value != sum->last;
    sum->last = value;
    if (rule == SUM)
        sum->bad |= __builtin_add_overflow(sum->value, value, &sum->value);
    else if (value > sum->value)
        sum->value = value;
}

/* `entry`: as the first recording says it. */
static int put_sum(struct cairn_loader *loader, struct cairn_model_env_entry *entry, enum rule rule)
{
    struct cairn_intern *strings = &loader->model->strings;
    uint64_t recording, key, value;
    char text[NUMBER_MAX_BYTES] = "";
    struct sum sum = {0};
    size_t at = 0;

    while (cairn_map_next(&loader->told, &at, &recording, &key, &value))
        if (key == entry->key)
            add(&sum, rule, cairn_intern_get(strings, (uint32_t)value));
    if (!sum.bad && sum.values == loader->model->recordings && !(rule == ALIKE && sum.differs))
        snprintf(text, sizeof(text), "%" PRIu64, sum.value);
    return cairn_intern_str(strings, text, &entry->value);
}

static int count_recordings(struct cairn_loader *loader)
{
    struct cairn_map met;
    uint64_t ignored;
    int code = 0;

    cairn_map_init(&met, CAIRN_MODEL_ITEMS_MAX);
    for (size_t i = 0; i < loader->files.count && code == 0; i++)
        if (!cairn_map_get(&met, loader->files.items[i].recording, 0, &ignored)) {
            code = cairn_map_put(&met, loader->files.items[i].recording, 0, 1);
            loader->model->recordings++;
        }
    cairn_map_release(&met);
    return code;
}

int cairn_model_sum_runs(struct cairn_loader *loader)
{
    struct cairn_model *model = loader->model;

    CAIRN_TRY(count_recordings(loader));
    if (model->recordings < 2)
        return 0;
    for (size_t i = 0; i < model->env.count; i++) {
        struct cairn_span key = cairn_intern_get(&model->strings, model->env.items[i].key);

        for (size_t k = 0; k < sizeof(rules) / sizeof(rules[0]); k++)
            if (key.size_bytes == strlen(rules[k].key) &&
                memcmp(key.data, rules[k].key, key.size_bytes) == 0)
                CAIRN_TRY(put_sum(loader, &model->env.items[i], rules[k].rule));
    }
    return 0;
}
