/* golden.h: texts as they stand in tests/golden/. CAIRN_GOLDEN=write puts them there, to be looked
 * at. */
#ifndef CAIRN_GOLDEN_H
#define CAIRN_GOLDEN_H

#include "buf.h"

/* Ends the test when `text` is not what tests/golden/FILE holds. */
void golden_assert(const char *file, struct cairn_buf *text);

#endif
