#include "pydoubts.h"

static struct cairn_pydoubt *find(struct cairn_pydoubts *doubts, const struct cairn_pyraw *caller,
                                  const struct cairn_pyraw *callee)
{
    for (unsigned i = 0; i < CAIRN_PYDOUBTS_MAX; i++) {
        struct cairn_pydoubt *doubt = &doubts->items[i];

        if (doubt->callee == callee->address && doubt->caller == caller->address &&
            doubt->instr == caller->instr)
            return doubt;
    }
    return NULL;
}

unsigned cairn_pydoubts_count(struct cairn_pydoubts *doubts, uint64_t tick,
                              const struct cairn_pyraw *caller, const struct cairn_pyraw *callee,
                              bool *ret_again)
{
    struct cairn_pydoubt *doubt = find(doubts, caller, callee);

    *ret_again = doubt && doubt->tick + 1 >= tick;
    if (!doubt) {
        doubt = &doubts->items[doubts->next++ % CAIRN_PYDOUBTS_MAX];
        *doubt = (struct cairn_pydoubt){
            .callee = callee->address, .caller = caller->address, .instr = caller->instr};
    }
    if (doubt->tick != tick)
        doubt->times = 0;
    doubt->tick = tick;
    return ++doubt->times;
}
