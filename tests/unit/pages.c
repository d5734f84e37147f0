#include "pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "cursor.h"
#include "err.h"
#include "io.h"

#define MAGIC "CPYPAGES"
#define LINES_MAX ((size_t)1 << 20)

void pages_init(struct pages *pages)
{
    *pages = (struct pages){0};
    for (size_t i = 0; i < PAGES_MOMENTS_MAX; i++)
        cairn_map_init(&pages->moments[i].by_address, LINES_MAX);
}

void pages_release(struct pages *pages)
{
    for (size_t i = 0; i < PAGES_MOMENTS_MAX; i++) {
        cairn_vec_release(&pages->moments[i].lines);
        cairn_map_release(&pages->moments[i].by_address);
    }
}

uint8_t *pages_line(struct pages *pages, size_t moment, uint64_t address)
{
    struct pages_moment *m = &pages->moments[moment];
    uint64_t index;

    if (!cairn_map_get(&m->by_address, address, 0, &index))
        return NULL;
    return m->lines.items[index].bytes;
}

static int add_line(struct pages_moment *moment, uint64_t address, const uint8_t *bytes)
{
    size_t count = moment->lines.count;

    CAIRN_TRY(cairn_vec_reserve(&moment->lines, count + 1, LINES_MAX));
    CAIRN_TRY(cairn_map_put(&moment->by_address, address, 0, count));
    moment->lines.items[count].address = address;
    memcpy(moment->lines.items[count].bytes, bytes, PAGES_LINE_BYTES);
    moment->lines.count++;
    return 0;
}

static uint8_t *get_line(struct pages *pages, uint64_t address)
{
    size_t moment = pages->choose ? pages->choose(pages->choose_ctx, address) : 0;
    uint8_t *line = pages_line(pages, moment, address);
    uint8_t bytes[PAGES_LINE_BYTES];

    if (line || !pages->behind)
        return line;
    if (cairn_remote_get(pages->behind, address, bytes, sizeof(bytes)) < 0 ||
        add_line(&pages->moments[moment], address, bytes) < 0)
        return NULL;
    return pages_line(pages, moment, address);
}

static bool read_part(struct pages *pages, const struct cairn_remote_part *part)
{
    uint64_t address = part->address, end = part->address + part->size_bytes;

    while (address < end) {
        uint64_t start = address & ~(uint64_t)(PAGES_LINE_BYTES - 1);
        uint64_t next = start + PAGES_LINE_BYTES < end ? start + PAGES_LINE_BYTES : end;
        const uint8_t *line = get_line(pages, start);

        if (!line)
            return false;
        memcpy((uint8_t *)part->data + (address - part->address), line + (address - start),
               (size_t)(next - address));
        address = next;
    }
    return true;
}

static int pages_read(void *ctx, const struct cairn_remote_part *parts, size_t count,
                      size_t *ret_parts)
{
    for (*ret_parts = 0; *ret_parts < count; ++*ret_parts) {
        if (!read_part(ctx, &parts[*ret_parts]))
            return *ret_parts ? -CAIRN_ESHORT : -CAIRN_EUNREADABLE;
    }
    return 0;
}

void pages_remote(struct pages *pages, struct cairn_remote *ret_remote)
{
    *ret_remote = (struct cairn_remote){.read = pages_read, .ctx = pages};
}

static int load_moment(struct cairn_cursor *cur, struct pages_moment *moment)
{
    uint32_t count;

    CAIRN_TRY(cairn_cursor_u32(cur, &count));
    while (count-- > 0) {
        uint64_t address;
        struct cairn_span bytes;

        CAIRN_TRY(cairn_cursor_u64(cur, &address));
        CAIRN_TRY(cairn_cursor_take(cur, PAGES_LINE_BYTES, &bytes));
        CAIRN_TRY(add_line(moment, address, bytes.data));
    }
    return 0;
}

int pages_load_span(struct pages *pages, struct cairn_span file)
{
    struct cairn_cursor cur;
    struct cairn_span magic;
    uint32_t moments;

    cairn_cursor_init(&cur, file);
    CAIRN_TRY(cairn_cursor_take(&cur, strlen(MAGIC), &magic));
    if (memcmp(magic.data, MAGIC, strlen(MAGIC)) != 0)
        return -CAIRN_EFOREIGN;
    CAIRN_TRY(cairn_cursor_u64(&cur, &pages->runtime));
    CAIRN_TRY(cairn_cursor_u32(&cur, &pages->hexversion));
    CAIRN_TRY(cairn_cursor_u32(&cur, &moments));
    if (moments > PAGES_MOMENTS_MAX)
        return -CAIRN_EDAMAGED;
    pages->moment_count = moments;
    for (size_t i = 0; i < moments; i++)
        CAIRN_TRY(load_moment(&cur, &pages->moments[i]));
    return 0;
}

int pages_load(struct pages *pages, const char *path)
{
    struct cairn_buf buf;
    int code;

    cairn_buf_init(&buf, (size_t)64 << 20);
    code = cairn_io_read_file(AT_FDCWD, path, &buf) < 0 ? -CAIRN_EIO : 0;
    if (code == 0)
        code = pages_load_span(pages, cairn_buf_span(&buf));
    cairn_buf_release(&buf);
    return code;
}

int pages_save(const struct pages *pages, const char *path)
{
    struct cairn_buf buf;
    int fd, code;

    cairn_buf_init(&buf, (size_t)64 << 20);
    cairn_buf_add_str(&buf, MAGIC);
    cairn_buf_u64(&buf, pages->runtime);
    cairn_buf_u32(&buf, pages->hexversion);
    cairn_buf_u32(&buf, (uint32_t)pages->moment_count);
    for (size_t i = 0; i < pages->moment_count; i++) {
        const struct pages_moment *moment = &pages->moments[i];

        cairn_buf_u32(&buf, (uint32_t)moment->lines.count);
        for (size_t line = 0; line < moment->lines.count; line++) {
            cairn_buf_u64(&buf, moment->lines.items[line].address);
            cairn_buf_add(&buf, moment->lines.items[line].bytes, PAGES_LINE_BYTES);
        }
    }
    fd = buf.code < 0 ? -1 : cairn_io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    code = fd < 0 || cairn_io_write(fd, buf.data, buf.size_bytes) < 0 ? -CAIRN_EIO : 0;
    cairn_io_close(&fd);
    cairn_buf_release(&buf);
    return code;
}
