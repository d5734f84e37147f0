#include "elffile.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "err.h"

/* Real files stay far below; a made-up one must not keep us busy. */
#define SECTIONS_MAX 4096
#define SEGMENTS_MAX 256
#define SYMBOLS_MAX (1u << 20)
#define NAME_MAX_BYTES 64
#define SYMBOLS_AT_ONCE 256
#define TEXT_AT_ONCE 64

static int read_section(struct cairn_elffile *file, uint32_t index, Elf64_Shdr *ret_section)
{
    if (index >= file->section_count)
        return -CAIRN_ENOTFOUND;
    return file->read(file->ctx, file->section_offset + index * sizeof(*ret_section), ret_section,
                      sizeof(*ret_section));
}

int cairn_elffile_open(struct cairn_elffile *file)
{
    Elf64_Ehdr head;
    int code = file->read(file->ctx, 0, &head, sizeof(head));

    if (code < 0)
        return code == -CAIRN_ESHORT ? -CAIRN_EFOREIGN : code;
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_phentsize != sizeof(Elf64_Phdr) ||
        head.e_phnum > SEGMENTS_MAX)
        return -CAIRN_EFOREIGN;
    file->segment_offset = head.e_phoff;
    file->segment_count = head.e_phnum;
    file->section_offset = head.e_shoff;
    file->section_count = 0;
    file->name_section = head.e_shstrndx;
    /* Sections may have been stripped; then there is nothing to look in, which is no error. */
    if (head.e_shoff && head.e_shentsize == sizeof(Elf64_Shdr) && head.e_shnum <= SECTIONS_MAX)
        file->section_count = head.e_shnum;
    return 0;
}

/* Whether the string at `offset` of the file is `name`. An unreadable one is not. */
static bool string_is(struct cairn_elffile *file, uint64_t offset, const char *name)
{
    char text[NAME_MAX_BYTES];
    size_t size = strlen(name) + 1;

    return size <= sizeof(text) && file->read(file->ctx, offset, text, size) == 0 &&
           memcmp(text, name, size) == 0;
}

int cairn_elffile_section(struct cairn_elffile *file, const char *name, uint64_t *ret_address,
                          uint64_t *ret_offset, uint64_t *ret_size_bytes)
{
    Elf64_Shdr names, section;

    CAIRN_TRY(read_section(file, file->name_section, &names));
    for (uint32_t i = 0; i < file->section_count; i++) {
        CAIRN_TRY(read_section(file, i, &section));
        if (section.sh_name < names.sh_size &&
            string_is(file, names.sh_offset + section.sh_name, name)) {
            *ret_address = section.sh_addr;
            *ret_offset = section.sh_offset;
            *ret_size_bytes = section.sh_size;
            return 0;
        }
    }
    return -CAIRN_ENOTFOUND;
}

static void match_symbol(struct cairn_elffile *file, const Elf64_Shdr *strings,
                         const Elf64_Sym *symbol, struct cairn_elfsymbol *wanted, size_t count)
{
    char text[NAME_MAX_BYTES] = "";
    size_t room;

    if (symbol->st_shndx == SHN_UNDEF || !symbol->st_value || symbol->st_name >= strings->sh_size)
        return;
    room = (size_t)(strings->sh_size - symbol->st_name);
    if (room > sizeof(text))
        room = sizeof(text);
    if (file->read(file->ctx, strings->sh_offset + symbol->st_name, text, room) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        if (!wanted[i].address && strncmp(text, wanted[i].name, room) == 0 &&
            strlen(wanted[i].name) < room) {
            wanted[i].address = symbol->st_value;
            wanted[i].size_bytes = symbol->st_size;
        }
    }
}

static bool all_found(const struct cairn_elfsymbol *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!wanted[i].address)
            return false;
    }
    return true;
}

/* A block of symbols at a time, since a read costs more than a look at those it brings. */
static int search_table(struct cairn_elffile *file, const Elf64_Shdr *table,
                        struct cairn_elfsymbol *wanted, size_t count)
{
    Elf64_Sym symbols[SYMBOLS_AT_ONCE];
    uint64_t left = table->sh_size / sizeof(symbols[0]);
    uint64_t offset = table->sh_offset;
    Elf64_Shdr strings;

    CAIRN_TRY(read_section(file, table->sh_link, &strings));
    if (left > SYMBOLS_MAX)
        left = SYMBOLS_MAX;
    while (left && !all_found(wanted, count)) {
        size_t some = left < SYMBOLS_AT_ONCE ? (size_t)left : SYMBOLS_AT_ONCE;

        CAIRN_TRY(file->read(file->ctx, offset, symbols, some * sizeof(symbols[0])));
        for (size_t i = 0; i < some; i++)
            match_symbol(file, &strings, &symbols[i], wanted, count);
        offset += some * sizeof(symbols[0]);
        left -= some;
    }
    return 0;
}

int cairn_elffile_symbols(struct cairn_elffile *file, struct cairn_elfsymbol *symbols, size_t count)
{
    static const uint32_t kinds[] = {SHT_DYNSYM, SHT_SYMTAB};

    for (size_t i = 0; i < count; i++)
        symbols[i].address = symbols[i].size_bytes = 0;
    for (size_t kind = 0; kind < 2; kind++) {
        for (uint32_t i = 0; i < file->section_count && !all_found(symbols, count); i++) {
            Elf64_Shdr section;
            int code;

            CAIRN_TRY(read_section(file, i, &section));
            if (section.sh_type != kinds[kind])
                continue;
            code = search_table(file, &section, symbols, count);
            if (code < 0 && code != -CAIRN_ENOTFOUND)
                return code;
        }
    }
    return 0;
}

/* Who is seen from outside is called by that name; of marks in code, a function's name goes first.
 */
static uint8_t rank_of(const Elf64_Sym *symbol)
{
    unsigned bind = ELF64_ST_BIND(symbol->st_info);
    uint8_t rank = bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2;

    return ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE ? rank + 3 : rank;
}

static bool is_function(const Elf64_Sym *symbol, uint64_t names_bytes)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
           symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < SHN_LORESERVE &&
           symbol->st_name != 0 && symbol->st_name < names_bytes;
}

static int take_functions(struct cairn_elffile *file, const Elf64_Shdr *table,
                          int (*take)(void *ctx, const struct cairn_elffunction *function),
                          void *ctx)
{
    Elf64_Sym symbols[SYMBOLS_AT_ONCE];
    uint64_t left = table->sh_size / sizeof(symbols[0]);
    uint64_t offset = table->sh_offset;
    Elf64_Shdr names;

    CAIRN_TRY(read_section(file, table->sh_link, &names));
    if (left > SYMBOLS_MAX)
        left = SYMBOLS_MAX;
    while (left) {
        size_t some = left < SYMBOLS_AT_ONCE ? (size_t)left : SYMBOLS_AT_ONCE;

        CAIRN_TRY(file->read(file->ctx, offset, symbols, some * sizeof(symbols[0])));
        for (size_t i = 0; i < some; i++) {
            const struct cairn_elffunction function = {
                .address = symbols[i].st_value,
                .size_bytes = symbols[i].st_size,
                .name_offset = names.sh_offset + symbols[i].st_name,
                .section = symbols[i].st_shndx,
                .rank = rank_of(&symbols[i]),
            };

            if (is_function(&symbols[i], names.sh_size))
                CAIRN_TRY(take(ctx, &function));
        }
        offset += some * sizeof(symbols[0]);
        left -= some;
    }
    return 0;
}

int cairn_elffile_functions(struct cairn_elffile *file,
                            int (*take)(void *ctx, const struct cairn_elffunction *function),
                            void *ctx)
{
    static const uint32_t kinds[] = {SHT_SYMTAB, SHT_DYNSYM};

    for (size_t kind = 0; kind < 2; kind++) {
        for (uint32_t i = 0; i < file->section_count; i++) {
            Elf64_Shdr section;

            CAIRN_TRY(read_section(file, i, &section));
            if (section.sh_type == kinds[kind])
                return take_functions(file, &section, take, ctx);
        }
    }
    return 0;
}

int cairn_elffile_text(struct cairn_elffile *file, uint64_t offset, char *buf, size_t size_bytes)
{
    size_t at = 0;

    /* A byte at a time only where the file may end behind the text. */
    for (size_t step = TEXT_AT_ONCE; at + 1 < size_bytes;) {
        size_t some = size_bytes - 1 - at < step ? size_bytes - 1 - at : step;
        int code = file->read(file->ctx, offset + at, buf + at, some);

        if (code == -CAIRN_ESHORT && step > 1) {
            step = 1;
            continue;
        }
        CAIRN_TRY(code);
        if (memchr(buf + at, 0, some))
            return 0;
        at += some;
    }
    buf[at] = 0;
    return 0;
}

static int read_segment(struct cairn_elffile *file, uint32_t index, Elf64_Phdr *ret_segment)
{
    return file->read(file->ctx, file->segment_offset + index * sizeof(*ret_segment), ret_segment,
                      sizeof(*ret_segment));
}

int cairn_elffile_page_address(struct cairn_elffile *file, uint64_t offset, uint64_t page_bytes,
                               uint64_t *ret_address)
{
    for (uint32_t i = 0; i < file->segment_count; i++) {
        Elf64_Phdr segment;
        uint64_t slack;

        CAIRN_TRY(read_segment(file, i, &segment));
        slack = segment.p_offset - offset;
        if (segment.p_type == PT_LOAD && segment.p_offset >= offset && slack < page_bytes) {
            *ret_address = segment.p_vaddr - slack;
            return 0;
        }
    }
    return -CAIRN_ENOTFOUND;
}

int cairn_elffile_offset_of(struct cairn_elffile *file, uint64_t address, uint64_t *ret_offset)
{
    for (uint32_t i = 0; i < file->segment_count; i++) {
        Elf64_Phdr segment;

        CAIRN_TRY(read_segment(file, i, &segment));
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz) {
            *ret_offset = segment.p_offset + (address - segment.p_vaddr);
            return 0;
        }
    }
    return -CAIRN_ENOTFOUND;
}

int cairn_elffile_address_of(struct cairn_elffile *file, uint64_t offset, uint64_t *ret_address)
{
    for (uint32_t i = 0; i < file->segment_count; i++) {
        Elf64_Phdr segment;

        CAIRN_TRY(read_segment(file, i, &segment));
        if (segment.p_type == PT_LOAD && offset >= segment.p_offset &&
            offset - segment.p_offset < segment.p_filesz && segment.p_flags & PF_X) {
            *ret_address = segment.p_vaddr + (offset - segment.p_offset);
            return 0;
        }
    }
    return -CAIRN_ENOTFOUND;
}
