/* A reader's beginning, from finding the runtime on, and its end. */
#include "pyread.h"

#include <stdlib.h>

#include "alloc.h"
#include "err.h"
#include "pyread_parts.h"
#include "pyvacant.h"

#define CALLS_MAX ((size_t)1 << 20)

static uint32_t header_bytes(const struct cairn_pylayout *l)
{
    const uint32_t places[] = {
        l->thread_trace,         l->thread_profile,   l->thread_next,       l->thread_interp,
        l->thread_current_frame, l->thread_cframe,    l->thread_ident,      l->thread_native_id,
        l->thread_chunk,         l->thread_chunk_top, l->thread_base_frame, l->thread_exc_info,
        l->thread_exception,
    };
    uint32_t end = 0;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (cairn_pylayout_has(places[i]) && places[i] + 8 > end)
            end = places[i] + 8;
    }
    if (cairn_pylayout_has(l->thread_exc_state) && cairn_pylayout_has(l->excitem_value) &&
        l->thread_exc_state + l->excitem_value + 8 > end)
        end = l->thread_exc_state + l->excitem_value + 8;
    return end;
}

static int set_up(struct cairn_pyread *read)
{
    const struct cairn_pylayout *l = &read->runtime.layout;

    cairn_pylayout_version_text(read->runtime.hexversion, read->version);
    cairn_map_init(&read->by_address, CAIRN_PYREAD_THREADS_MAX);
    cairn_map_init(&read->ctx.calls, CALLS_MAX);
    CAIRN_TRY(
        cairn_pycodes_init(&read->codes, &read->remote, l, read->runtime.table, &read->stats));
    read->ctx = (struct cairn_pycontext){
        .remote = &read->remote,
        .layout = l,
        .table = read->runtime.table,
        .codes = &read->codes,
        .stats = &read->stats,
        .header_bytes = header_bytes(l),
        .calls = read->ctx.calls,
    };
    return cairn_vec_reserve(&read->ctx.walk, CAIRN_PY_DEPTH_MAX, CAIRN_PY_DEPTH_MAX);
}

static int make_reader(const struct cairn_remote *remote, struct cairn_pyread **ret_read,
                       struct cairn_err *err)
{
    *ret_read = cairn_calloc(1, sizeof(**ret_read));
    if (!*ret_read)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "reader", "no memory for a reader");
    (*ret_read)->remote = *remote;
    return 0;
}

/* `code` says how looking for the runtime went. Hands the reader out, or frees it. */
static int finish_reader(struct cairn_pyread *read, int code, struct cairn_pyread **ret_read)
{
    if (code == 0)
        code = set_up(read);
    if (code < 0)
        cairn_pyread_free(read);
    else
        *ret_read = read;
    return code;
}

int cairn_pyread_open(pid_t pid, const struct cairn_remote *remote, struct cairn_pyfiles *files,
                      struct cairn_pysite *ret_site, struct cairn_pyread **ret_read,
                      struct cairn_err *err)
{
    struct cairn_pyread *read;
    int code;

    CAIRN_TRY(make_reader(remote, &read, err));
    read->tids.pid = pid;
    code = cairn_pyruntime_find(pid, &read->remote, files, ret_site, &read->runtime, err);
    return finish_reader(read, code, ret_read);
}

int cairn_pyread_open_site(pid_t pid, const struct cairn_remote *remote,
                           const struct cairn_pysite *site, struct cairn_pyread **ret_read,
                           struct cairn_err *err)
{
    struct cairn_pyread *read;
    int code;

    CAIRN_TRY(make_reader(remote, &read, err));
    read->tids.pid = pid;
    code = cairn_pyruntime_check_site(&read->remote, site, &read->runtime, err);
    return finish_reader(read, code, ret_read);
}

int cairn_pyread_open_at(const struct cairn_remote *remote, uint64_t runtime, uint32_t hexversion,
                         struct cairn_pyread **ret_read, struct cairn_err *err)
{
    return cairn_pyread_open_table(remote, runtime, hexversion, NULL, ret_read, err);
}

int cairn_pyread_open_table(const struct cairn_remote *remote, uint64_t runtime,
                            uint32_t hexversion, const struct cairn_pytable *table,
                            struct cairn_pyread **ret_read, struct cairn_err *err)
{
    struct cairn_pyread *read;
    int code;

    CAIRN_TRY(make_reader(remote, &read, err));
    if (table)
        code = cairn_pyruntime_check_table(&read->remote, runtime, hexversion, table,
                                           &read->runtime, err);
    else
        code = cairn_pyruntime_check(&read->remote, runtime, hexversion, &read->runtime, err);
    return finish_reader(read, code, ret_read);
}

bool cairn_pyread_by_way_of(struct cairn_pyread *read, pid_t tid)
{
    struct cairn_remote remote;

    cairn_remote_live(&remote, tid);
    if (remote.ctx == read->remote.ctx)
        return false;
    read->remote.ctx = remote.ctx;
    return true;
}

void cairn_pyread_free(struct cairn_pyread *read)
{
    if (!read)
        return;
    for (size_t i = 0; i < read->threads.count; i++)
        cairn_pykept_free((struct cairn_pykept *)read->threads.items[i]);
    cairn_vec_release(&read->threads);
    cairn_vec_release(&read->interps);
    cairn_map_release(&read->by_address);
    cairn_pycodes_release(&read->codes);
    cairn_vec_release(&read->ctx.walk);
    cairn_vec_release(&read->ctx.inner);
    cairn_vec_release(&read->ctx.used);
    cairn_map_release(&read->ctx.calls);
    cairn_pyahead_release(&read->ctx.ahead);
    cairn_pytids_release(&read->tids);
    cairn_vec_release(&read->parts);
    cairn_vec_release(&read->slots);
    cairn_vec_release(&read->ok);
    cairn_vec_release(&read->again);
    cairn_vec_release(&read->nested);
    cairn_vec_release(&read->now.watches);
    cairn_vec_release(&read->now.parts);
    cairn_vec_release(&read->now.ok);
    cairn_pyvacant_release(read);
    free(read->scratch);
    cairn_pytasks_free(read->tasks);
    free(read);
}
