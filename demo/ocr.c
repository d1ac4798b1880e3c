/* demo/ocr.c - reads the text of a picture: demo_ocr DETECTOR.onnx READER.onnx PICTURE.png
 *
 * Two models of the PP-OCR family. The detector maps a picture to the probability that a pixel is text; connected
 * areas of it become boxes. The reader maps one line of text, 48 pixels high, to characters at successive places:
 * connectionist temporal classification, so repeats collapse and class 0 separates. Its file carries the characters. */
#include "cli/picture.h"

#include <math.h>
#include <sardonyx/sardonyx.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE_HEIGHT = 48, MAX_BOXES = 500, LONGEST_SIDE = 960 };

typedef struct Box {
    int x0, y0, x1, y1; /* x1 and y1 are outside */
} Box;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void *alloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (p == NULL) fail("ocr", "out of memory");
    return p;
}

static Image load(const char *path)
{
    size_t cap = 256u << 20, n = 0;
    uint8_t *bytes = alloc(cap, 1);
    Image image;
    FILE *f = fopen(path, "rb");
    if (f == NULL) fail(path, "cannot open");
    n = fread(bytes, 1, cap, f);
    fclose(f);
    const char *why;
    ImageStatus st = sdx_image_read(&image, bytes, n, NULL, &why);
    free(bytes);
    if (st != IMAGE_OK) fail(path, why);
    return image;
}

/* What both models were trained on: the picture at width x height, channels blue, green, red in planes, -1..1. */
static float *planes(const Image *image, int width, int height)
{
    size_t area = (size_t)width * (size_t)height;
    float *rgb = sdx_image_resize(image, width, height), *out = alloc(3 * area, sizeof *out);
    if (rgb == NULL) fail("ocr", "out of memory");
    for (size_t i = 0; i < area; i++)
        for (size_t c = 0; c < 3; c++) out[c * area + i] = rgb[3 * i + 2 - c] / 127.5f - 1;
    free(rgb);
    return out;
}

/* Runs a model of one input and one output on picture planes. */
static sdx_value *run(sdx_session *s, float *pixels, int width, int height)
{
    int64_t shape[] = { 1, 3, height, width };
    const char *in[] = { sdx_session_input_name(s, 0) }, *out[] = { sdx_session_output_name(s, 0) };
    sdx_error err = { 0 };
    sdx_value *x = NULL, *y = NULL;
    if (sdx_tensor_wrap(SDX_FLOAT, shape, 4, pixels, sizeof(float) * 3 * (size_t)width * (size_t)height, NULL, NULL, &x,
                        &err) != SDX_OK ||
        sdx_session_run(s, in, (const sdx_value *const *)&x, 1, out, &y, 1, NULL, &err) != SDX_OK)
        fail("run", err.text);
    sdx_value_release(x);
    return y;
}

/* The box around the connected area of text pixels that holds `start`; the area is erased from `text`. */
static Box flood(bool *text, int w, int h, int start, int *stack, const float *p, float *mean)
{
    Box b = { w, h, 0, 0 };
    double sum = 0;
    int top = 0, count = 0;
    stack[top++] = start;
    text[start] = false;
    while (top > 0) {
        int at = stack[--top], x = at % w, y = at / w;
        sum += p[at];
        count++;
        if (x < b.x0) b.x0 = x;
        if (y < b.y0) b.y0 = y;
        if (x >= b.x1) b.x1 = x + 1;
        if (y >= b.y1) b.y1 = y + 1;
        int near[4] = { x > 0 ? at - 1 : -1, x + 1 < w ? at + 1 : -1, y > 0 ? at - w : -1, y + 1 < h ? at + w : -1 };
        for (int i = 0; i < 4; i++)
            if (near[i] >= 0 && text[near[i]]) {
                text[near[i]] = false;
                stack[top++] = near[i];
            }
    }
    *mean = (float)(sum / count);
    return b;
}

static int by_line(const void *a, const void *b)
{
    const Box *p = a, *q = b;
    int overlap = (p->y1 < q->y1 ? p->y1 : q->y1) - (p->y0 > q->y0 ? p->y0 : q->y0);
    int lower = p->y1 - p->y0 < q->y1 - q->y0 ? p->y1 - p->y0 : q->y1 - q->y0;
    if (2 * overlap > lower) return p->x0 - q->x0; /* the same line */
    return p->y0 - q->y0;
}

/* Boxes of text in the picture's coordinates, in reading order. */
static int detect(sdx_session *detector, const Image *image, Box *boxes)
{
    double scale = 1;
    int longest = image->width > image->height ? image->width : image->height, n = 0;
    if (longest > LONGEST_SIDE) scale = (double)LONGEST_SIDE / longest;
    int w = (int)(image->width * scale / 32 + 0.5) * 32, h = (int)(image->height * scale / 32 + 0.5) * 32;
    if (w < 32) w = 32;
    if (h < 32) h = 32;
    float *pixels = planes(image, w, h);
    sdx_value *map = run(detector, pixels, w, h);
    const float *p = sdx_value_data(map);
    bool *text = alloc((size_t)w * (size_t)h, sizeof *text);
    int *stack = alloc((size_t)w * (size_t)h, sizeof *stack);
    if (sdx_value_count(map) != (int64_t)w * h) fail("detector", "its output is not the size of its input");
    for (int i = 0; i < w * h; i++) text[i] = p[i] > 0.3f;
    for (int i = 0; i < w * h && n < MAX_BOXES; i++) {
        float mean;
        if (!text[i]) continue;
        Box b = flood(text, w, h, i, stack, p, &mean);
        int bw = b.x1 - b.x0, bh = b.y1 - b.y0;
        if (mean < 0.5f || bw < 3 || bh < 3) continue;
        /* The detector was trained on shrunken boxes: grow by area * 1.6 / perimeter. */
        int grow = (int)(1.6 * bw * bh / (2.0 * (bw + bh)) + 0.5);
        double sx = (double)image->width / w, sy = (double)image->height / h;
        b = (Box){ (int)((b.x0 - grow) * sx), (int)((b.y0 - grow) * sy), (int)((b.x1 + grow) * sx),
                   (int)((b.y1 + grow) * sy) };
        if (b.x0 < 0) b.x0 = 0;
        if (b.y0 < 0) b.y0 = 0;
        if (b.x1 > image->width) b.x1 = image->width;
        if (b.y1 > image->height) b.y1 = image->height;
        boxes[n++] = b;
    }
    qsort(boxes, (size_t)n, sizeof *boxes, by_line);
    free(text);
    free(stack);
    free(pixels);
    sdx_value_release(map);
    return n;
}

static Image crop(const Image *image, Box b)
{
    size_t c = (size_t)image->channels, line = (size_t)(b.x1 - b.x0) * c;
    Image out = { b.x1 - b.x0, b.y1 - b.y0, image->channels, alloc((size_t)(b.y1 - b.y0) * line, 1), NULL };
    for (int y = b.y0; y < b.y1; y++)
        memcpy(out.pixels + (size_t)(y - b.y0) * line,
               image->pixels + ((size_t)y * (size_t)image->width + (size_t)b.x0) * c, line);
    return out;
}

/* The characters of the reader's classes 1.., one a line in its metadata; the last class is the blank space. */
static const char **load_characters(sdx_session *reader, int64_t classes)
{
    const char **list = alloc((size_t)classes, sizeof *list), *text = NULL;
    for (size_t i = 0; i < sdx_session_metadata_count(reader); i++)
        if (strcmp(sdx_session_metadata_key(reader, i), "character") == 0) text = sdx_session_metadata_value(reader, i);
    if (text == NULL) fail("reader", "no list of characters in its metadata");
    char *copy = alloc(strlen(text) + 1, 1), *at = copy;
    strcpy(copy, text);
    for (int64_t i = 0; i < classes; i++) list[i] = " ";
    for (int64_t i = 1; at != NULL && i < classes; i++) {
        char *end = strchr(at, '\n');
        if (end != NULL) *end++ = 0;
        list[i] = at;
        at = end;
    }
    return list;
}

/* Prints one line of text; returns the mean probability of its characters. */
static double read_line(sdx_session *reader, const Image *line, const char ***characters)
{
    int width = (int)ceil((double)LINE_HEIGHT * line->width / line->height / 8) * 8;
    if (width < 16) width = 16;
    float *pixels = planes(line, width, LINE_HEIGHT);
    sdx_value *y = run(reader, pixels, width, LINE_HEIGHT);
    if (sdx_value_rank(y) != 3) fail("reader", "its output is not [1, places, classes]");
    int64_t places = sdx_value_dims(y)[1], classes = sdx_value_dims(y)[2], last = 0;
    const float *p = sdx_value_data(y);
    double sum = 0;
    int count = 0;
    if (*characters == NULL) *characters = load_characters(reader, classes);
    for (int64_t t = 0; t < places; t++, p += classes) {
        int64_t best = 0;
        for (int64_t c = 1; c < classes; c++)
            if (p[c] > p[best]) best = c;
        if (best != 0 && best != last) {
            fputs((*characters)[best], stdout);
            sum += p[best];
            count++;
        }
        last = best;
    }
    sdx_value_release(y);
    free(pixels);
    return count ? sum / count : 0;
}

int main(int argc, char **argv)
{
    sdx_session *detector, *reader;
    sdx_error err = { 0 };
    Box boxes[MAX_BOXES];
    const char **characters = NULL;
    if (argc != 4) {
        fprintf(stderr, "usage: demo_ocr DETECTOR.onnx READER.onnx PICTURE.png\n");
        return 2;
    }
    Image image = load(argv[3]);
    double start = now_ms();
    if (sdx_session_open(argv[1], NULL, &detector, &err) != SDX_OK) fail(argv[1], err.text);
    if (sdx_session_open(argv[2], NULL, &reader, &err) != SDX_OK) fail(argv[2], err.text);
    double opened = now_ms();
    int n = detect(detector, &image, boxes);
    double detected = now_ms();
    printf("\n%s, %d x %d:\n\n", argv[3], image.width, image.height);
    for (int i = 0; i < n; i++) {
        Image line = crop(&image, boxes[i]);
        printf("    at %4d,%-4d  ", boxes[i].x0, boxes[i].y0);
        printf("   (%.0f %%)\n", 100 * read_line(reader, &line, &characters));
        free(line.pixels);
    }
    printf("\n%d pieces of text. Opening both models took %.0f ms, finding the text %.0f ms, reading it %.0f ms.\n", n,
           opened - start, detected - opened, now_ms() - detected);
    sdx_session_release(detector);
    sdx_session_release(reader);
    sdx_image_free(&image);
    return 0;
}
