/* What the page's keys do, in the words of its help: web/src/main.tsx does it. */
#include "html_keys.h"

#include <stddef.h>

#include "escape.h"

static const struct {
    const char *key, *words;
} keys[] = {
    {"1, 2, 3, 4", "Overview, Explore, Function, Compare"},
    {"Enter", "open what has the focus, or else the first of the top functions; in a function, "
              "go to its hottest line; zoom in the graph"},
    {".", "what can be done with what has the focus, or is pointed at with the right button: "
          "Focus, Filter, Drill, Copy"},
    {"/", "search"},
    {"m", "next metric"},
    {"i", "count idle waiting in, or set it apart"},
    {"c", "only my code: the time of libraries is that of the line of yours that called them"},
    {"f", "focus: only stacks that hold the selected function"},
    {"h", "hide: without the stacks that hold it"},
    {"o", "open the selected function"},
    {"t", "all of the time, not a part of it"},
    {"x", "drop all filters"},
    {"[ and ]", "back and forward: undo and redo"},
    {"s", "the next shape: icicle, flame, sunburst, call graph"},
    {"arrows", "move in the flame graph, the tree and the tabs; move an end of the chosen time"},
    {"Escape", "show all of the graph; close this"},
    {"?", "this list"},
};

void cairn_html_keys_put(struct cairn_json *json)
{
    cairn_json_key(json, cairn_span_of("keys"));
    cairn_json_array(json);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        cairn_json_array(json);
        cairn_json_text(json, cairn_span_of(keys[i].key));
        cairn_json_text(json, cairn_span_of(keys[i].words));
        cairn_json_close(json);
    }
    cairn_json_close(json);
}
