#include "mhd.h"

#include <dlfcn.h>

#define LIBRARY "libmicrohttpd.so.12"

static int refuse(struct cairn_mhd *mhd, struct cairn_err *err)
{
    cairn_err_set(err, -CAIRN_EIO, 0, "mhd", "serving a page needs %s", LIBRARY);
    cairn_err_add(err, "%s", dlerror());
    cairn_err_add(err, "Debian's package is libmicrohttpd12; `cairn html` writes the same page "
                       "without it.");
    cairn_mhd_close(mhd);
    return -CAIRN_EIO;
}

int cairn_mhd_open(struct cairn_mhd *ret_mhd, struct cairn_err *err)
{
    *ret_mhd = (struct cairn_mhd){.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)};
    if (ret_mhd->library == NULL)
        return refuse(ret_mhd, err);
#define X(name)                                                                                    \
    *(void **)&ret_mhd->name = dlsym(ret_mhd->library, "MHD_" #name);                              \
    if (ret_mhd->name == NULL)                                                                     \
        return refuse(ret_mhd, err);
    CAIRN_MHD_CALLS(X)
#undef X
    return 0;
}

void cairn_mhd_close(struct cairn_mhd *mhd)
{
    if (mhd->library != NULL)
        dlclose(mhd->library);
    mhd->library = NULL;
}
