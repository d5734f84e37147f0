/* make_recording.c: writes the recording of recording.h and, as text, what it says.
 *
 * usage: make_recording RECORDING TEXT [ROTATE_BYTES]
 */
#include <stdio.h>
#include <stdlib.h>

#include "recording.h"

int main(int argc, char **argv)
{
    struct cairn_buf truth;
    FILE *file;
    int code;

    if (argc < 3)
        return 2;
    cairn_buf_init(&truth, 1 << 20);
    code = recording_write(argv[1], argc > 3 ? strtoull(argv[3], NULL, 10) : 0, false, &truth);
    recording_sort(&truth);
    file = fopen(argv[2], "w");
    if (code == 0 && (file == NULL || fputs(cairn_buf_cstr(&truth), file) < 0 || fclose(file) != 0))
        code = -CAIRN_EIO;
    if (code < 0)
        fprintf(stderr, "make_recording: %s\n", cairn_err_sentence(code));
    cairn_buf_release(&truth);
    return code < 0;
}
