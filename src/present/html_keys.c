/* What the page's keys do, in the words of its help: web/src/main.tsx does it; and sentences that
 * its views show, each where web/src names it. */
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

static const struct {
    const char *name, *text;
} notes[] = {
    {"red", "The redder, the more the whole would gain if the function itself cost nothing. "
            "\u21ba: it calls itself. Left out:"},
    {"graph", "Call graph. Tab goes from function to function, arrows move, plus and minus zoom."},
    {"chart", "Calls in time. Arrows move from call to call, plus and minus zoom, Enter opens the "
              "function."},
    {"point", "Point at a call, or focus the chart and use the arrow keys."},
    {"bound", "At most: how much faster the whole would be if the function itself cost nothing."},
    {"sampled", "What was sampled is wall time, in shares of the function's."},
    {"alone", "One thread of one process: there are no two sides here. cairn html AFTER --before "
              "BEFORE puts another recording beside this one."},
    {"unjudged",
     "A side does not tell how many samples it is made of: changes are shown, and not judged."},
    {"same", "no function differs by more than chance"},
    {"differ", "functions differ by more than chance"},
    {"points", "In points of a hundredth of each side\u2019s time."},
    {"tree", "Flame graph. The tree below says the same."},
    {"changes", "Flame graph of what changed. Arrows move from box to box; the table below is by "
                "function."},
    {"changed", "A box is as wide as the own times in it, each that of the side which has more: so "
                "what is gone is there, too. Orange: the right has more (+); blue: it has less "
                "(\u2212); grey: no difference that can be told."},
    {"longest", "are in this page. All of a part of the time: cairn html --from 1s --to 2s; all: "
                "cairn export -f perfetto."},
    {"lanes", "The two ends below choose a part of the time."},
    {"clocked", "Hits and times were counted; they are"},
    {"unclocked", "Hits were counted, no clock was read; they are"},
    {"without", ": they are counted by process, and what is chosen says nothing of them"},
    {"let_go", "were counted until let go for --max-overhead: so many and more."},
    {"poor", "over half of its tottime is what counting took of it"},
    {"partly",
     "[partly counted]: so many and more; a tottime may hold that of what was let go, and "
     "the sum of all calls is too small. [partly timed]: each call, and times of those "
     "alone that were timed; the others\u2019 fall to what called them."},
    {"percent", "% Time is of its function\u2019s lines; a line\u2019s time holds what it calls."},
    {"clockless", "Hits are exact; no clock was read, and there are no samples."},
    {"hybrid", "Hits are exact; times are of samples."},
    {"unread", "n/a: they could not be read."},
    {"made", "Only what was chosen when it was made:"},
    {"unsampled", "n/a: no samples were taken here."},
    {"unlike", "no calls were counted in one of them"},
    {"uncopied", "the browser does not let this page copy:"},
    {"calls", "Calls that were counted are of the whole recording: the chosen"},
    {"gain", "without its own time the whole would be at most"},
    {"nothing", "Nothing was recorded here."},
    {"outermost_calls", "of them with none of its own below"},
    {"idle", "of waiting for work is counted in."},
    {"apart", "of waiting for work is set apart (Idle counts it in)."},
    {"intervals", "Change: what the right has more (+) or less (\u2212). Intervals hold for all "
                  "rows together in 95 of 100 comparisons, of the sampling "
                  "alone: two runs differ by more."},
    {"drawn", "Drawn of all stacks: with so many, the page has no times of those in focus."},
    {"draw", "Draw over a part of it to choose that time everywhere; a click drops it."},
    {"about", "This sentence is about all that this page holds; what stands below, about what is "
              "chosen above."},
    {"tasks", "of tasks it is known how long they ran and waited, and no more"},
    {"task", "Every 10 ms, or more seldom, it was noted which task ran (its state is unknown), and "
             "where the others waited."},
    {"untimed", "Of this region or task the page has all of the time: what is chosen of it is left "
                "out."},
    {"few", "Of so large a recording the page has no two parts of the time to compare."},
    {"joined", "There are so many threads that the page has their processes alone."},
    {"moments", "not known to this page, which has no times of these stacks."},
    {"shown", "Changes of this metric are shown, and not judged; who judges it:"},
    {"empty", "No time is left of what is chosen above."},
    {"absent", "It has no time in what is chosen above."},
    {"line", "A line\u2019s time holds what it calls."},
    {"source", "Source, and what was given to calls, is in a page only when it was made with "
               "--source."},
    {"uncounted", "How often it was called is not known"},
    {"deeper", "What is deeper is left out."},
    {"arrows", "Arrows move, Enter zooms."},
    {"patterns",
     "Focus and hide are patterns, as --focus and --ignore. All that is chosen stands in "
     "the address."},
    {"failed", "The server does not answer: what is shown is of another time."},
    {"lost", "The server does not answer: what is shown stays as it is."},
    {"live", "Live: what is shown grows with the recording."},
    {"paused", "Paused: what is shown stays as it is."},
    {"ended", "The recording has ended."},
    {"held", "Names and paths as they were recorded, the command line, and these facts."},
    {"redacted", "Redacted: no environment, no command line, no values of marks; home folder and "
                 "user name are taken out, paths cut."},
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
    cairn_json_key(json, cairn_span_of("notes"));
    cairn_json_object(json);
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
        cairn_json_put_str(json, notes[i].name, notes[i].text);
    cairn_json_close(json);
}
