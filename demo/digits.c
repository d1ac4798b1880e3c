/* demo/digits.c - reads a handwritten digit: demo_digits MODEL PICTURE.png
 *
 * All of Sardonyx's API that a program needs for one model is in classify(); the rest of the file reads the picture
 * and draws on the terminal. */
#include "cli/picture.h"

#include <sardonyx/sardonyx.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SIDE = 28, RUNS = 200 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

typedef struct Timing {
    double open_ms, first_ms, run_ms; /* run_ms: the median of RUNS */
} Timing;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static sdx_status classify(const char *model, float *pixels, float probability[10], Timing *t, sdx_error *err)
{
    static const int64_t shape[] = { 1, 1, SIDE, SIDE };
    const char *in[] = { "image" }, *out[] = { "probabilities" };
    double start = now_ms(), runs[RUNS];
    sdx_session *session = NULL;
    sdx_value *image = NULL, *result = NULL;

    sdx_status st = sdx_session_open(model, NULL, &session, err);
    t->open_ms = now_ms() - start;
    if (st == SDX_OK)
        st = sdx_tensor_wrap(SDX_FLOAT, shape, 4, pixels, SIDE * SIDE * sizeof *pixels, NULL, NULL, &image, err);
    for (int i = 0; st == SDX_OK && i < RUNS; i++) {
        sdx_value_release(result);
        result = NULL;
        start = now_ms();
        st = sdx_session_run(session, in, (const sdx_value *const *)&image, 1, out, &result, 1, NULL, err);
        runs[i] = now_ms() - start;
        if (i == 0) t->first_ms = runs[0];
    }
    if (st == SDX_OK) {
        for (int i = 0; i < 10; i++) probability[i] = (float)sdx_value_get(result, i);
        qsort(runs, RUNS, sizeof runs[0], compare_doubles);
        t->run_ms = runs[RUNS / 2];
    }
    sdx_value_release(result);
    sdx_value_release(image);
    sdx_session_release(session);
    return st;
}

/* The picture as SIDE x SIDE values, 0 paper and 1 ink, whichever of the two is dark in the file. */
static bool load_digit(const char *path, float pixels[SIDE * SIDE])
{
    FILE *f = fopen(path, "rb");
    size_t cap = 64u << 20, n = 0;
    uint8_t *bytes = f != NULL ? malloc(cap) : NULL;
    Image image;
    if (bytes != NULL) n = fread(bytes, 1, cap, f);
    if (f != NULL) fclose(f);
    const char *why = "cannot open";
    ImageStatus st = f == NULL ? IMAGE_DAMAGED : sdx_image_read(&image, bytes, n, NULL, &why);
    free(bytes);
    if (st != IMAGE_OK) {
        fprintf(stderr, "%s: %s\n", path, why);
        return false;
    }
    float *rgb = sdx_image_resize(&image, SIDE, SIDE), edge = 0;
    sdx_image_free(&image);
    if (rgb == NULL) return false;
    for (int i = 0; i < SIDE; i++) edge += rgb[3 * i] + rgb[3 * (SIDE * (SIDE - 1) + i)];
    bool dark_on_light = edge / (2 * SIDE) > 127;
    for (int i = 0; i < SIDE * SIDE; i++) {
        float v = (rgb[3 * i] + rgb[3 * i + 1] + rgb[3 * i + 2]) / (3 * 255);
        pixels[i] = dark_on_light ? 1 - v : v;
    }
    free(rgb);
    return true;
}

/* Two rows of pixels to a line: the upper half of each character cell in one grey, the lower in another. */
static void draw(const float pixels[SIDE * SIDE], bool colour)
{
    for (int y = 0; y < SIDE; y += 2) {
        printf("    ");
        for (int x = 0; x < SIDE; x++) {
            float up = pixels[y * SIDE + x], down = pixels[(y + 1) * SIDE + x];
            if (colour)
                printf("\x1b[38;5;%d;48;5;%dm\u2580", 255 - (int)(up * 23), 255 - (int)(down * 23));
            else
                putchar(" .:-=+*#%@"[(int)((up + down) / 2 * 9.99f)]);
        }
        puts(colour ? "\x1b[0m" : "");
    }
}

int main(int argc, char **argv)
{
    float pixels[SIDE * SIDE], probability[10];
    Timing t = { 0 };
    sdx_error err = { 0 };
    if (argc != 3) {
        fprintf(stderr, "usage: demo_digits MODEL PICTURE.png\n");
        return 2;
    }
    if (!load_digit(argv[2], pixels)) return 2;
    if (classify(argv[1], pixels, probability, &t, &err) != SDX_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }

    int best = 0;
    bool terminal = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL;
    for (int i = 1; i < 10; i++)
        if (probability[i] > probability[best]) best = i;
    printf("\n%s, as the network sees it:\n\n", argv[2]);
    draw(pixels, terminal);
    printf("\nprobabilities by %s:\n\n", argv[1]);
    for (int i = 0; i < 10; i++) {
        char bar[41] = { 0 };
        memset(bar, '#', (size_t)(probability[i] * 40 + 0.5f));
        printf("    %d  %6.2f %%  %s%s\n", i, 100 * (double)probability[i], bar, i == best ? "  <-" : "");
    }
    printf("\nIt is a %d. Opening the model took %.2f ms, the first run %.2f ms, a run %.3f ms (median of %d).\n", best,
           t.open_ms, t.first_ms, t.run_ms, RUNS);
    printf("\nYour own model:  build/release/sdx info MODEL.onnx\n"
           "                 build/release/sdx run MODEL.onnx --input NAME=FILE   (npy, png, raw; nothing: random "
           "input)\n");
    return 0;
}
