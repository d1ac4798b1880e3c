/* ops/signal_window.c - HannWindow, HammingWindow, BlackmanWindow, MelWeightMatrix */
#include <math.h>

#include "ops/cast.h"
#include "ops/dims.h"
#include "ops/shapes.h"

typedef struct WindowAttrs {
    int64_t output_datatype, periodic;
} WindowAttrs;
#define OUTPUT_DATATYPE OP_INT(WindowAttrs, output_datatype, DT_FLOAT)
static const AttrSpec window_attrs[] = { OUTPUT_DATATYPE, OP_INT(WindowAttrs, periodic, 1), OP_ATTR_END };
static const AttrSpec mel_attrs[] = { OUTPUT_DATATYPE, OP_ATTR_END };

static sdx_status output_type(Infer *c)
{
    int64_t d = ((const WindowAttrs *)c->args)->output_datatype;
    if (!sdx_dtype_is_valid(d > 0 && d < DT_COUNT ? (int)d : 0) || !sdx_dtype_in((DType)d, TS_NUMB))
        return sdx_infer_fail(c, "output_datatype %lld is not a numeric type", (long long)d);
    c->out[0].elem = (DType)d;
    return SDX_OK;
}

/* -- windows: a - b cos(2 pi i / N) + c cos(4 pi i / N) ---------------------------------------------------------------- */

typedef struct Terms {
    double a, b, c;
} Terms;

static sdx_status window_infer(Infer *c)
{
    DimVec size;
    Dim *y = infer_out_rank(c, 0, 1);
    TRY(output_type(c));
    if (!sdx_infer_ints(c, 0, &size) || size.n != 1) return SDX_OK;
    if (size.v[0].known && size.v[0].v < 0)
        return sdx_infer_fail(c, "the size is %lld; it must not be negative", (long long)size.v[0].v);
    y[0] = sdx_dim_of(size.v[0]);
    return SDX_OK;
}

/* A symmetric window of one point is 1, as in NumPy: the formula says nothing there. */
static double window_at(const Terms *t, int64_t i, int64_t n)
{
    if (n == 0) return 1;
    if (2 * i > n) i = n - i; /* symmetric to the bit */
    double angle = 6.283185307179586476925286766559 * (double)i / (double)n;
    return t->a - t->b * cos(angle) + (t->c != 0 ? t->c * cos(2 * angle) : 0);
}

enum { BLOCK = 64 };

static sdx_status window_run(Run *r, Terms t)
{
    const WindowAttrs *a = r->args;
    const Tensor *size = &r->in[0]->t;
    void *y;
    if (sdx_tensor_count(size) != 1) return sdx_run_fail(r, "the size is not one number");
    int64_t n = sdx_tensor_get_int(size, 0), period = a->periodic ? n : n - 1;
    if (n < 0) return sdx_run_fail(r, "the size is %lld; it must not be negative", (long long)n);
    TRY(sdx_run_output(r, 0, (DType)a->output_datatype, 1, &n, &y));
    for (int64_t at = 0; at < n; at += BLOCK) {
        double v[BLOCK];
        int64_t k = n - at < BLOCK ? n - at : BLOCK;
        for (int64_t i = 0; i < k; i++) v[i] = window_at(&t, at + i, period);
        sdx_cast_block((DType)a->output_datatype, y, at, DT_DOUBLE, v, 0, k);
    }
    return SDX_OK;
}

static sdx_status hann_run(Run *r) { return window_run(r, (Terms){ 0.5, 0.5, 0 }); }
static sdx_status hamming_run(Run *r) { return window_run(r, (Terms){ 25.0 / 46, 21.0 / 46, 0 }); }
static sdx_status blackman_run(Run *r) { return window_run(r, (Terms){ 0.42, 0.5, 0.08 }); }

static const OpVer window_vers[] = { { 17, { TS_IDX, TS_NUMB } }, { 0 } };

#define WINDOW_OP(Name, run_fn)                                                                                        \
    const OpDef sdx_op_##Name = {                                                                                      \
        .name = #Name,                                                                                                 \
        .sig = "T->U",                                                                                                 \
        .attrs = window_attrs,                                                                                         \
        .attrs_size = sizeof(WindowAttrs),                                                                             \
        .vers = window_vers,                                                                                           \
        .infer = window_infer,                                                                                         \
        .cpu = { NULL, run_fn },                                                                                       \
    };
WINDOW_OP(HannWindow, hann_run)
WINDOW_OP(HammingWindow, hamming_run)
WINDOW_OP(BlackmanWindow, blackman_run)

/* -- MelWeightMatrix --------------------------------------------------------------------------------------------------- */

enum { MEL_BINS, MEL_LENGTH, MEL_RATE, MEL_LOWER, MEL_UPPER };
static const char *const mel_names[] = { "num_mel_bins", "dft_length", "sample_rate" };

static sdx_status mel_infer(Infer *c)
{
    DimVec bins, length;
    Dim *y = infer_out_rank(c, 0, 2);
    TRY(output_type(c));
    if (sdx_infer_ints(c, MEL_LENGTH, &length) && length.n == 1)
        y[0] = sdx_dim_of(infer_linear(c, sdx_dimval_floordiv(c->syms, length.v[0], sdx_dimval_num(2)), 1, 1));
    if (sdx_infer_ints(c, MEL_BINS, &bins) && bins.n == 1) y[1] = sdx_dim_of(bins.v[0]);
    return SDX_OK;
}

static double mel_of(double hertz) { return 2595 * log10(1 + hertz / 700); }
static double hertz_of(double mel) { return 700 * (pow(10, mel / 2595) - 1); }

typedef struct Mel {
    int64_t n[3]; /* bins, length, rate */
    int64_t rows;
    double low, step; /* of the triangles' corners, in mel */
} Mel;

/* The row where corner i of the triangles stands, as the reference implementation of ONNX places it: the distance from
 * one to the next is a (num_mel_bins + 2)-th of the range. Outside of the matrix: -1. */
static int64_t mel_corner(const Mel *m, int64_t i)
{
    double hertz = hertz_of(m->low + (double)i * m->step);
    double row = floor(((double)m->n[MEL_LENGTH] + 1) * hertz / (double)m->n[MEL_RATE]);
    return row >= 0 && row <= (double)m->rows ? (int64_t)row : -1;
}

static sdx_status mel_run(Run *r)
{
    Mel m;
    double edge[2];
    for (int i = 0; i < r->n_in; i++) {
        const Tensor *t = &r->in[i]->t;
        if (sdx_tensor_count(t) != 1) return sdx_run_fail(r, "input %d is not one number", i);
        if (i >= MEL_LOWER) {
            edge[i - MEL_LOWER] = sdx_tensor_get_double(t, 0);
            continue;
        }
        m.n[i] = sdx_tensor_get_int(t, 0);
        if (m.n[i] < (i == MEL_BINS ? 0 : 1) || m.n[i] > (int64_t)1 << 52)
            return sdx_run_fail(r, "%s is %lld", mel_names[i], (long long)m.n[i]);
    }
    if (!(edge[0] >= 0 && edge[0] <= edge[1] && edge[1] < 1e300))
        return sdx_run_fail(r, "lower_edge_hertz, %g, and upper_edge_hertz, %g, are not a range of frequencies",
                            edge[0], edge[1]);
    m.rows = m.n[MEL_LENGTH] / 2 + 1;
    m.low = mel_of(edge[0]);
    m.step = (mel_of(edge[1]) - m.low) / (double)(m.n[MEL_BINS] + 2);
    Tensor y = { .dtype = (DType)((const WindowAttrs *)r->args)->output_datatype, .rank = 2 };
    size_t nbytes;
    y.dims[0] = m.rows;
    y.dims[1] = m.n[MEL_BINS];
    TRY(sdx_run_output(r, 0, y.dtype, 2, y.dims, &y.data));
    if (!sdx_tensor_nbytes(&y, &nbytes) || !nbytes) return SDX_OK;
    memset(y.data, 0, nbytes);
    for (int64_t i = 0; i < y.dims[1]; i++) {
        int64_t left = mel_corner(&m, i), centre = mel_corner(&m, i + 1), right = mel_corner(&m, i + 2);
        if (left < 0 || centre < 0 || right < 0 || centre == m.rows)
            return sdx_run_fail(r, "upper_edge_hertz, %g, lies beyond the spectrum of sample_rate %lld", edge[1],
                                (long long)m.n[MEL_RATE]);
        for (int64_t k = left; k < centre; k++)
            sdx_tensor_set_double(&y, k * y.dims[1] + i, (double)(k - left) / (double)(centre - left));
        sdx_tensor_set_double(&y, centre * y.dims[1] + i, 1);
        for (int64_t k = centre + 1; k < right; k++)
            sdx_tensor_set_double(&y, k * y.dims[1] + i, (double)(right - k) / (double)(right - centre));
    }
    return SDX_OK;
}

static const OpVer mel_vers[] = { { 17, { TS_IDX, TS_FLTB, TS_NUMB } }, { 0 } };

const OpDef sdx_op_MelWeightMatrix = {
    .name = "MelWeightMatrix",
    .sig = "T,T,T,U,U->V",
    .attrs = mel_attrs,
    .attrs_size = sizeof(WindowAttrs),
    .vers = mel_vers,
    .infer = mel_infer,
    .cpu = { NULL, mel_run },
};
