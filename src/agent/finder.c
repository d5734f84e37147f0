#include "finder.h"

#include "announce.h"

#define FAR_LOOKS 4 /* each so many is for ancestors as well: they may be attached to later */

static bool is_there(const struct cairn_finder *finder)
{
    return finder->on && finder->regions.spool.head != NULL &&
           cairn_announce_holds(finder->regions.spool.folder);
}

/* A recorder that cannot be written to, say without descriptors, is tried again as the first was.
 */
static bool find(struct cairn_finder *finder)
{
    bool far = finder->far || finder->on || cairn_finder_is_new(finder) ||
               ++finder->looks % FAR_LOOKS == 0;
    char folder[CAIRN_SPOOL_PATH_BYTES];

    finder->far = false;
    if (!cairn_announce_find(far, folder))
        return false;
    if (cairn_regions_open(&finder->regions, folder) == 0)
        return true;
    finder->far = true;
    return false;
}

/* Interpreters with a lock of their own may ask at once: then one looks and the others wait. */
__attribute__((noinline)) bool cairn_finder_look(struct cairn_finder *finder)
{
    bool on;

    cairn_exact_watch();
    cairn_regions_lock(&finder->lock);
    if (cairn_finder_is_due(finder, cairn_ticks_now())) {
        on = is_there(finder) || find(finder);
        __atomic_store_n(&finder->on, on, __ATOMIC_RELAXED);
        __atomic_store_n(&finder->looked, cairn_ticks_now(), __ATOMIC_RELAXED);
        __atomic_store_n(&finder->forks, cairn_exact_forks + 1, __ATOMIC_RELAXED);
    }
    on = finder->on;
    cairn_regions_unlock(&finder->lock);
    return on;
}
