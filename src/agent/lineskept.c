/* lineskept.c: counters whose sums lie in a spool. */
#include <string.h>

#include "err.h"
#include "exact_parts.h"
#include "lines_parts.h"

#define MOST_SHARES 64 /* threads that are told apart, of a counter */
#define OTHERS 0       /* the number of those beyond: no thread has it */

void cairn_lines_spool(struct cairn_lines_hub *hub, struct cairn_spool *spool)
{
    cairn_exact_watch();
    hub->spool = spool;
    hub->forks = cairn_exact_forks;
    hub->spool_budget = (struct cairn_budget){.max_bytes = CAIRN_SPOOL_REGION_BYTES,
                                              .grow = cairn_spool_grow,
                                              .shrink = cairn_spool_shrink,
                                              .context = spool};
}

void cairn_lines_lose(struct cairn_lines_hub *hub)
{
    hub->lost++;
    if (hub->spool != NULL && hub->spool->head != NULL && hub->forks == cairn_exact_forks)
        hub->spool->head->lost++;
}

void cairn_lines_displaced(struct cairn_lines_hub *hub)
{
    if (hub->spool != NULL && hub->spool->head != NULL && hub->forks == cairn_exact_forks)
        hub->spool->head->displaced = 1;
}

/* A block in the spool with this head, whose numbers are 0 and whose texts are to be filled in, and
 * which is found from the root. NULL: no room. */
static struct cairn_lines_block *block_new(struct cairn_lines_hub *hub,
                                           const struct cairn_lines_block *head)
{
    size_t size_bytes = cairn_lines_block_bytes(head);
    struct cairn_lines_block *block = NULL;

    if (hub->spool->head != NULL)
        block = size_bytes > CAIRN_POOL_MOST_BYTES
                    ? cairn_budget_map(&hub->spool_budget, size_bytes)
                    : cairn_pool_alloc(&hub->blocks, &hub->spool_budget, size_bytes);
    if (block == NULL)
        return NULL;
    *block = *head;
    block->next = hub->spool->head->root;
    hub->spool->head->root = block;
    return block;
}

static char *put_text(char *to, struct cairn_span text)
{
    return text.size_bytes == 0 ? to : mempcpy(to, text.data, text.size_bytes);
}

/* The same, under these words. `head` has how many lines and units there are. */
struct cairn_lines_block *cairn_lines_block_make(struct cairn_lines_hub *hub,
                                                 struct cairn_lines_block *head,
                                                 const struct cairn_exact_words *words,
                                                 struct cairn_span listing)
{
    struct cairn_lines_block *block;

    head->code_line = words->first_line;
    head->name_bytes = (uint32_t)words->name.size_bytes;
    head->qualname_bytes = (uint32_t)words->qualname.size_bytes;
    head->file_bytes = (uint32_t)words->file.size_bytes;
    head->listing_bytes = (uint32_t)listing.size_bytes;
    block = block_new(hub, head);
    if (block != NULL)
        (void)put_text(
            put_text(put_text(put_text(block->text, words->name), words->qualname), words->file),
            listing);
    return block;
}

/* Another block, of a thread or in a child's own file, under the same words. What is counted
 * without a place there goes nowhere. */
static struct cairn_lines_block *block_again(struct cairn_lines_hub *hub,
                                             const struct cairn_lines_block *old)
{
    struct cairn_lines_block *block = block_new(hub, old);

    if (block != NULL)
        memcpy(block->text, old->text, cairn_lines_text_bytes(old));
    else
        cairn_lines_lose(hub);
    return block;
}

int cairn_lines_keep(struct cairn_lines_hub *hub, struct cairn_lines_counter *counter,
                     const struct cairn_exact_words *words)
{
    const struct cairn_lines_code *code = counter->code;
    struct cairn_lines_block head = {.first_line = code->first_line,
                                     .line_count = code->line_count};
    struct cairn_lines_block *block;

    cairn_lines_look_for_fork(hub);
    block = cairn_lines_block_make(hub, &head, words, (struct cairn_span){NULL, 0});
    if (block == NULL) {
        cairn_lines_lose(hub);
        return -CAIRN_ENOMEM;
    }
    cairn_budget_unmap(&hub->budget, counter->sums, code->line_count * sizeof(*counter->sums));
    counter->block = block;
    counter->sums = cairn_lines_sums(block);
    return 0;
}

static struct cairn_lines_share *share_of(const struct cairn_lines_counter *counter,
                                          uint64_t number)
{
    struct cairn_lines_share *share = counter->shares;

    while (share != NULL && share->number != number)
        share = share->next;
    return share;
}

void cairn_lines_share_out(struct cairn_lines_hub *hub, struct cairn_lines_counter *counter,
                           uint64_t number, uint64_t tid, uint64_t start_ns)
{
    bool first = counter->shares == NULL;
    struct cairn_lines_share *share = share_of(counter, number);
    uint64_t whose = number;

    if (share == NULL && counter->share_count >= MOST_SHARES) {
        whose = OTHERS;
        share = share_of(counter, whose);
    }
    counter->number = number;
    if (share == NULL) {
        share = cairn_pool_alloc(&hub->pool, &hub->budget, sizeof(*share));
        if (share == NULL)
            return;
        share->block = first ? counter->block : block_again(hub, counter->block);
        if (share->block == NULL)
            return;
        share->block->tid = whose == OTHERS ? 0 : tid;
        share->block->start_ns = whose == OTHERS ? 0 : start_ns;
        share->number = whose;
        share->next = counter->shares;
        counter->shares = share;
        counter->share_count++;
    }
    counter->block = share->block;
    counter->sums = cairn_lines_sums(share->block);
}

/* `old`: where they were counted until now; NULL: nowhere. */
static void use_block(struct cairn_units *units, struct cairn_lines_block *block,
                      const struct cairn_lines_block *old)
{
    units->block = block;
    units->hits = block == NULL ? NULL : cairn_lines_hits(block);
    units->raises = block == NULL ? NULL : units->hits + units->count;
    cairn_spots_use(&units->spots, block == NULL ? NULL : cairn_lines_spots(block),
                    old == NULL ? NULL : cairn_lines_spots(old));
}

int cairn_lines_count_units(struct cairn_lines_hub *hub, const void *key,
                            const struct cairn_units_plan *plan,
                            const struct cairn_exact_words *words, struct cairn_span listing)
{
    struct cairn_lines_code *code = cairn_lines_code_of(hub, key);
    struct cairn_lines_block *block,
        head = {.unit_count = plan->count, .spot_count = plan->spot_count};
    struct cairn_units *units =
        code == NULL ? NULL : cairn_pool_alloc(&hub->pool, &hub->budget, sizeof(*units));

    cairn_lines_look_for_fork(hub);
    block = units == NULL ? NULL : cairn_lines_block_make(hub, &head, words, listing);
    if (block == NULL) {
        cairn_lines_lose(hub);
        return -CAIRN_ENOMEM;
    }
    *units = (struct cairn_units){.count = plan->count,
                                  .what = plan->what,
                                  .spots = {.count = plan->spot_count, .places = plan->spots}};
    use_block(units, block, NULL);
    code->units = units;
    return 0;
}

void cairn_lines_list_again(struct cairn_lines_hub *hub, const void *key,
                            const struct cairn_exact_words *words, struct cairn_span listing)
{
    struct cairn_lines_code *code = cairn_lines_find(hub, key);
    struct cairn_lines_block *block, *old, head = {.next = NULL};

    cairn_lines_look_for_fork(hub);
    if (code == NULL || code->units == NULL || code->units->block == NULL)
        return;
    old = code->units->block;
    head.unit_count = old->unit_count;
    head.spot_count = old->spot_count;
    head.let_go = old->let_go;
    block = cairn_lines_block_make(hub, &head, words, listing);
    if (block == NULL)
        return;
    memcpy(cairn_lines_hits(block), cairn_lines_hits(old), 2 * old->unit_count * sizeof(uint64_t));
    memcpy(cairn_lines_spots(block), cairn_lines_spots(old),
           old->spot_count * sizeof(struct cairn_spot));
    use_block(code->units, block, old);
    old->unit_count = old->spot_count = 0; /* nothing is in it any more */
}

void cairn_lines_unit(struct cairn_lines_hub *hub, struct cairn_lines_code *code, uint32_t unit)
{
    cairn_lines_look_for_fork(hub);
    if (code->units->hits == NULL || !hub->counts_units || code->gone)
        return;
    if (unit < code->units->count)
        code->units->hits[unit]++;
    else
        cairn_lines_lose(hub);
    cairn_lines_charge(hub, code, 1);
}

void cairn_lines_let_go(struct cairn_lines_hub *hub, struct cairn_lines_code *code)
{
    for (struct cairn_lines_counter *counter = code->counters; counter; counter = counter->next)
        if (counter->block != NULL) {
            cairn_lines_off(hub, counter);
            counter->block->let_go = 1;
            for (struct cairn_lines_share *share = counter->shares; share; share = share->next)
                share->block->let_go = 1;
        }
    if (code->units != NULL && code->units->block != NULL)
        code->units->block->let_go = 1;
    if (code->counts != NULL && code->counts->block != NULL)
        code->counts->block->let_go = 1;
    code->gone = true;
}

void cairn_lines_raise(struct cairn_lines_hub *hub, const struct cairn_lines_code *code,
                       uint32_t unit)
{
    cairn_lines_look_for_fork(hub);
    if (code->units->raises != NULL && hub->counts_units && !code->gone &&
        unit < code->units->count)
        code->units->raises[unit]++;
}

struct cairn_spots *cairn_lines_spots_now(struct cairn_lines_hub *hub,
                                          const struct cairn_lines_code *code)
{
    cairn_lines_look_for_fork(hub);
    return hub->counts_units && !code->gone && code->units->spots.met != NULL ? &code->units->spots
                                                                              : NULL;
}

static void again(struct cairn_lines_hub *hub, struct cairn_lines_counter *counter)
{
    counter->block = block_again(hub, counter->block);
    counter->number = 0;
    counter->shares = NULL;
    counter->share_count = 0;
    counter->sums = counter->block == NULL ? NULL : cairn_lines_sums(counter->block);
    if (counter->block == NULL && counter->on) {
        counter->on = false;
        counter->code->active--;
    }
}

/* What was told of need not be told again: that the child has from its parent. */
static void counts_again(struct cairn_lines_hub *hub, struct cairn_line_counts *counts)
{
    struct cairn_lines_block *block = block_again(hub, counts->block);

    for (uint32_t i = 0; block != NULL && i < counts->place_count; i++) {
        cairn_lines_places(block)[i] = counts->places[i];
        cairn_lines_places(block)[i].hits = cairn_lines_places(block)[i].gone = 0;
    }
    cairn_lines_use_block(counts, block);
}

void cairn_lines_again(struct cairn_lines_hub *hub)
{
    hub->lost = 0; /* what was, the parent says */
    hub->blocks = (struct cairn_pool){0};
    hub->spool_budget.used_bytes = 0;
    /* Such children end by os._exit(), mostly: it is not asked whether they meant to. */
    if (cairn_spool_again(hub->spool) == 0)
        hub->spool->head->ended = 1;
    cairn_lines_know_calls(hub, hub->knows_calls);
    for (size_t i = 0; i < hub->codes.cap; i++) {
        struct cairn_lines_code *code = hub->codes.slots[i].value;

        for (struct cairn_lines_counter *counter = code == NULL ? NULL : code->counters;
             counter != NULL; counter = counter->next)
            if (counter->block != NULL)
                again(hub, counter);
        if (code != NULL && code->units != NULL && code->units->block != NULL)
            use_block(code->units, block_again(hub, code->units->block), code->units->block);
        if (code != NULL && code->counts != NULL && code->counts->block != NULL)
            counts_again(hub, code->counts);
    }
    cairn_spool_let_go(hub->spool);
    cairn_line_meter_again(hub);
}

void cairn_lines_know_calls(struct cairn_lines_hub *hub, bool knows)
{
    hub->knows_calls = knows;
    if (hub->spool->head != NULL)
        hub->spool->head->knows_calls = knows;
}

void cairn_lines_end(struct cairn_lines_hub *hub)
{
    if (hub->spool == NULL || hub->spool->head == NULL || hub->forks != cairn_exact_forks)
        return;
    cairn_line_meter_write(hub);
    hub->spool->head->ended = 1;
}
