/* elffile.h: finds sections, symbols and functions in a 64-bit little-endian ELF file that may be
 * anything.
 *
 * Reads through a callback in bounded pieces; no size or count of the file decides an allocation
 * (there is none). Threads: one per source.
 */
#ifndef CAIRN_ELFFILE_H
#define CAIRN_ELFFILE_H

#include <stddef.h>
#include <stdint.h>

struct cairn_elffile {
    /* Fills `data` whole: 0, or a negative code. */
    int (*read)(void *ctx, uint64_t offset, void *data, size_t size_bytes);
    void *ctx;
    /* Filled by cairn_elffile_open(). */
    uint64_t section_offset, segment_offset;
    uint32_t section_count, segment_count, name_section;
};

struct cairn_elfsymbol {
    const char *name;             /* wanted, set by the caller */
    uint64_t address, size_bytes; /* as linked; 0 when it was not found or is not defined there */
};

struct cairn_elffunction {
    uint64_t address,
        size_bytes;       /* as linked; size 0: not told, as of what is written in assembly */
    uint64_t name_offset; /* of the file, for cairn_elffile_text() */
    uint16_t section;     /* in which it lies */
    uint8_t rank;         /* of those at one address, the lowest has the name to show */
};

/* Checks the head. 0, -CAIRN_EFOREIGN (no such ELF file) or what `read` said. */
int cairn_elffile_open(struct cairn_elffile *file);

/* Address as linked and size of the section. 0, -CAIRN_ENOTFOUND, or what `read` said. */
int cairn_elffile_section(struct cairn_elffile *file, const char *name, uint64_t *ret_address,
                          uint64_t *ret_offset, uint64_t *ret_size_bytes);

/* Looks the symbols up in .dynsym, then .symtab. 0 or what `read` said; see `address`. */
int cairn_elffile_symbols(struct cairn_elffile *file, struct cairn_elfsymbol *symbols,
                          size_t count);

/* Hands over what stands in .symtab, or where that was stripped in .dynsym, for code. 0, or what
 * `read` or `take` said. */
int cairn_elffile_functions(struct cairn_elffile *file,
                            int (*take)(void *ctx, const struct cairn_elffunction *function),
                            void *ctx);

/* The text at `offset` of the file, up to its NUL or to what `buf` has room for. 0 or what `read`
 * said. */
int cairn_elffile_text(struct cairn_elffile *file, uint64_t offset, char *buf, size_t size_bytes);

/* Address as linked of the page at `offset` of the file, where a loaded segment starts; the first
 * such segment counts. And where in the file the byte at an address as linked stands, and the
 * other way round.
 * 0 or -CAIRN_ENOTFOUND. */
int cairn_elffile_page_address(struct cairn_elffile *file, uint64_t offset, uint64_t page_bytes,
                               uint64_t *ret_address);
int cairn_elffile_offset_of(struct cairn_elffile *file, uint64_t address, uint64_t *ret_offset);
int cairn_elffile_address_of(struct cairn_elffile *file, uint64_t offset, uint64_t *ret_address);

#endif
