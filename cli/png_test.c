/* cli/png_test.c - pictures of tests/data/png, and damaged ones */
#include "cli/png.h"
#include "tests/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t load(uint8_t *bytes, size_t cap, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/png/%s", SDX_TEST_DATA, name);
    FILE *f = fopen(path, "rb");
    if (!CHECK(f != NULL)) return 0;
    size_t n = fread(bytes, 1, cap, f);
    fclose(f);
    return n;
}

/* rows.png and adam7.png hold the same 13 x 11 RGB picture, stored row by row and interlaced. */
static void interlaced_equals_plain(void)
{
    uint8_t bytes[4096];
    Image a, b;
    size_t n = load(bytes, sizeof bytes, "rows.png");
    if (!CHECK_STR(sdx_png_read(&a, bytes, n), NULL)) return;
    n = load(bytes, sizeof bytes, "adam7.png");
    if (CHECK_STR(sdx_png_read(&b, bytes, n), NULL)) {
        CHECK_INT(b.width, 13);
        CHECK_INT(b.height, 11);
        CHECK_INT(b.channels, 3);
        CHECK_BYTES(b.pixels, a.pixels, 13 * 11 * 3);
        sdx_image_free(&b);
    }
    sdx_image_free(&a);
}

static void damage_is_refused_or_read(void)
{
    uint8_t bytes[4096];
    size_t n = load(bytes, sizeof bytes, "rows.png");
    Image image;
    for (size_t cut = 0; cut < n; cut++) {
        uint8_t *exact = malloc(cut + 1); /* the sanitizers see a read past the end */
        memcpy(exact, bytes, cut);
        CHECK(sdx_png_read(&image, exact, cut) != NULL);
        free(exact);
    }
    for (size_t i = 0; i < n * 8; i++) {
        bytes[i / 8] ^= (uint8_t)(1u << i % 8);
        if (sdx_png_read(&image, bytes, n) == NULL) sdx_image_free(&image);
        bytes[i / 8] ^= (uint8_t)(1u << i % 8);
    }
}

static void resize_keeps_the_mean(void)
{
    uint8_t pixels[6 * 4] = { 0 };
    Image image = { .width = 6, .height = 4, .channels = 1, .pixels = pixels };
    double sum = 0;
    for (int i = 0; i < 24; i++) pixels[i] = (uint8_t)(10 * i);
    float *half = sdx_image_resize(&image, 3, 2);
    if (!CHECK(half != NULL)) return;
    for (int i = 0; i < 6; i++) sum += half[3 * i];
    CHECK_NEAR(sum / 6, 115, 1e-3);
    free(half);
}

SUITE(png_test)
{
    RUN(interlaced_equals_plain);
    RUN(damage_is_refused_or_read);
    RUN(resize_keeps_the_mean);
}
