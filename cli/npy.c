#include "cli/npy.h"

#include <stdlib.h>
#include <string.h>

static const struct NpyType {
    const char *descr; /* without the byte order mark */
    sdx_dtype dtype;
} npy_types[] = {
    { "f4", SDX_FLOAT },     { "f8", SDX_DOUBLE },      { "f2", SDX_FLOAT16 }, { "i1", SDX_INT8 },
    { "i2", SDX_INT16 },     { "i4", SDX_INT32 },       { "i8", SDX_INT64 },   { "u1", SDX_UINT8 },
    { "u2", SDX_UINT16 },    { "u4", SDX_UINT32 },      { "u8", SDX_UINT64 },  { "b1", SDX_BOOL },
    { "c8", SDX_COMPLEX64 }, { "c16", SDX_COMPLEX128 },
};
#define N_NPY_TYPES (sizeof npy_types / sizeof *npy_types)
#define NPY_MAX_RANK 16

typedef struct NpyHead {
    char descr[32];
    bool fortran;
    int rank;
    int64_t dims[NPY_MAX_RANK];
    size_t at; /* of the data */
} NpyHead;

static sdx_status npy_bad(sdx_error *err, const char *what)
{
    cli_error_set(err, SDX_INVALID_ARGUMENT, "npy: %s", what);
    return SDX_INVALID_ARGUMENT;
}

static sdx_status npy_dims(const char *s, NpyHead *h, sdx_error *err)
{
    while (*s && *s != ')') {
        char *end;
        long long v = strtoll(s, &end, 10);
        if (end == s || v < 0 || h->rank == NPY_MAX_RANK) return npy_bad(err, "bad shape");
        h->dims[h->rank++] = v;
        s = end;
        while (*s == ',' || *s == ' ' || *s == 'L') s++;
    }
    return *s == ')' ? SDX_OK : npy_bad(err, "bad shape");
}

/* The header is a Python dict literal with three known keys. */
static sdx_status npy_head(const char *p, size_t n, NpyHead *h, sdx_error *err)
{
    *h = (NpyHead){ .rank = 0 };
    if (n < 12 || memcmp(p, "\x93NUMPY", 6) != 0) return npy_bad(err, "no NumPy array file");
    const unsigned char *u = (const unsigned char *)p;
    size_t len = u[8] | (size_t)u[9] << 8;
    if (u[6] != 1) len |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    h->at = (u[6] == 1 ? 10 : 12) + len;
    if (h->at > n || len > 65535) return npy_bad(err, "truncated header");
    char *dict = cli_printf("%.*s", (int)len, p + h->at - len);
    const char *descr = strstr(dict, "'descr':"), *order = strstr(dict, "'fortran_order':"),
               *shape = strstr(dict, "'shape':");
    const char *quote = descr ? strchr(descr + 8, '\'') : NULL, *open = shape ? strchr(shape, '(') : NULL;
    const char *close = quote ? strchr(quote + 1, '\'') : NULL;
    sdx_status st = SDX_OK;
    if (!order || !open || !close || close - quote > 30) st = npy_bad(err, "bad header");
    if (st == SDX_OK) {
        memcpy(h->descr, quote + 1, (size_t)(close - quote - 1));
        h->fortran = strstr(order, "True") && strstr(order, "True") < order + 22;
        st = npy_dims(open + 1, h, err);
    }
    free(dict);
    return st;
}

/* Fixed-width strings: "S7" bytes, "U7" UCS-4, padded with zeros. */
static size_t put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
    if (c < 0x10000)
        return to[0] = (char)(0xe0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 63)), to[2] = (char)(0x80 | (c & 63)), 3;
    to[0] = (char)(0xf0 | (c >> 18 & 7));
    to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63));
    to[3] = (char)(0x80 | (c & 63));
    return 4;
}

static sdx_status npy_strings(const NpyHead *h, const char *data, size_t nbytes, sdx_value **out, sdx_error *err)
{
    bool wide = h->descr[1] == 'U';
    size_t width = (size_t)strtoul(h->descr + 2, NULL, 10), cell = width * (wide ? 4 : 1), n = 1;
    for (int i = 0; i < h->rank; i++)
        if (__builtin_mul_overflow(n, (size_t)h->dims[i], &n)) return npy_bad(err, "bad shape");
    if (cell && n > nbytes / cell) return npy_bad(err, "truncated data");
    char *text = cli_alloc(n * (width * 4 + 1) + 1);
    const char **strings = cli_alloc(n * sizeof *strings);
    size_t *lengths = cli_alloc(n * sizeof *lengths);
    char *to = text;
    for (size_t i = 0; i < n; i++) {
        const char *from = data + i * cell;
        strings[i] = to;
        for (size_t k = 0; k < width; k++) {
            uint32_t c = (unsigned char)from[k];
            if (wide) memcpy(&c, from + 4 * k, 4);
            if (!c) break;
            if (wide)
                to += put_utf8(to, c);
            else
                *to++ = (char)c;
        }
        lengths[i] = (size_t)(to - strings[i]);
    }
    sdx_status st = sdx_tensor_create_strings(h->dims, h->rank, strings, lengths, out, err);
    free(lengths);
    free(strings);
    free(text);
    return st;
}

static void copy_fortran(const NpyHead *h, const char *from, char *to, size_t size, size_t count)
{
    int64_t at[NPY_MAX_RANK] = { 0 };
    for (size_t i = 0; i < count; i++) { /* i walks the file: first index fastest */
        size_t k = 0;
        for (int d = 0; d < h->rank; d++) k = k * (size_t)h->dims[d] + (size_t)at[d];
        memcpy(to + k * size, from + i * size, size);
        for (int d = 0; d < h->rank && ++at[d] == h->dims[d]; d++) at[d] = 0;
    }
}

sdx_status npy_parse(const void *bytes, size_t nbytes, sdx_dtype want, sdx_value **out, sdx_error *err)
{
    NpyHead h;
    sdx_status st = npy_head(bytes, nbytes, &h, err);
    if (st != SDX_OK) return st;
    const char *data = (const char *)bytes + h.at;
    if (h.descr[0] == '>') return npy_bad(err, "big-endian arrays are not read");
    if (h.descr[1] == 'S' || h.descr[1] == 'U') return npy_strings(&h, data, nbytes - h.at, out, err);
    sdx_dtype dtype = SDX_UNDEFINED;
    for (size_t i = 0; i < N_NPY_TYPES; i++)
        if (strcmp(h.descr + 1, npy_types[i].descr) == 0) dtype = npy_types[i].dtype;
    bool stands_for = want != SDX_UNDEFINED && sdx_dtype_nbits(want) % 8 == 0 && h.descr[1] != 'f' &&
                      h.descr[1] != 'c' && strtol(h.descr + 2, NULL, 10) * 8 == sdx_dtype_nbits(want) &&
                      (h.descr[1] == 'V' || want == SDX_BFLOAT16 ||
                       (want >= SDX_FLOAT8E4M3FN && want <= SDX_FLOAT8E5M2FNUZ));
    if (stands_for) dtype = want;
    if (dtype == SDX_UNDEFINED) return npy_bad(err, "element type is not one of ours");
    sdx_value *v;
    st = sdx_tensor_create(dtype, h.dims, h.rank, &v, err);
    if (st != SDX_OK) return st;
    if (sdx_value_nbytes(v) > nbytes - h.at) {
        sdx_value_release(v);
        return npy_bad(err, "truncated data");
    }
    if (h.fortran && h.rank > 1)
        copy_fortran(&h, data, sdx_value_data(v), (size_t)sdx_dtype_nbits(dtype) / 8, (size_t)sdx_value_count(v));
    else
        memcpy(sdx_value_data(v), data, sdx_value_nbytes(v));
    *out = v;
    return SDX_OK;
}

static size_t longest_string(const sdx_value *v)
{
    size_t longest = 1, n;
    const char *text;
    for (int64_t i = 0; i < sdx_value_count(v); i++)
        if (sdx_value_string(v, i, &text, &n, NULL) == SDX_OK && n > longest) longest = n;
    return longest;
}

static void *string_cells(const sdx_value *v, size_t width)
{
    int64_t count = sdx_value_count(v);
    char *cells = cli_alloc((size_t)count * width);
    memset(cells, 0, (size_t)count * width);
    for (int64_t i = 0; i < count; i++) {
        const char *text;
        size_t n;
        if (sdx_value_string(v, i, &text, &n, NULL) == SDX_OK) memcpy(cells + (size_t)i * width, text, n);
    }
    return cells;
}

static float *widened(const sdx_value *v)
{
    int64_t count = sdx_value_count(v);
    float *p = cli_alloc((size_t)count * sizeof *p);
    for (int64_t i = 0; i < count; i++) p[i] = (float)sdx_value_get(v, i);
    return p;
}

sdx_status npy_write(const char *path, const sdx_value *v, sdx_error *err)
{
    if (sdx_value_kind(v) != SDX_TENSOR) return npy_bad(err, "only tensors can be written");
    const char *descr = NULL;
    char width_text[32];
    void *own = NULL;
    const void *data = sdx_value_data(v);
    size_t nbytes = sdx_value_nbytes(v);
    for (size_t i = 0; i < N_NPY_TYPES; i++)
        if (npy_types[i].dtype == sdx_value_dtype(v)) descr = npy_types[i].descr;
    if (sdx_value_dtype(v) == SDX_STRING) {
        size_t width = longest_string(v);
        snprintf(width_text, sizeof width_text, "S%zu", width);
        descr = width_text;
        data = own = string_cells(v, width);
        nbytes = (size_t)sdx_value_count(v) * width;
    } else if (!descr) {
        descr = "f4";
        data = own = widened(v);
        nbytes = (size_t)sdx_value_count(v) * sizeof(float);
    }
    char shape[512] = "";
    for (int i = 0; i < sdx_value_rank(v); i++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%lld,", (long long)sdx_value_dims(v)[i]);
    bool bytes_only = descr[0] == 'S' || descr[1] == '1';
    char *dict = cli_printf("{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }", bytes_only ? '|' : '<', descr,
                            shape);
    size_t len = (10 + strlen(dict) + 1 + 63) / 64 * 64; /* header and newline padded, so that data is aligned */
    char *file = cli_alloc(len + nbytes);
    memset(file, ' ', len);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (char)((len - 10) & 255);
    file[9] = (char)((len - 10) >> 8);
    memcpy(file + 10, dict, strlen(dict));
    file[len - 1] = '\n';
    if (nbytes) memcpy(file + len, data, nbytes);
    sdx_status st = cli_write_file(path, file, len + nbytes, err) ? SDX_OK : SDX_IO;
    free(file);
    free(dict);
    free(own);
    return st;
}
