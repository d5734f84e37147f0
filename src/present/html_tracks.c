#include "html_tracks.h"

#include "escape.h"

#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define DRAIN_ITEMS 4096

struct tracks {
    const struct cairn_tally *wall;
    const struct cairn_html_options *options;
    uint32_t *thread_of, *process_of;
    struct cairn_json *json;
    struct cairn_html_sink *sink;
    struct cairn_buf label, shown, visible;
};

/* Of a process that no sample met lines may have been counted all the same. */
static void mark_counted(const struct tracks *tracks, const struct cairn_thread *threads)
{
    const struct cairn_tally *wall = tracks->wall;
    const struct cairn_counted_opcode *opcodes;
    const struct cairn_counted_line *lines;
    size_t line_count = cairn_model_counted_lines(wall->model, &lines);
    size_t opcode_count = cairn_model_counted_opcodes(wall->model, &opcodes);

    for (size_t i = 0; i < line_count; i++)
        if (wall->kept_process[lines[i].thread])
            tracks->process_of[threads[lines[i].thread].process] = 1;
    for (size_t i = 0; i < opcode_count; i++)
        if (wall->kept_process[opcodes[i].thread])
            tracks->process_of[threads[opcodes[i].thread].process] = 1;
}

static void mark_threads(const struct tracks *tracks, const struct cairn_tally *tally)
{
    for (size_t i = 0; i < tally->cell_count; i++)
        tracks->thread_of[tally->cells[i].thread] = 1;
}

static void mark(const struct tracks *tracks, const struct cairn_html_tallies *tallies)
{
    const struct cairn_tally *wall = tracks->wall;
    bool regions = cairn_model_counter(wall->model, "regions_processes") > 0;
    const struct cairn_thread *threads;
    size_t count = cairn_model_threads(wall->model, &threads);

    mark_threads(tracks, wall);
    mark_threads(tracks, tallies->tasks);
    if (tallies->calls)
        mark_threads(tracks, tallies->calls);
    for (size_t i = 0; i < count; i++) {
        if (regions && wall->kept[i] && threads[i].python)
            tracks->thread_of[i] = 1;
        if (tracks->thread_of[i])
            tracks->process_of[threads[i].process] = 1;
    }
    mark_counted(tracks, threads);
}

/* As it is on the terminal: who writes the names of threads may be anybody. */
static void put_shown(struct tracks *tracks, const char *key)
{
    cairn_buf_clear(&tracks->visible);
    cairn_escape_terminal(&tracks->visible, cairn_buf_span(&tracks->shown));
    cairn_json_put_text(tracks->json, key, cairn_buf_span(&tracks->visible));
}

static void put_text(struct tracks *tracks, const char *key, struct cairn_span text)
{
    cairn_buf_clear(&tracks->shown);
    cairn_redact_text(&tracks->options->redact, text, &tracks->shown);
    put_shown(tracks, key);
}

/* Before the texts are used again, which forgets that they could not be had. */
static int after_item(struct tracks *tracks, size_t index)
{
    if (tracks->label.code == -CAIRN_ENOMEM || tracks->shown.code == -CAIRN_ENOMEM ||
        tracks->visible.code == -CAIRN_ENOMEM)
        return -CAIRN_ENOMEM;
    return index % DRAIN_ITEMS == DRAIN_ITEMS - 1 ? tracks->sink->drain(tracks->sink) : 0;
}

static int put_processes(struct tracks *tracks)
{
    const struct cairn_process *processes;
    size_t count = cairn_model_processes(tracks->wall->model, &processes);
    struct cairn_json *json = tracks->json;
    uint32_t number = 0;

    cairn_json_key(json, cairn_span_of("processes"));
    cairn_json_array(json);
    for (size_t i = 0; i < count; i++) {
        if (!tracks->process_of[i])
            continue;
        tracks->process_of[i] = number++;
        cairn_buf_clear(&tracks->label);
        cairn_roles_label(&tracks->wall->roles, (uint32_t)i, &tracks->label);
        cairn_json_object(json);
        cairn_json_put_u64(json, "pid", processes[i].pid);
        cairn_buf_clear(&tracks->shown);
        cairn_redact_path(&tracks->options->redact, cairn_buf_span(&tracks->label), &tracks->shown);
        put_shown(tracks, "role");
        cairn_json_close(json);
        CAIRN_TRY(after_item(tracks, i));
    }
    cairn_json_close(json);
    return 0;
}

static int put_threads(struct tracks *tracks)
{
    const struct cairn_thread *threads;
    size_t count = cairn_model_threads(tracks->wall->model, &threads);
    struct cairn_json *json = tracks->json;
    uint32_t number = 0;

    cairn_json_key(json, cairn_span_of("threads"));
    cairn_json_array(json);
    for (size_t i = 0; i < count; i++) {
        if (!tracks->thread_of[i]) {
            tracks->thread_of[i] = CAIRN_HTML_NONE;
            continue;
        }
        tracks->thread_of[i] = number++;
        cairn_json_object(json);
        cairn_json_put_u64(json, "process", tracks->process_of[threads[i].process]);
        cairn_json_put_u64(json, "tid", threads[i].tid);
        put_text(tracks, "name", threads[i].name);
        cairn_json_close(json);
        CAIRN_TRY(after_item(tracks, i));
    }
    cairn_json_close(json);
    return 0;
}

int cairn_html_tracks_put(const struct cairn_html_tallies *tallies,
                          const struct cairn_html_options *options, uint32_t *thread_of,
                          uint32_t *process_of, struct cairn_json *json,
                          struct cairn_html_sink *sink)
{
    struct tracks tracks = {
        .wall = tallies->wall,
        .options = options,
        .thread_of = thread_of,
        .process_of = process_of,
        .json = json,
        .sink = sink,
    };
    int code;

    cairn_buf_init(&tracks.label, TEXT_MAX_BYTES);
    cairn_buf_init(&tracks.shown, TEXT_MAX_BYTES);
    cairn_buf_init(&tracks.visible, TEXT_MAX_BYTES);
    mark(&tracks, tallies);
    code = put_processes(&tracks);
    if (code == 0)
        code = put_threads(&tracks);
    cairn_buf_release(&tracks.label);
    cairn_buf_release(&tracks.shown);
    cairn_buf_release(&tracks.visible);
    return code;
}
