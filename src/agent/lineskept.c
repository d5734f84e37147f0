/* lineskept.c: counters whose sums lie in a spool. */
#include <string.h>

#include "err.h"
#include "exact_parts.h"
#include "lines_parts.h"

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

/* Room in the spool for a block with so many bytes behind its head; NULL: none. */
static struct cairn_lines_block *block_alloc(struct cairn_lines_hub *hub, size_t more_bytes)
{
    size_t size_bytes = sizeof(struct cairn_lines_block) + more_bytes;

    if (hub->spool->head == NULL)
        return NULL;
    return size_bytes > CAIRN_POOL_MOST_BYTES
               ? cairn_budget_map(&hub->spool_budget, size_bytes)
               : cairn_pool_alloc(&hub->blocks, &hub->spool_budget, size_bytes);
}

/* The counter's sums are in the block from now on, and the block is found from the root. */
static void put(struct cairn_lines_hub *hub, struct cairn_lines_counter *counter,
                struct cairn_lines_block *block)
{
    counter->block = block;
    counter->sums = cairn_lines_sums(block);
    block->next = hub->spool->head->root;
    hub->spool->head->root = block;
}

int cairn_lines_keep(struct cairn_lines_hub *hub, struct cairn_lines_counter *counter,
                     const struct cairn_exact_words *words)
{
    const struct cairn_lines_code *code = counter->code;
    struct cairn_lines_block head = {.code_line = words->first_line,
                                     .first_line = code->first_line,
                                     .line_count = code->line_count,
                                     .name_bytes = (uint32_t)words->name.size_bytes,
                                     .qualname_bytes = (uint32_t)words->qualname.size_bytes,
                                     .file_bytes = (uint32_t)words->file.size_bytes};
    size_t sums_bytes = code->line_count * sizeof(*counter->sums);
    struct cairn_lines_block *block;
    char *to;

    cairn_lines_look_for_fork(hub);
    block = block_alloc(hub, cairn_lines_text_bytes(&head) + sums_bytes);
    if (block == NULL) {
        cairn_lines_lose(hub);
        return -CAIRN_ENOMEM;
    }
    *block = head;
    to = mempcpy(block->text, words->name.data, words->name.size_bytes);
    if (words->qualname.size_bytes > 0)
        to = mempcpy(to, words->qualname.data, words->qualname.size_bytes);
    memcpy(to, words->file.data, words->file.size_bytes);
    cairn_budget_unmap(&hub->budget, counter->sums, sums_bytes);
    put(hub, counter, block);
    return 0;
}

/* What is counted without a place in the file goes nowhere. */
static void again(struct cairn_lines_hub *hub, struct cairn_lines_counter *counter)
{
    const struct cairn_lines_block *old = counter->block;
    size_t sums_bytes = counter->code->line_count * sizeof(*counter->sums);
    size_t text_bytes = cairn_lines_text_bytes(old);
    struct cairn_lines_block *block = block_alloc(hub, text_bytes + sums_bytes);

    if (block == NULL) {
        counter->on = false;
        counter->code->active--;
        counter->block = NULL;
        counter->sums = NULL;
        cairn_lines_lose(hub);
        return;
    }
    memcpy(block, old, sizeof(*old) + text_bytes);
    put(hub, counter, block);
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
    }
    cairn_spool_let_go(hub->spool);
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
    hub->spool->head->ended = 1;
}
