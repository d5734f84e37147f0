#include "chunks.h"

#include <stdlib.h>

#include "alloc.h"

void cairn_chunks_init(struct cairn_chunks *chunks, const struct cairn_model *model,
                       uint64_t from_ns, uint64_t to_ns, uint32_t holds)
{
    *chunks =
        (struct cairn_chunks){.model = model, .from_ns = from_ns, .to_ns = to_ns, .holds = holds};
    cairn_buf_init(&chunks->buf, CAIRN_CHUNK_MAX_BYTES);
}

void cairn_chunks_release(struct cairn_chunks *chunks)
{
    cairn_reader_free(chunks->reader);
    cairn_buf_release(&chunks->buf);
    free(chunks->track_masks);
}

int cairn_chunks_choose(struct cairn_chunks *chunks, const bool *chosen)
{
    const struct cairn_model *model = chunks->model;

    /* Rows of a lost track have no bit of their own. */
    if (model->lost_thread != UINT32_MAX && chosen[model->lost_thread])
        return 0;
    chunks->track_masks = cairn_calloc(model->writers.count + 1, sizeof(*chunks->track_masks));
    if (!chunks->track_masks)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < model->writers.count; i++)
        chunks->track_masks[i] = cairn_ids_mask(&model->writers.items[i].tracks, chosen);
    return 0;
}

/* Whether a chunk can hold a moment of the chosen time. */
static bool touches(const struct cairn_chunks *chunks, const struct cairn_chunk_info *info,
                    uint64_t shift_ns)
{
    if (info->first_ns > info->last_ns)
        return true;
    return info->last_ns + shift_ns + chunks->lead_ns > chunks->from_ns &&
           info->first_ns + shift_ns <= chunks->to_ns;
}

/* Whether a chunk of the chosen time holds none of the chosen threads. Its ticks count all the
 * same; at the edges of the time they must be looked at. */
static bool pass_over(struct cairn_chunks *chunks, const struct cairn_model_file *file,
                      const struct cairn_chunk_info *info, uint32_t writer)
{
    if (!chunks->track_masks || chunks->track_masks[writer] & info->track_mask ||
        info->first_ns > info->last_ns || info->first_ns + file->shift_ns <= chunks->from_ns ||
        info->last_ns + file->shift_ns > chunks->to_ns)
        return false;
    chunks->passed_ticks += file->chunks[chunks->chunk].ticks;
    return true;
}

static void tell(const struct cairn_chunks *chunks)
{
    const struct cairn_model *model = chunks->model;
    double files = (double)model->files.count, done = (double)chunks->file;

    if (chunks->file < model->files.count && model->files.items[chunks->file].chunk_count)
        done += (double)chunks->chunk / (double)model->files.items[chunks->file].chunk_count;
    cairn_progress_tell(model->progress, files > 0 ? 0.5 + done / files / 2 : 1);
}

static bool matters(struct cairn_chunks *chunks, const struct cairn_model_file *file,
                    const struct cairn_chunk_info *info, uint64_t *ret_writer)
{
    return info && info->understood && file->chunks[chunks->chunk].holds & chunks->holds &&
           touches(chunks, info, file->shift_ns) &&
           cairn_map_get(&chunks->model->writer_index, chunks->file, info->writer, ret_writer) &&
           !pass_over(chunks, file, info, (uint32_t)*ret_writer);
}

int cairn_chunks_next(struct cairn_chunks *chunks)
{
    const struct cairn_model *model = chunks->model;

    for (; chunks->file < model->files.count; chunks->file++) {
        const struct cairn_model_file *file = &model->files.items[chunks->file];

        if (!chunks->reader) {
            CAIRN_TRY(cairn_reader_open_fd(file->fd, &chunks->reader, NULL));
            chunks->chunk = 0;
        }
        while (chunks->chunk < file->chunk_count) {
            struct cairn_span sections;
            uint64_t writer;
            int code;

            if (!matters(chunks, file, cairn_reader_chunk(chunks->reader, chunks->chunk),
                         &writer)) {
                chunks->chunk++;
                continue;
            }
            code =
                cairn_reader_load(chunks->reader, chunks->chunk++, &chunks->buf, &sections, NULL);
            if (code == -CAIRN_EDAMAGED)
                continue;
            if (code < 0)
                return code;
            tell(chunks);
            chunks->writer = (uint32_t)writer;
            chunks->shift_ns = file->shift_ns;
            cairn_cursor_init(&chunks->sections, sections);
            return 0;
        }
        cairn_reader_free(chunks->reader);
        chunks->reader = NULL;
    }
    tell(chunks);
    return -CAIRN_EEND;
}
