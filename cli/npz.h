/* npz.h - NumPy's archives of arrays: zip files of .npy members, stored or deflated. */
#ifndef SDX_CLI_NPZ_H
#define SDX_CLI_NPZ_H

#include "cli/cli.h"

/* The member `name` (without .npy), or the only one. *member is cli_alloc'ed. */
sdx_status npz_member(const void *bytes, size_t n, const char *name, void **member, size_t *nmember, sdx_error *err);

#endif
