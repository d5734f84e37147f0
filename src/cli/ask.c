#include "ask.h"

#include <string.h>

#include "command.h"
#include "json_out.h"
#include "nearest.h"
#include "query.h"
#include "show.h"

#define PPM_ALL 1e6
#define JSON_TYPE "application/json; charset=utf-8"
#define SUBJECT "of"

static size_t find(const char *name)
{
    size_t kind = 0;

    while (kind < CAIRN_QUERY_COUNT && strcmp(cairn_query_name(kind), name) != 0)
        kind++;
    return kind;
}

bool cairn_ask_is_query(const char *name)
{
    return find(name) < CAIRN_QUERY_COUNT;
}

static int refuse_name(const char *name, struct cairn_err *err)
{
    struct cairn_nearest nearest;

    cairn_err_set(err, -CAIRN_EUSAGE, 0, "query", "\"%.100s\" is no query", name);
    cairn_nearest_init(&nearest, name);
    for (size_t i = 0; cairn_query_name(i) != NULL; i++)
        cairn_nearest_try(&nearest, cairn_query_name(i));
    if (cairn_nearest_best(&nearest) != NULL)
        cairn_err_add(err, "Did you mean %s?", cairn_nearest_best(&nearest));
    cairn_err_add(err, "There are overview, table, function FUNCTION, flame [STACK], graph and "
                       "timeline.");
    return -CAIRN_EUSAGE;
}

static int check(const struct cairn_query *query, const char *subject,
                 const struct cairn_settings *settings, struct cairn_err *err)
{
    bool is_flame = query->kind == CAIRN_QUERY_FLAME;
    bool has_rows = query->kind != CAIRN_QUERY_GRAPH && query->kind != CAIRN_QUERY_TIMELINE;

    if (query->kind == CAIRN_QUERY_FUNCTION && subject == NULL) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "query", "the query function needs a FUNCTION");
        cairn_err_add(err, "A name, a qualified name, a handle that another query gave (f-…), or "
                           "a regular expression.");
        return -CAIRN_EUSAGE;
    }
    if (subject != NULL && query->kind != CAIRN_QUERY_FUNCTION && !is_flame)
        return cairn_err_set(err, -CAIRN_EUSAGE, 0, "query", "the query %s takes no \"%.100s\"",
                             cairn_query_name(query->kind), subject);
    if (settings->by == CAIRN_BY_TASK || (!has_rows && settings->by != CAIRN_CHOICE_NONE) ||
        (is_flame && settings->by != CAIRN_CHOICE_NONE && settings->by != CAIRN_BY_FUNCTION &&
         settings->by != CAIRN_BY_LINE)) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "query", "the query %s has no such rows",
                      cairn_query_name(query->kind));
        cairn_err_add(err, "%s",
                      !has_rows  ? "Leave out --by."
                      : is_flame ? "Stacks are by function or by line."
                                 : "`cairn report --by task --json` tells of tasks.");
        return -CAIRN_EUSAGE;
    }
    return 0;
}

int cairn_ask(const struct cairn_model *model, const char *name, const char *subject,
              const struct cairn_settings *settings, const char *file, struct cairn_outlet *out,
              struct cairn_err *err)
{
    struct cairn_query query = {.kind = (enum cairn_query_kind)find(name)};
    struct cairn_filter filter;
    struct cairn_tally tally;
    int code;

    if (query.kind == CAIRN_QUERY_COUNT)
        return refuse_name(name, err);
    if (subject != NULL && subject[0] == '\0') /* as an expression it would match everything */
        subject = NULL;
    cairn_report_options_init(&query.report);
    query.report.by = settings->by == CAIRN_CHOICE_NONE ? -1 : (int)settings->by;
    query.report.sort = (enum cairn_sort)settings->sort;
    query.report.limit = (size_t)settings->limit;
    query.report.with_idle = settings->idle;
    query.report.file = file;
    query.report.of = query.kind == CAIRN_QUERY_FUNCTION ? subject : NULL;
    query.root = query.kind == CAIRN_QUERY_FLAME ? subject : NULL;
    query.depth_max = (size_t)settings->depth;
    query.least = (double)settings->cutoff_ppm / PPM_ALL;
    query.slices = (unsigned)settings->slices;
    CAIRN_TRY(check(&query, subject, settings, err));
    CAIRN_TRY(cairn_show_filter(settings, &filter, err));
    CAIRN_TRY(cairn_query_tally_make(model, &query, &filter, &tally, err));
    code = cairn_query_json(&tally, &query, out, err);
    cairn_tally_release(&tally);
    /* 127, "not found", is about programs and files, not about what is in a recording. */
    if (code != -CAIRN_ENOTFOUND)
        return code;
    err->code = -CAIRN_EUSAGE;
    return -CAIRN_EUSAGE;
}

static int read_parameter(const struct cairn_server_parameter *parameter,
                          struct cairn_settings *settings, const char **ret_subject,
                          struct cairn_err *err)
{
    const struct cairn_option *option =
        cairn_option_find(parameter->name, strlen(parameter->name), CAIRN_FOR_QUERY);
    bool alone = parameter->value[0] == '\0';

    if (strcmp(parameter->name, SUBJECT) == 0) {
        *ret_subject = parameter->value;
        return 0;
    }
    if (option == NULL || !(option->commands & CAIRN_FOR_QUERY) ||
        option->group == CAIRN_GROUP_GENERAL)
        return cairn_err_set(err, -CAIRN_EUSAGE, 0, "query", "there is no parameter \"%.100s\"",
                             parameter->name);
    return cairn_option_set(option,
                            alone && option->kind == CAIRN_VALUE_FLAG ? NULL : parameter->value,
                            parameter->name, settings, err);
}

static int answer(const struct cairn_model *model, const char *name,
                  const struct cairn_server_request *request, struct cairn_settings *settings,
                  const char *file, struct cairn_outlet *out, struct cairn_err *err)
{
    const char *subject = NULL;

    cairn_settings_outrank(settings);
    for (size_t i = 0; i < request->parameter_count; i++)
        CAIRN_TRY(read_parameter(&request->parameters[i], settings, &subject, err));
    return cairn_ask(model, name, subject, settings, file, out, err);
}

static void put_error(const struct cairn_err *err, struct cairn_buf *out)
{
    struct cairn_json json;

    cairn_buf_clear(out);
    cairn_json_init(&json, out, 0);
    cairn_json_object(&json);
    cairn_json_put_u64(&json, "schema", CAIRN_JSON_SCHEMA);
    cairn_json_put_str(&json, "error", err->text[0] ? err->text : cairn_err_sentence(err->code));
    cairn_json_close(&json);
    (void)cairn_json_end(&json); /* what is missing then is a body */
}

void cairn_ask_request(const struct cairn_model *model, const char *name,
                       const struct cairn_server_request *request,
                       const struct cairn_settings *settings, const char *file,
                       struct cairn_server_answer *ret_answer)
{
    struct cairn_settings chosen = *settings;
    struct cairn_err err = {0};
    struct cairn_outlet out;
    int code;

    cairn_outlet_init(&out, -1, "the answer");
    code = answer(model, name, request, &chosen, file, &out, &err);
    code = cairn_outlet_finish(&out, code, &err);
    *ret_answer = (struct cairn_server_answer){.type = JSON_TYPE, .owned = true};
    ret_answer->status = code == 0                   ? MHD_HTTP_OK
                         : !cairn_ask_is_query(name) ? MHD_HTTP_NOT_FOUND
                         : code == -CAIRN_EUSAGE     ? MHD_HTTP_BAD_REQUEST
                                                     : MHD_HTTP_INTERNAL_SERVER_ERROR;
    if (code < 0)
        put_error(&err, &out.buf);
    ret_answer->body.data = cairn_buf_detach(&out.buf, &ret_answer->body.size_bytes);
    cairn_outlet_release(&out);
}
