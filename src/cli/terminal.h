/* terminal.h: what the place a text goes to can show. */
#ifndef CAIRN_TERMINAL_H
#define CAIRN_TERMINAL_H

#include <stdbool.h>

struct cairn_terminal {
    bool is_tty, colour;
    unsigned columns; /* 40 to 1000 */
};

/* Of a descriptor, by what it is, NO_COLOR, FORCE_COLOR, TERM and COLUMNS; 80 columns where
 * nothing else is known. */
void cairn_terminal_ask(int fd, struct cairn_terminal *ret_terminal);

#endif
