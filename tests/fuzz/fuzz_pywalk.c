/* Any memory as that of a Python process (a page set, tests/unit/pages.h): opened, read at two
 * moments, names and all. */
#include <stdint.h>
#include <stdlib.h>

#include "err.h"
#include "pages.h"
#include "pyread.h"

static size_t moment_of(void *ctx, uint64_t address)
{
    (void)address;
    return *(const size_t *)ctx;
}

static void check_thread(const struct cairn_pythread *thread)
{
    if (thread->depth > CAIRN_PY_DEPTH_MAX || thread->kept > thread->depth)
        abort();
    for (uint32_t i = 0; i < thread->depth; i++) {
        if (thread->frames[i].offset < -1)
            abort();
    }
}

static void ignore_name(void *ctx, uint64_t pthread_id, uint64_t native_id, struct cairn_span name)
{
    (void)pthread_id;
    (void)native_id;
    *(size_t *)ctx += name.size_bytes;
}

static void read_all(struct pages *pages)
{
    struct cairn_remote remote;
    struct cairn_pyread *read;
    struct cairn_err err = {0};
    size_t moment = 0, count, bytes = 0;

    pages->choose = moment_of;
    pages->choose_ctx = &moment;
    pages_remote(pages, &remote);
    if (cairn_pyread_open_at(&remote, pages->runtime, pages->hexversion, &read, &err) < 0)
        return;
    for (int tick = 0; tick < 4; tick++) {
        struct cairn_pythread *const *threads;

        moment = tick % 2;
        if (cairn_pyread_tick(read, &err) < 0)
            break;
        threads = cairn_pyread_threads(read, &count);
        for (size_t i = 0; i < count; i++)
            check_thread(threads[i]);
    }
    (void)cairn_pyread_names(read, NULL, ignore_name, &bytes);
    cairn_pyread_free(read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct pages pages;

    pages_init(&pages);
    /* What was loaded before the damage is memory enough. */
    (void)pages_load_span(&pages, (struct cairn_span){data, size_bytes});
    read_all(&pages);
    pages_release(&pages);
    return 0;
}
