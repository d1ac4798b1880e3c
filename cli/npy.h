/* npy.h - NumPy's array files. */
#ifndef SDX_CLI_NPY_H
#define SDX_CLI_NPY_H

#include "cli/cli.h"

/* A tensor from the bytes of a .npy file. Types that NumPy lacks are not told apart: want says what raw void or integer
 * bytes of the same size stand for (SDX_UNDEFINED: as the header says). */
sdx_status npy_parse(const void *bytes, size_t nbytes, sdx_dtype want, sdx_value **out, sdx_error *err);

/* Writes a tensor. bfloat16, float8 and packed types become float32 or int8; strings become fixed-width bytes. */
sdx_status npy_write(const char *path, const sdx_value *v, sdx_error *err);

#endif
