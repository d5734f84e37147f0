/* heirs.h: children that a program gives an environment are counted as those that inherit one. */
#ifndef CAIRN_HEIRS_H
#define CAIRN_HEIRS_H

#include "pycompat.h"

/* Adds bequeath() to the module. 0; -1 with an exception set. */
int cairn_heirs_add(PyObject *module);

#endif
