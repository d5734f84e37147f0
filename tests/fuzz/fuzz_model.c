/* fuzz_model.c: takes its input for the sections of a chunk, writes them as chunks of two writers
 * and reads the recording all the way to the rows of a report. Whatever it says, indexes must be
 * inside their tables and sums must close. */
#include <stdlib.h>

#include "exactrows.h"
#include "sink.h"
#include "table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_tables(const struct cairn_model *model)
{
    const struct cairn_function *functions;
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;
    const struct cairn_process *processes;
    const struct cairn_thread *threads;
    size_t function_count = cairn_model_functions(model, &functions);
    size_t frame_count = cairn_model_frames(model, &frames);
    size_t node_count = cairn_model_nodes(model, &nodes);
    size_t process_count = cairn_model_processes(model, &processes);
    size_t thread_count = cairn_model_threads(model, &threads);

    for (size_t i = 0; i < function_count; i++)
        require(functions[i].qualname.size_bytes > 0);
    for (size_t i = 0; i < frame_count; i++)
        require(frames[i].function < function_count);
    for (size_t i = 1; i < node_count; i++)
        require(nodes[i].parent < i && nodes[i].frame < frame_count);
    for (size_t i = 0; i < process_count; i++) {
        uint32_t up = processes[i].parent;

        /* No ring: from anywhere the top is reached. */
        for (size_t steps = 0; up != UINT32_MAX; steps++) {
            require(up < process_count && steps < process_count);
            up = processes[up].parent;
        }
    }
    for (size_t i = 0; i < thread_count; i++)
        require(threads[i].process < process_count);
}

static void check_rows(const struct cairn_tally *tally, enum cairn_by by)
{
    struct cairn_rows_options options = {.by = by, .with_idle = true};
    struct cairn_weight sum = {0, 0};
    struct cairn_rows rows;

    require(cairn_rows_make(tally, &options, &rows, NULL) == 0);
    for (size_t i = 0; i < rows.count; i++) {
        sum.ticks += rows.items[i].self.ticks;
        sum.value_ns += rows.items[i].self.value_ns;
        require(rows.items[i].total.ticks <= rows.base.ticks);
    }
    require(sum.ticks == rows.base.ticks && sum.value_ns == rows.base.value_ns);
    cairn_rows_release(&rows);
}

/* Callers stand together, below what they call. */
static void check_calls(const struct cairn_tally *tally)
{
    struct cairn_exact_table table;
    size_t callers = 0;

    require(cairn_exact_table_make(tally, CAIRN_SORT_SELF, &table) == 0);
    for (size_t i = 0; i < table.lines.count; i++) {
        const struct cairn_exact_line *line = &table.lines.items[i];

        callers += line->caller_count;
        for (size_t j = 0; j < line->caller_count; j++)
            require(table.callers.items[line->first_caller + j].callee == line->function);
    }
    require(callers <= table.callers.count);
    cairn_exact_table_release(&table);
}

static void check_model(const struct cairn_model *model)
{
    const struct cairn_quality *quality = cairn_model_quality(model);
    struct cairn_filter filter;
    struct cairn_tally tally;

    check_tables(model);
    for (int how = 0; how < 4; how++) {
        cairn_filter_init(&filter);
        filter.only_my_code = how & 1;
        filter.threads_joined = how & 2;
        require(cairn_tally_make(model, &filter, &tally, NULL) == 0);
        check_tables(tally.model);
        require(tally.total.ticks == quality->samples && tally.torn == quality->torn &&
                tally.truncated == quality->truncated && tally.ticks == quality->ticks);
        for (int by = 0; by < CAIRN_BY_COUNT; by++)
            check_rows(&tally, (enum cairn_by)by);
        check_calls(&tally);
        cairn_tally_release(&tally);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_sink_options in_memory = {.path = NULL};
    struct cairn_span sections = {data, size};
    struct cairn_model *model;
    struct cairn_sink *sink;

    if (size > CAIRN_CHUNK_MAX_BYTES / 2 || cairn_sink_open(&in_memory, &sink, NULL) < 0)
        return 0;
    for (uint32_t writer = 1; writer <= 2; writer++)
        require(cairn_sink_append(sink, CAIRN_CHUNK_DATA, writer, 1, 0, 0, sections, NULL) == 0);
    if (cairn_model_load_fd(cairn_sink_fd(sink), &model, NULL) == 0) {
        check_model(model);
        cairn_model_free(model);
    }
    cairn_sink_close(sink, NULL);
    return 0;
}
