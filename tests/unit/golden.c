#include "golden.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io.h"

#define TEXT_MAX_BYTES (1 << 20)

void golden_assert(const char *file, struct cairn_buf *text)
{
    const char *mode = getenv("CAIRN_GOLDEN");
    struct cairn_buf golden;
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "tests/golden/%s", file);
    if (mode && strcmp(mode, "write") == 0) {
        fd = cairn_io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(cairn_io_write(fd, text->data, text->size_bytes), 0);
        cairn_io_close(&fd);
    }
    cairn_buf_init(&golden, TEXT_MAX_BYTES);
    if (cairn_io_read_file(AT_FDCWD, path, &golden) < 0)
        fail_msg("%s is not there: CAIRN_GOLDEN=write makes it", path);
    assert_string_equal(cairn_buf_cstr(text), cairn_buf_cstr(&golden));
    cairn_buf_release(&golden);
}
