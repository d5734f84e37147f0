#include "option.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "nearest.h"
#include "text.h"

const char *cairn_option_group_name(enum cairn_option_group group)
{
    static const char *const names[CAIRN_GROUP_COUNT] = {
        [CAIRN_GROUP_RECORD] = "Recording",
        [CAIRN_GROUP_SHOW] = "What is shown",
        [CAIRN_GROUP_FILTER] = "Of which part of the recording",
        [CAIRN_GROUP_GENERAL] = "General",
    };

    return names[group];
}

const struct cairn_option *cairn_option_find(const char *name, size_t size_bytes, unsigned commands)
{
    for (size_t i = 0; i < cairn_option_count; i++) {
        const struct cairn_option *option = &cairn_options[i];

        if ((option->commands & commands) != 0 && strlen(option->name) == size_bytes &&
            memcmp(option->name, name, size_bytes) == 0)
            return option;
    }
    return NULL;
}

const struct cairn_option *cairn_option_letter(char letter, unsigned commands)
{
    for (size_t i = 0; letter != '\0' && i < cairn_option_count; i++)
        if (cairn_options[i].letter == letter && (cairn_options[i].commands & commands) != 0)
            return &cairn_options[i];
    return NULL;
}

static void *field_of(const struct cairn_option *option, struct cairn_settings *settings)
{
    return (char *)settings + option->offset;
}

void cairn_settings_init(struct cairn_settings *settings)
{
    memset(settings, 0, sizeof(*settings));
    settings->graph_depth = settings->tool_port = CAIRN_CHOICE_NONE;
    for (size_t i = 0; i < cairn_option_count; i++) {
        const struct cairn_option *option = &cairn_options[i];

        if (option->kind == CAIRN_VALUE_CHOICE)
            *(uint64_t *)field_of(option, settings) = CAIRN_CHOICE_NONE;
        /* The table's own defaults are right: a unit test sets each of them. */
        if (option->fallback != NULL)
            (void)cairn_option_set(option, option->fallback, option->name, settings, NULL);
    }
}

static int read_flag(const char *text, bool *ret_value)
{
    static const char *const words[2][4] = {{"false", "0", "no", "off"},
                                            {"true", "1", "yes", "on"}};

    for (unsigned value = 0; value < 2; value++)
        for (size_t i = 0; i < 4; i++)
            if (strcasecmp(text, words[value][i]) == 0) {
                *ret_value = value != 0;
                return 0;
            }
    return -CAIRN_EUSAGE;
}

static int read_choice(const struct cairn_option *option, const char *text, uint64_t *ret_value)
{
    const char *word;

    if (text == NULL) { /* it may be left out: the first is meant */
        *ret_value = 0;
        return 0;
    }
    for (size_t i = 0; (word = option->choice(i)) != NULL; i++)
        if (strcmp(word, text) == 0) {
            *ret_value = i;
            return 0;
        }
    return -CAIRN_EUSAGE;
}

/* "0.5" or "0.5%". */
static int read_percent(const char *text, uint64_t *ret_ppm)
{
    char *end;
    double percent;

    if (strspn(text, "0123456789.") != strcspn(text, "%") || text[0] == '\0')
        return -CAIRN_EUSAGE;
    percent = strtod(text, &end);
    if (end == text || (strcmp(end, "") != 0 && strcmp(end, "%") != 0) || percent > 100)
        return -CAIRN_EUSAGE;
    *ret_ppm = (uint64_t)(percent * 1e4 + 0.5);
    return 0;
}

static int read_number(const struct cairn_option *option, const char *text, uint64_t *ret_value)
{
    uint64_t value;

    switch (option->kind) {
    case CAIRN_VALUE_TIME:
        CAIRN_TRY(cairn_text_parse_time(text, &value));
        break;
    case CAIRN_VALUE_SIZE:
        CAIRN_TRY(cairn_text_parse_size(text, &value));
        break;
    case CAIRN_VALUE_RATE:
        CAIRN_TRY(cairn_text_parse_rate(text, &value));
        if (value == 0) { /* "max", which no range bounds */
            *ret_value = 0;
            return 0;
        }
        break;
    case CAIRN_VALUE_PERCENT:
        CAIRN_TRY(read_percent(text, &value));
        break;
    default:
        CAIRN_TRY(cairn_text_parse_u64(text, &value));
        break;
    }
    if (value < option->min || value > option->max)
        return -CAIRN_EUSAGE;
    *ret_value = value;
    return 0;
}

/* "USR2", "SIGUSR2" or 12. */
static int read_signal(const char *text, uint64_t *ret_number)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"HUP", SIGHUP},   {"INT", SIGINT},     {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},
                   {"USR2", SIGUSR2}, {"ALRM", SIGALRM},   {"TERM", SIGTERM}, {"CONT", SIGCONT},
                   {"URG", SIGURG},   {"WINCH", SIGWINCH}, {"IO", SIGIO},     {"PWR", SIGPWR}};
    /* Those that cannot be handled, that say that the program is broken, and those of the C
     * library. */
    static const int refused[] = {SIGKILL, SIGSTOP, SIGILL, SIGBUS, SIGFPE, SIGSEGV, 32, 33};
    const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (strcasecmp(name, signals[i].name) == 0) {
            *ret_number = (uint64_t)signals[i].number;
            return 0;
        }
    CAIRN_TRY(cairn_text_parse_u64(text, ret_number));
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (*ret_number == (uint64_t)refused[i])
            return -CAIRN_EUSAGE;
    return *ret_number == 0 || *ret_number >= NSIG ? -CAIRN_EUSAGE : 0;
}

/* Text NULL: those that the program names itself. */
static int add_place(struct cairn_places *places, const char *text)
{
    size_t before = places->outranked ? 0 : places->count;

    if (text != NULL && (text[0] == '\0' || before == CAIRN_PLACES_MAX))
        return -CAIRN_EUSAGE;
    places->count = before;
    places->outranked = false;
    places->wanted = true;
    if (text != NULL)
        places->items[places->count++] = text;
    return 0;
}

void cairn_settings_outrank(struct cairn_settings *settings)
{
    for (size_t i = 0; i < cairn_option_count; i++) {
        uint8_t kind = cairn_options[i].kind;

        if (kind == CAIRN_VALUE_PLACES || kind == CAIRN_VALUE_PATTERNS)
            ((struct cairn_places *)field_of(&cairn_options[i], settings))->outranked = true;
    }
}

static int refuse_choice(const struct cairn_option *option, const char *text, const char *origin,
                         struct cairn_err *err)
{
    size_t optional = option->value[0] == '[' ? strlen("[=") : 0;
    char words[256] = "";
    struct cairn_nearest nearest;
    const char *word;

    cairn_nearest_init(&nearest, text);
    for (size_t i = 0; (word = option->choice(i)) != NULL; i++) {
        size_t used = strlen(words);

        cairn_nearest_try(&nearest, word);
        snprintf(words + used, sizeof(words) - used, " %s", word);
    }
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "option", "%s: there is no %.*s '%.100s'", origin,
                  (int)strcspn(option->value + optional, "]"), option->value + optional, text);
    cairn_err_add(err, "It is one of:%s", words);
    if (cairn_nearest_best(&nearest) != NULL)
        cairn_err_add(err, "Did you mean %s?", cairn_nearest_best(&nearest));
    return -CAIRN_EUSAGE;
}

static int refuse_value(const struct cairn_option *option, const char *text, const char *origin,
                        struct cairn_err *err)
{
    if (option->kind == CAIRN_VALUE_CHOICE)
        return refuse_choice(option, text, origin, err);
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "option", "%s: '%.100s' cannot be used as %s", origin,
                  text, option->kind == CAIRN_VALUE_FLAG ? "a yes or no" : option->value);
    cairn_err_add(err, "It takes %s.",
                  option->kind == CAIRN_VALUE_FLAG ? "true or false"
                  : option->range != NULL          ? option->range
                                                   : "at least one character");
    return -CAIRN_EUSAGE;
}

int cairn_option_set(const struct cairn_option *option, const char *text, const char *origin,
                     struct cairn_settings *settings, struct cairn_err *err)
{
    void *field = field_of(option, settings);
    int code;

    switch (option->kind) {
    case CAIRN_VALUE_FLAG:
        code = read_flag(text == NULL ? "true" : text, field);
        break;
    case CAIRN_VALUE_TEXT:
    case CAIRN_VALUE_FILE:
        code = text[0] == '\0' && !option->may_be_empty ? -CAIRN_EUSAGE : 0;
        if (code == 0)
            *(const char **)field = text[0] == '\0' ? NULL : text;
        break;
    case CAIRN_VALUE_CHOICE:
        code = read_choice(option, text, field);
        break;
    case CAIRN_VALUE_SIGNAL:
        code = read_signal(text, field);
        break;
    case CAIRN_VALUE_PLACES:
        code = text != NULL && strchr(text, '\n') != NULL ? -CAIRN_EUSAGE : add_place(field, text);
        break;
    case CAIRN_VALUE_PATTERNS:
        code = add_place(field, text);
        break;
    default:
        code = read_number(option, text, field);
        break;
    }
    return code < 0 ? refuse_value(option, text, origin, err) : 0;
}
