#include "spill.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io.h"

#define PATH_MAX_BYTES 4096

void cairn_spill_open(struct cairn_spill *spill)
{
    const char *place = getenv("TMPDIR");
    char path[PATH_MAX_BYTES];

    if (place == NULL || place[0] != '/')
        place = "/tmp";
    *spill = (struct cairn_spill){.fd = cairn_io_open(place, O_TMPFILE | O_RDWR, 0600)};
    if (spill->fd >= 0)
        return;
    /* Not every file system makes files without names. */
    spill->fd = -1;
    if (snprintf(path, sizeof(path), "%s/cairn-spill-XXXXXX", place) >= (int)sizeof(path))
        return;
    spill->fd = mkostemp(path, O_CLOEXEC);
    if (spill->fd >= 0)
        unlink(path);
}

void cairn_spill_close(struct cairn_spill *spill)
{
    cairn_io_close(&spill->fd);
}
