#include "ep/ep.h"

#include <string.h>

#define PROVIDER(id) extern const EpApi sdx_ep_##id;
#include "ep/providers.def"
#undef PROVIDER

static const EpApi *const list[] = {
#define PROVIDER(id) &sdx_ep_##id,
#include "ep/providers.def"
#undef PROVIDER
};
enum { LIST_LEN = sizeof list / sizeof *list };

const EpApi *const *sdx_ep_list(int *n)
{
    *n = LIST_LEN;
    return list;
}

const EpApi *sdx_ep_find(const char *name)
{
    for (int i = 0; i < LIST_LEN; i++)
        if (!strcmp(list[i]->name, name)) return list[i];
    return NULL;
}
