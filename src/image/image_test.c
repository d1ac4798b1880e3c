/* Pictures of tests/data/images, and damaged ones. */
#include "image/image.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/picture.h"
#include "tests/harness.h"

static size_t load(uint8_t *bytes, size_t cap, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/images/%s", SDX_TEST_DATA, name);
    FILE *f = fopen(path, "rb");
    if (!CHECK(f != NULL)) return 0;
    size_t n = fread(bytes, 1, cap, f);
    fclose(f);
    return n;
}

static bool read_file(Image *image, const char *name)
{
    uint8_t bytes[4096];
    const char *why;
    size_t n = load(bytes, sizeof bytes, name);
    sdx_harness_note("%s", name);
    ImageStatus st = sdx_image_read(image, bytes, n, NULL, &why);
    if (st == IMAGE_NO_READER) return false; /* built without that library */
    return CHECK_STR(why, NULL) && CHECK_INT(st, IMAGE_OK);
}

/* All hold the same 13 x 11 RGB picture. `off`: how far a channel may be. */
static void every_format_gives_the_picture(void)
{
    static const struct {
        const char *name;
        int off;
    } files[] = {
        { "adam7.png", 0 }, { "rows.bmp", 0 }, { "rows.ppm", 0 },  { "masks.bmp", 7 },
        { "rows.tif", 0 },  { "rows.jp2", 0 }, { "rows.webp", 0 },
    };
    Image want, got;
    if (!CHECK(read_file(&want, "rows.png"))) return;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!read_file(&got, files[i].name)) continue;
        int worst = 0;
        CHECK_INT(got.width, 13);
        CHECK_INT(got.height, 11);
        if (CHECK_INT(got.channels, 3))
            for (int k = 0; k < 13 * 11 * 3; k++) {
                int off = abs(got.pixels[k] - want.pixels[k]);
                if (off > worst) worst = off;
            }
        CHECK(worst <= files[i].off);
        sdx_image_free(&got);
    }
    if (read_file(&got, "rows.jpg")) {
        double sum = 0; /* of noise, JPEG keeps little but the mean */
        for (int k = 0; k < 13 * 11 * 3; k++) sum += got.pixels[k] - want.pixels[k];
        CHECK_NEAR(sum / (13 * 11 * 3), 0, 3);
        sdx_image_free(&got);
    }
    if (read_file(&got, "rows.pgm")) {
        CHECK_INT(got.channels, 1);
        for (int k = 0; k < 13 * 11; k++) CHECK_INT(got.pixels[k], image_luma(want.pixels + 3 * k));
        sdx_image_free(&got);
    }
    sdx_image_free(&want);
    sdx_harness_note(NULL);
}

static void small_pictures_by_hand(void)
{
    static const uint8_t rgb[12] = { 0, 64, 128, 191, 255, 255, 255, 0, 0, 0, 128, 255 };
    static const uint8_t bits[6] = { 0, 255, 0, 255, 0, 255 };
    Image image;
    if (read_file(&image, "text.ppm")) {
        CHECK_BYTES(image.pixels, rgb, sizeof rgb);
        sdx_image_free(&image);
    }
    if (read_file(&image, "text.pbm")) {
        CHECK_BYTES(image.pixels, bits, sizeof bits);
        sdx_image_free(&image);
    }
    for (int k = 0; k < 2; k++) {
        static const char indices[2][16] = { "003332230111111", "323230123112121" };
        static const uint8_t palette[4][3] = { { 255, 0, 0 }, { 0, 255, 0 }, { 0, 0, 255 }, { 9, 8, 7 } };
        if (!read_file(&image, k ? "runs4.bmp" : "runs8.bmp")) continue;
        for (int i = 0; i < 15; i++) CHECK_BYTES(image.pixels + 3 * i, palette[indices[k][i] - '0'], 3);
        sdx_image_free(&image);
    }
    if (read_file(&image, "rows.pbm")) {
        CHECK_INT(image.channels, 1);
        sdx_image_free(&image);
    }
    if (read_file(&image, "palette.bmp")) {
        CHECK_INT(image.channels, 3);
        sdx_image_free(&image);
    }
    sdx_harness_note(NULL);
}

/* Cut anywhere, files of the formats read here are refused; with any bit changed they do no harm. */
static void damage_is_refused_or_read(void)
{
    static const char *const files[] = { "rows.png", "rows.bmp", "palette.bmp", "masks.bmp", "rows.ppm",
                                         "text.pbm", "rows.jpg", "rows.tif",    "rows.webp", "rows.jp2" };
    enum { READ_HERE = 6 };
    const char *why;
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        uint8_t bytes[4096];
        size_t n = load(bytes, sizeof bytes, files[k]);
        Image image;
        sdx_harness_note("%s", files[k]);
        for (size_t cut = 0; cut < n; cut++) {
            uint8_t *exact = malloc(cut + 1); /* the sanitizers see a read past the end */
            memcpy(exact, bytes, cut);
            ImageStatus st = sdx_image_read(&image, exact, cut, NULL, &why);
            bool last = cut == n - 1 && !strcmp(files[k], "text.pbm"); /* the newline at the end */
            if (k < READ_HERE && !last) CHECK(st != IMAGE_OK);
            if (st == IMAGE_OK) sdx_image_free(&image);
            free(exact);
        }
        for (size_t i = 0; i < n * 8 && k < READ_HERE; i++) {
            bytes[i / 8] ^= (uint8_t)(1u << i % 8);
            if (sdx_image_read(&image, bytes, n, NULL, &why) == IMAGE_OK) sdx_image_free(&image);
            bytes[i / 8] ^= (uint8_t)(1u << i % 8);
        }
    }
    sdx_harness_note(NULL);
}

static void what_is_no_picture_is_told(void)
{
    Image image;
    const char *why;
    CHECK_INT(sdx_image_read(&image, "hello", 5, NULL, &why), IMAGE_DAMAGED);
    CHECK_STR(why, "not a picture of a known format");
    CHECK_INT(sdx_image_read(&image, NULL, 0, NULL, &why), IMAGE_DAMAGED);
    CHECK_INT(sdx_image_read(&image, "P5 0 5 255 ", 11, NULL, &why), IMAGE_DAMAGED);
    CHECK_STR(why, "a picture without pixels");
    CHECK_INT(sdx_image_read(&image, "P6 999999999 999999999 255 ", 27, NULL, &why), IMAGE_DAMAGED);
    CHECK_STR(why, "a truncated PNM");
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

SUITE(image_test)
{
    RUN(every_format_gives_the_picture);
    RUN(small_pictures_by_hand);
    RUN(damage_is_refused_or_read);
    RUN(what_is_no_picture_is_told);
    RUN(resize_keeps_the_mean);
}
