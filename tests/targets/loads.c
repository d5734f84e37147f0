/* loads.c: a C program that waits for a while, and then loads a Python it was not linked to.
 *
 *     loads MS LIBRARY SCRIPT [ARGUMENT...]
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    int (*run)(int argc, char **argv);
    struct timespec wait;
    void *library;
    long ms;

    if (argc < 4)
        return 2;
    ms = strtol(argv[1], NULL, 10);
    wait = (struct timespec){ms / 1000, ms % 1000 * 1000000};
    nanosleep(&wait, NULL);
    library = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
    run = library ? (int (*)(int, char **))(uintptr_t)dlsym(library, "Py_BytesMain") : NULL;
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    argv[2] = argv[0];
    return run(argc - 2, argv + 2);
}
