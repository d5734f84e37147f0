/* cmd_query.c: `cairn query [FILE] QUERY [OF]`: what the page shows, as JSON. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "progress_line.h"
#include "say.h"
#include "show.h"

#define PATH_MAX_BYTES (1 << 16)

/* What is about nothing but the recording: behind it stands the file, where it does not in front.
 */
static bool is_of_all(const char *query)
{
    return strcmp(query, "function") != 0 && strcmp(query, "flame") != 0;
}

/* A first word that is a query means the newest recording; a file that is called so is ./FILE. */
static int split_words(const struct cairn_words *words, struct cairn_words *ret_file,
                       const char **ret_query, const char **ret_subject, struct cairn_err *err)
{
    size_t files = words->count > 0 && !cairn_ask_is_query(words->items[0]) ? 1 : 0;

    *ret_file = (struct cairn_words){words->items, files};
    if (words->count <= files) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "query", "`cairn query` needs a query");
        cairn_err_add(err, "There are overview, table, function FUNCTION, flame [STACK], graph and "
                           "timeline.");
        return -CAIRN_EUSAGE;
    }
    *ret_query = words->items[files];
    if (files == 0 && words->count == 2 && is_of_all(*ret_query)) {
        *ret_file = (struct cairn_words){words->items + 1, 1};
        return 0;
    }
    *ret_subject = words->count > files + 1 ? words->items[files + 1] : NULL;
    if (words->count > files + 2)
        return cairn_err_set(err, -CAIRN_EUSAGE, 0, "query", "there is no use for \"%.100s\"",
                             words->items[files + 2]);
    return 0;
}

int cairn_cmd_query(struct cairn_call *call)
{
    const char *query = NULL, *subject = NULL;
    struct cairn_model *model = NULL;
    struct cairn_progress_line line;
    struct cairn_err err = {0};
    struct cairn_outlet outlet;
    struct cairn_words file;
    struct cairn_buf path;
    int code;

    /* A reader that goes away is the outlet's to see: a quiet end. */
    signal(SIGPIPE, SIG_IGN);
    cairn_buf_init(&path, PATH_MAX_BYTES);
    cairn_progress_line_begin(&line);
    code = split_words(&call->words, &file, &query, &subject, &err);
    if (code == 0)
        code = cairn_show_load(&file, &call->settings.reading, &line.progress, &model, &path, &err);
    if (code == 0) {
        cairn_outlet_init(&outlet, STDOUT_FILENO, "stdout");
        code = cairn_ask(model, query, subject, &call->settings,
                         file.count > 0 ? file.items[0] : cairn_buf_cstr(&path), &outlet, &err);
        if (code < 0 && outlet.sys == 0)
            cairn_outlet_release(&outlet); /* half an answer is none */
        else
            code = cairn_outlet_finish(&outlet, code, &err);
    }
    cairn_progress_line_end(&line);
    cairn_model_free(model);
    cairn_buf_release(&path);
    return code < 0 ? cairn_say_err(&err) : 0;
}
