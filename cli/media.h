/* media.h - tensors from pictures and sound. */
#ifndef SDX_CLI_MEDIA_H
#define SDX_CLI_MEDIA_H

#include "cli/cli.h"

/* A picture as [1, C, H, W] or [1, H, W, C], as dims (rank 3 or 4, a batch of 1) say where 1, 3 or 4 channels stand;
 * resized to the height and width asked for. Integer types get 0..255, floats (x / 255 - mean) / std. */
sdx_status media_image(const void *bytes, size_t n, sdx_dtype dtype, const int64_t *dims, int rank, double mean,
                       double std, sdx_value **out, sdx_error *err);

/* A PCM or float WAV, channels averaged, at its own rate, as floats in [-1, 1]: [samples], or [1, samples] at rank 2. */
sdx_status media_wav(const void *bytes, size_t n, sdx_dtype dtype, int rank, sdx_value **out, sdx_error *err);

#endif
