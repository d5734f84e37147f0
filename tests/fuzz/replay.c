/* replay.c: gives every input of a corpus to a fuzzing target, as a test (TAP on stdout).
 *
 * usage: corpus_<target> FOLDER
 * Each input lies in a block of exactly its size, so that valgrind and ASan see a read past its
 * end. An empty corpus is a failure: a target that was never fed has shown nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay_file(const char *path)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    uint8_t *exact = NULL;
    int ok = 0;

    if (!file || fstat(fileno(file), &info) < 0)
        goto out;
    exact = malloc((size_t)info.st_size);
    if (info.st_size && (!exact || fread(exact, (size_t)info.st_size, 1, file) != 1))
        goto out;
    LLVMFuzzerTestOneInput(exact, (size_t)info.st_size);
    ok = 1;
out:
    if (!ok)
        printf("# %s: %s\n", path, strerror(errno));
    free(exact);
    if (file)
        fclose(file);
    return ok;
}

int main(int argc, char **argv)
{
    struct dirent **entries;
    int count, failed = 0;

    if (argc != 2)
        return 2;
    count = scandir(argv[1], &entries, is_input, alphasort);
    if (count <= 0) {
        printf("1..1\nnot ok 1 - %s holds inputs\n", argv[1]);
        return 1;
    }
    printf("1..%d\n", count);
    for (int i = 0; i < count; i++) {
        char *path;
        int ok;

        /* Told before it is tried: when it crashes, the log names it. */
        printf("# %s\n", entries[i]->d_name);
        fflush(stdout);
        if (asprintf(&path, "%s/%s", argv[1], entries[i]->d_name) < 0)
            return 1;
        ok = replay_file(path);
        failed += !ok;
        printf("%s %d - %s\n", ok ? "ok" : "not ok", i + 1, entries[i]->d_name);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return failed > 0;
}
