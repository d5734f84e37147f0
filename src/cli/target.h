/* target.h: what `cairn run` runs, from the words behind its options.
 *
 * -m or -c; else a file that ends in .py or .pyz, a folder with __main__.py, or a file whose first
 * line names a Python, each run by a Python; else a command from PATH.
 */
#ifndef CAIRN_TARGET_H
#define CAIRN_TARGET_H

#include <stdbool.h>

#include "buf.h"
#include "command.h"

struct cairn_target {
    char **argv;              /* for execvp; the array is ours, strings are the caller's or below */
    struct cairn_buf name;    /* for the name of a recording: script, module or command */
    struct cairn_buf program; /* path of the Python or the command; argv[0] may point here */
    struct cairn_buf shown;   /* the words as one line of a shell; cut where that is very long */
};

/* Resolves `words`; `python` as given by --python, NULL when it was not. Borrows `words`.
 * -CAIRN_EUSAGE without any word, -CAIRN_ENOTFOUND, -CAIRN_ENOTEXEC, -CAIRN_ENOMEM. In any case
 * the target is to be released. */
int cairn_target_resolve(const struct cairn_words *words, const char *python,
                         struct cairn_target *ret_target, struct cairn_err *err);
void cairn_target_release(struct cairn_target *target);

/* The path of the Python that is to run something: --python, else the venv's, else PATH's. */
int cairn_target_python(const char *python, struct cairn_buf *ret_path, struct cairn_err *err);

/* Whether a word alone names a Python program: what `cairn WORD` takes for `cairn run WORD`. */
bool cairn_target_is_script(const char *word);

/* Adds "Did you mean …?" with the file beside `word` that is spelled most like it, if any. */
void cairn_target_hint(const char *word, struct cairn_err *err);

#endif
