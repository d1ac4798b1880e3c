#include "cli/picture.h"

#include <stdlib.h>

float sdx_image_get(const Image *image, int x, int y, int c)
{
    const uint8_t *p = image->pixels + ((size_t)y * (size_t)image->width + (size_t)x) * (size_t)image->channels;
    float v = p[image->channels < 3 ? 0 : c];
    if (image->channels % 2 == 1) return v;
    return 255 + (v - 255) * p[image->channels - 1] / 255;
}

/* Weights of the source pixels first.. that make up output pixel i of n out of m: a triangle as wide as two output
 * pixels, or two source pixels where the picture grows. Returns their number, at most 2 * m / n + 3. */
static int resize_weights(float *w, int *first, int i, int n, int m)
{
    double step = (double)m / n, reach = step > 1 ? step : 1, centre = (i + 0.5) * step - 0.5, sum = 0;
    int lo = (int)(centre - reach) - 1, hi = (int)(centre + reach) + 1, count = 0;
    if (lo < 0) lo = 0;
    if (hi > m - 1) hi = m - 1;
    for (int j = lo; j <= hi; j++) {
        double t = 1 - (j > centre ? j - centre : centre - j) / reach;
        w[count] = t > 0 ? (float)t : 0;
        sum += w[count++];
    }
    for (int j = 0; j < count; j++) w[j] = (float)(w[j] / sum);
    *first = lo;
    return count;
}

float *sdx_image_resize(const Image *image, int width, int height)
{
    int w = image->width, h = image->height, longest = w > h ? w : h;
    float *rows = malloc((size_t)h * (size_t)width * 3 * sizeof *rows);
    float *out = malloc((size_t)height * (size_t)width * 3 * sizeof *out);
    float *weight = malloc(((size_t)longest * 2 + 8) * sizeof *weight);
    if (rows != NULL && out != NULL && weight != NULL) {
        for (int x = 0; x < width; x++) {
            int first, n = resize_weights(weight, &first, x, width, w);
            for (int y = 0; y < h; y++)
                for (int c = 0; c < 3; c++) {
                    float sum = 0;
                    for (int j = 0; j < n; j++) sum += weight[j] * sdx_image_get(image, first + j, y, c);
                    rows[((size_t)y * (size_t)width + (size_t)x) * 3 + (size_t)c] = sum;
                }
        }
        size_t line = (size_t)width * 3;
        for (int y = 0; y < height; y++) {
            int first, n = resize_weights(weight, &first, y, height, h);
            for (size_t i = 0; i < line; i++) {
                float sum = 0;
                for (int j = 0; j < n; j++) sum += weight[j] * rows[(size_t)(first + j) * line + i];
                out[(size_t)y * line + i] = sum;
            }
        }
    } else {
        free(out);
        out = NULL;
    }
    free(rows);
    free(weight);
    return out;
}
