/* main.c: the way in. Everything else is in a library, where tests reach it. */
#include "command.h"

int main(int argc, char **argv)
{
    return cairn_main(argc, argv);
}
