/* banned.h: names that no file of Cairn may use. Put before every file by the build (-include).
 *
 * strcpy, strcat and sprintf know no end; strtok, gmtime and localtime keep their state where every
 * thread writes it. The headers that declare them come first, since they may not say them later.
 */
#ifndef CAIRN_BANNED_H
#define CAIRN_BANNED_H

#include <stdio.h>
#include <string.h>
#include <time.h>

#undef sprintf /* a macro where the C library fortifies */
#pragma GCC poison strcpy strcat sprintf strtok gmtime localtime

#endif
