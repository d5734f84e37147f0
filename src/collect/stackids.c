#include "stackids.h"

int cairn_stackids_code(struct cairn_writer *writer, struct cairn_pycode *code, uint32_t *ret_id)
{
    struct cairn_code_def def = {.first_line = code->first_line};
    struct cairn_linetable_def table = {.kind = code->linetable_kind, .bytes = code->linetable};

    if (!code->user) {
        CAIRN_TRY(cairn_writer_string(writer, code->name, &def.name));
        CAIRN_TRY(cairn_writer_string(writer, code->qualname, &def.qualname));
        CAIRN_TRY(cairn_writer_string(writer, code->file, &def.file));
        /* Copies of a process have copies of its code. */
        if (!cairn_writer_find_code(writer, &def, &table, &code->user)) {
            CAIRN_TRY(cairn_writer_code(writer, &def, &code->user));
            table.code = code->user;
            CAIRN_TRY(cairn_writer_linetable(writer, &table));
        }
    }
    *ret_id = code->user;
    return 0;
}

int cairn_stackids_frame(struct cairn_writer *writer, uint32_t unknown_loc, uint32_t parent,
                         const struct cairn_pyframe *frame, uint32_t *ret_stack)
{
    struct cairn_location_def def = {.kind = CAIRN_LOC_PYTHON, .offset = frame->offset};
    uint32_t location = unknown_loc;

    if (frame->code) {
        CAIRN_TRY(cairn_stackids_code(writer, frame->code, &def.ref));
        CAIRN_TRY(cairn_writer_location(writer, &def, &location));
    }
    return cairn_writer_stack(writer, parent, location, ret_stack);
}
