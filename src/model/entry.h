/* entry.h: functions in which a process begins that was made to work for its parent. */
#ifndef CAIRN_ENTRY_H
#define CAIRN_ENTRY_H

#include "model.h"

bool cairn_function_is_entry(const struct cairn_function *function);

#endif
