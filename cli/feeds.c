#include "cli/feeds.h"

#include <stdlib.h>
#include <string.h>

#include "cli/media.h"
#include "cli/npy.h"
#include "cli/npz.h"

const Option cli_feed_options[] = {
    { "input", 'i', "NAME=FILE", "feed from .npy .npz .pb .raw .wav or a picture; FILE alone feeds the only input" },
    { "shape", 's', "NAME:1x3x8x8", "shape of a made-up or raw input" },
    { "fill", 0, "HOW", "made-up inputs: random (default), zero, one, or a number" },
    { "seed", 0, "N", "of random fills; default 1" },
    { "mean", 0, "X", "of pictures, which floats get as (pixel / 255 - mean) / std; default 0" },
    { "std", 0, "X", "of pictures; default 1" },
    { NULL, 0, NULL, NULL },
};

#define MAX_RANK 16

static bool parse_shape(const char *text, int64_t *dims, int *rank)
{
    *rank = 0;
    if (!*text || strcmp(text, "scalar") == 0) return true;
    for (;;) {
        char *end;
        long long v = strtoll(text, &end, 10);
        if (end == text || v < 0 || *rank == MAX_RANK) return false;
        dims[(*rank)++] = v;
        if (!*end) return true;
        if (*end != 'x' && *end != ',') return false;
        text = end + 1;
    }
}

/* The value of "NAME<sep>VALUE" for this name among the repeated option's values. Names may hold the separator. */
static const char *value_for(const Args *a, const char *option, const char *name, char sep, bool only)
{
    size_t n = strlen(name);
    const char *text;
    for (int i = 0; (text = args_nth(a, option, i)); i++) {
        if (strncmp(text, name, n) == 0 && text[n] == sep) return text + n + 1;
        if (only && !strchr(text, sep)) return text;
    }
    return NULL;
}

static bool ends_with(const char *s, const char *tail)
{
    size_t n = strlen(s), m = strlen(tail);
    return n >= m && strcmp(s + n - m, tail) == 0;
}

static sdx_status load_raw(const void *bytes, size_t n, sdx_dtype dtype, const int64_t *dims, int rank, sdx_value **out,
                           sdx_error *err)
{
    sdx_value *v;
    sdx_status st = sdx_tensor_create(dtype, dims, rank, &v, err);
    if (st != SDX_OK) return st;
    if (sdx_value_nbytes(v) != n) {
        cli_error_set(err, SDX_INVALID_ARGUMENT, "the file has %zu bytes, the shape needs %zu", n, sdx_value_nbytes(v));
        sdx_value_release(v);
        return SDX_INVALID_ARGUMENT;
    }
    memcpy(sdx_value_data(v), bytes, n);
    *out = v;
    return SDX_OK;
}

/* What an input asks of a file. */
typedef struct Wanted {
    const char *name;
    const sdx_type *type;
    const int64_t *dims;
    int rank;
    double mean, std;
} Wanted;

static sdx_status load_npz(const void *bytes, size_t n, const Wanted *w, sdx_value **out, sdx_error *err)
{
    void *member;
    size_t nmember;
    sdx_status st = npz_member(bytes, n, w->name, &member, &nmember, err);
    if (st != SDX_OK) return st;
    st = npy_parse(member, nmember, sdx_type_dtype(w->type), out, err);
    free(member);
    return st;
}

static sdx_status load_bytes(const char *path, const void *bytes, size_t n, const Wanted *w, sdx_value **out,
                             sdx_error *err)
{
    sdx_dtype dtype = sdx_type_dtype(w->type);
    static const char *const pictures[] = { ".png", ".jpg",  ".jpeg", ".bmp",  ".ppm",
                                            ".pgm", ".webp", ".tif",  ".tiff", ".jp2" };
    if (ends_with(path, ".npy")) return npy_parse(bytes, n, dtype, out, err);
    if (ends_with(path, ".npz")) return load_npz(bytes, n, w, out, err);
    if (ends_with(path, ".pb")) return sdx_value_parse(bytes, n, w->type, out, err);
    if (ends_with(path, ".wav")) return media_wav(bytes, n, dtype, w->rank, out, err);
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
        if (ends_with(path, pictures[i]))
            return media_image(bytes, n, dtype, w->dims, w->rank, w->mean, w->std, out, err);
    if (ends_with(path, ".raw") || ends_with(path, ".bin"))
        return load_raw(bytes, n, dtype, w->dims, w->rank, out, err);
    cli_error_set(err, SDX_INVALID_ARGUMENT, "%s: no known kind of file", path);
    return SDX_INVALID_ARGUMENT;
}

static sdx_status load_file(const char *path, const Wanted *w, sdx_value **out, sdx_error *err)
{
    size_t n;
    void *bytes = cli_read_file(path, &n, err);
    if (!bytes) return SDX_IO;
    sdx_status st = load_bytes(path, bytes, n, w, out, err);
    free(bytes);
    return st;
}

/* xorshift64*: the same inputs on every machine. */
static double next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)(*state * 0x2545f4914f6cdd1dull >> 11) * 0x1p-53;
}

static void fill_value(sdx_value *v, const char *how, uint64_t *state)
{
    sdx_dtype d = sdx_value_dtype(v);
    bool is_float = d == SDX_FLOAT || d == SDX_DOUBLE || d == SDX_FLOAT16 || d >= SDX_COMPLEX64;
    for (int64_t i = 0; i < sdx_value_count(v); i++) {
        double x;
        if (!how || strcmp(how, "random") == 0)
            x = is_float ? next_random(state) : (double)(int)(next_random(state) * (d == SDX_BOOL ? 2 : 10));
        else
            x = strcmp(how, "one") == 0 ? 1 : strcmp(how, "zero") == 0 ? 0 : strtod(how, NULL);
        sdx_value_set(v, i, x);
    }
}

static sdx_status make_value(const Args *a, const char *name, const sdx_type *type, bool only, uint64_t *state,
                             sdx_value **out, sdx_error *err)
{
    int64_t dims[MAX_RANK];
    int rank = sdx_type_rank(type);
    const char *shape = value_for(a, "shape", name, ':', only), *file = value_for(a, "input", name, '=', only);
    for (int i = 0; i < rank; i++) dims[i] = sdx_type_dim(type, i) < 0 ? 1 : sdx_type_dim(type, i);
    if (shape && !parse_shape(shape, dims, &rank)) {
        cli_error_set(err, SDX_INVALID_ARGUMENT, "shape \"%s\" is not like 1x3x224x224", shape);
        return SDX_INVALID_ARGUMENT;
    }
    Wanted w = { name, type, dims, rank < 0 ? 0 : rank, args_double(a, "mean", 0), args_double(a, "std", 1) };
    if (file) return load_file(file, &w, out, err);
    if (sdx_type_kind(type) != SDX_TENSOR || sdx_type_dtype(type) == SDX_STRING || rank < 0) {
        cli_error_set(err, SDX_INVALID_ARGUMENT, "an input of type %s needs a file or a shape", sdx_type_string(type));
        return SDX_INVALID_ARGUMENT;
    }
    sdx_status st = sdx_tensor_create(sdx_type_dtype(type), dims, rank, out, err);
    if (st == SDX_OK) fill_value(*out, args_value(a, "fill"), state);
    return st;
}

/* Every --input and --shape must name an input of the model. */
static int check_names(const Args *a, const sdx_session *s, const char *option, char sep)
{
    size_t n_in = sdx_session_input_count(s);
    const char *text;
    for (int i = 0; (text = args_nth(a, option, i)); i++) {
        bool known = n_in == 1 && !strchr(text, sep);
        for (size_t k = 0; k < n_in && !known; k++) {
            const char *name = sdx_session_input_name(s, k);
            known = strncmp(text, name, strlen(name)) == 0 && text[strlen(name)] == sep;
        }
        if (!known) return cli_fail(EXIT_USAGE, "--%s %s: the model has no such input", option, text);
    }
    return EXIT_OK;
}

int feeds_make(const Args *a, const sdx_session *s, FeedSet *f)
{
    int code = check_names(a, s, "input", '=');
    if (code == EXIT_OK) code = check_names(a, s, "shape", ':');
    if (code != EXIT_OK) return code;
    size_t n = sdx_session_input_count(s);
    uint64_t state = 0x9e3779b97f4a7c15ull * (uint64_t)args_int(a, "seed", 1, 1);
    *f = (FeedSet){ .names = cli_alloc(n * sizeof *f->names), .values = cli_alloc(n * sizeof *f->values) };
    for (size_t i = 0; i < n; i++) {
        sdx_error err = { 0 };
        const char *name = f->names[i] = sdx_session_input_name(s, i);
        const sdx_type *type = sdx_session_input_type(s, i);
        sdx_status st = make_value(a, name, type, n == 1, &state, &f->values[i], &err);
        if (st != SDX_OK) {
            feeds_free(f);
            return cli_fail(cli_exit_code(st), "input \"%s\": %s", name, err.text);
        }
        f->n++;
    }
    return EXIT_OK;
}

void feeds_free(FeedSet *f)
{
    for (size_t i = 0; i < f->n; i++) sdx_value_release(f->values[i]);
    free(f->values);
    free(f->names);
    *f = (FeedSet){ 0 };
}
