/* chooser.h: which code objects somebody wants the lines of, told by words.
 *
 * A word is a name, a qualified name, a module, MODULE:QUALNAME or FILE:LINE; without words it is
 * the code of the program itself, the module __main__. The name of a class means the methods that
 * are defined in it and in classes in it, not its body, which runs once. Until 3.10, where code has
 * no qualified name, names are worked out from where code lies, when the body of its module runs.
 * All of it runs under the GIL. Owner: the caller ends it with cairn_chooser_release().
 */
#ifndef CAIRN_CHOOSER_H
#define CAIRN_CHOOSER_H

#include <stdbool.h>

#include "pycompat.h"
#include "spool.h"

struct cairn_chooser {
    PyObject *words; /* a list of str; NULL: it is not in use */
    PyObject
        *methods; /* until 3.10: {address: code} of methods of classes that are meant; NULL: none */
    uint64_t *met; /* shared: of which words code was met, bit by bit; NULL: nobody is told */
};

/* `words`: a list of str. 0; -1 with an exception set. */
int cairn_chooser_init(struct cairn_chooser *chooser, PyObject *words);
void cairn_chooser_release(struct cairn_chooser *chooser);

/* From now on it is told in the folder of which words code is met (CAIRN_SPOOL_MET): in a file that
 * stays mapped for good, and in children made by fork. */
void cairn_chooser_tell(struct cairn_chooser *chooser, PyObject *folder, bool calls);

/* Whether this code, which runs with these globals, is wanted. Exceptions are left as they were. */
bool cairn_chooser_wants(struct cairn_chooser *chooser, PyCodeObject *code, PyObject *globals);

/* Calls `take` with the code of a function, and of what a method, class or property is made of. 0;
 * -1 with an exception set, as `take` returns it. */
int cairn_chooser_codes(PyObject *thing, int (*take)(void *context, PyObject *code), void *context);

#endif
