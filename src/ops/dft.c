/* ops/dft.c - DFT, STFT
 *
 * Every line of complex numbers is transformed in double (kern/fft), whatever the element type; the result is rounded
 * once. Input and output end in a dimension of 1 (real) or 2 (real and imaginary part). */
#include <stdio.h>

#include "base/size.h"
#include "kern/fft/fft.h"
#include "ops/axis3.h"
#include "ops/cast.h"
#include "ops/dims.h"
#include "ops/shapes.h"
#include "ops/upgrade.h"

/* -- lines ----------------------------------------------------------------------------------------------------------- */

/* Line u of a tensor starts at element u / group * jump + u % group * hop; its numbers lie `stride` apart. */
typedef struct Lines {
    DType dtype;
    char *data;
    int64_t group, jump, hop, stride;
    int64_t n;     /* numbers of a line that are read or written */
    int64_t parts; /* of a number: 1 or 2 */
} Lines;

typedef struct Fourier {
    Fft fft;
    Lines in, out;
    bool inverse;
    bool half;            /* inverse: the input is the half of a spectrum that is symmetric */
    const double *window; /* [fft.n], or NULL */
    double *scratch;
    size_t per_worker; /* doubles */
} Fourier;

/* The memory that length n takes, in doubles: tables that last, and scratch, window included. */
static bool fourier_sizes(int64_t n, int threads, size_t *tables, size_t *per_worker, size_t *scratch)
{
    size_t work, bytes;
    if (!sdx_fft_sizes(n, tables, &work)) return false;
    *per_worker = 2 * (size_t)n + work;
    return sdx_mul_size(scratch, *per_worker, (size_t)(threads > 0 ? threads : 1)) &&
           sdx_add_size(scratch, *scratch, (size_t)n) && sdx_mul_size(&bytes, *scratch, sizeof(double));
}

static int64_t line_start(const Lines *l, int64_t u) { return u / l->group * l->jump + u % l->group * l->hop; }

/* n numbers of line u as pairs. */
static void line_load(const Lines *l, int64_t u, double *z, double *stage)
{
    int64_t at = line_start(l, u);
    if (l->stride == l->parts)
        sdx_cast_block(DT_DOUBLE, stage, 0, l->dtype, l->data, at, l->n * l->parts);
    else
        for (int64_t i = 0; i < l->n; i++)
            sdx_cast_block(DT_DOUBLE, stage, i * l->parts, l->dtype, l->data, at + i * l->stride, l->parts);
    for (int64_t i = 0; i < l->n; i++) {
        z[2 * i] = stage[i * l->parts];
        z[2 * i + 1] = l->parts == 2 ? stage[2 * i + 1] : 0;
    }
}

static void line_store(const Lines *l, int64_t u, const double *z, double *stage)
{
    int64_t at = line_start(l, u);
    for (int64_t i = 0; i < l->n; i++) {
        stage[i * l->parts] = z[2 * i];
        if (l->parts == 2) stage[2 * i + 1] = z[2 * i + 1];
    }
    if (l->stride == l->parts)
        sdx_cast_block(l->dtype, l->data, at, DT_DOUBLE, stage, 0, l->n * l->parts);
    else
        for (int64_t i = 0; i < l->n; i++)
            sdx_cast_block(l->dtype, l->data, at + i * l->stride, DT_DOUBLE, stage, i * l->parts, l->parts);
}

/* The other half of a spectrum whose line is real: z[n - k] is the conjugate of z[k]. */
static void line_mirror(double *z, int64_t n)
{
    z[1] = 0;
    if (n % 2 == 0) z[n + 1] = 0;
    for (int64_t k = 1; 2 * k < n; k++) {
        z[2 * (n - k)] = z[2 * k];
        z[2 * (n - k) + 1] = -z[2 * k + 1];
    }
}

static void line_exchange(double *z, int64_t n, double factor)
{
    for (int64_t i = 0; i < n; i++) {
        double re = z[2 * i];
        z[2 * i] = z[2 * i + 1] * factor;
        z[2 * i + 1] = re * factor;
    }
}

static void fourier_range(void *arg, int64_t from, int64_t to, int worker)
{
    const Fourier *f = arg;
    int64_t n = f->fft.n, read = f->in.n, given = f->half ? n / 2 + 1 : n;
    double *z = f->scratch + (size_t)worker * f->per_worker, *work = z + 2 * n;
    for (int64_t u = from; u < to; u++) {
        line_load(&f->in, u, z, work);
        for (int64_t i = 2 * read; i < 2 * given; i++) z[i] = 0;
        if (f->half) line_mirror(z, n);
        for (int64_t i = 0; f->window && i < n; i++) {
            z[2 * i] *= f->window[i];
            z[2 * i + 1] *= f->window[i];
        }
        if (f->inverse) line_exchange(z, n, 1);
        sdx_fft_forward(&f->fft, z, work);
        if (f->inverse) line_exchange(z, n, 1 / (double)n);
        line_store(&f->out, u, z, work);
    }
}

/* Transforms `count` lines of length n by the tables of the plan, or by tables made now. window: NULL, or n elements. */
static sdx_status fourier_run(Run *r, Fourier *f, int64_t n, int64_t count, const Tensor *window)
{
    int threads = sdx_pool_threads(r->pool);
    size_t tables, scratch;
    if (count == 0) return SDX_OK;
    if (!fourier_sizes(n, threads, &tables, &f->per_worker, &scratch))
        return sdx_run_fail(r, "a transform of length %lld is beyond what is supported", (long long)n);
    double *memory = r->scratch;
    if (r->state) {
        f->fft = *(const Fft *)r->state;
    } else {
        size_t all;
        memory = sdx_add_size(&all, tables, scratch) && sdx_mul_size(&all, all, sizeof *memory) ? sdx_run_heap(r, all)
                                                                                                : NULL;
        TRY_MEM(memory, r->err);
        sdx_fft_init(&f->fft, n, memory, memory + tables);
        memory += tables;
    }
    if (window) sdx_cast_block(DT_DOUBLE, memory, 0, window->dtype, window->data, 0, n);
    f->window = window ? memory : NULL;
    f->scratch = memory + n;
    sdx_run_range(r, count, 4096 / n + 1, fourier_range, f);
    return SDX_OK;
}

/* In prepare: the tables of a length that is known by now. Large ones are left to the run, whose memory has a ceiling. */
static sdx_status fourier_prepare(Prepare *p, int64_t n)
{
    size_t tables, per_worker, scratch;
    if (n > 1 << 22) return SDX_OK;
    if (!fourier_sizes(n, p->threads, &tables, &per_worker, &scratch))
        return sdx_prepare_fail(p, SDX_UNSUPPORTED, "a transform of length %lld is beyond what is supported",
                                (long long)n);
    size_t work = scratch - (size_t)n;
    Fft *f = sdx_arena_new(p->arena, Fft);
    double *memory = sdx_arena_array(p->arena, double, tables), *once = sdx_alloc(p->arena->alloc, work * sizeof *once);
    if (f && memory && once) sdx_fft_init(f, n, memory, once);
    sdx_free(p->arena->alloc, once);
    if (!f || !memory || !once) return sdx_fail(p->err, SDX_OUT_OF_MEMORY, "out of memory");
    p->state = f;
    p->scratch = scratch * sizeof(double);
    return SDX_OK;
}

/* The one integer that a scalar input holds; false when it is not one. */
static bool scalar_of(const Datum *d, int64_t *v)
{
    if (sdx_tensor_count(&d->t) != 1) return false;
    *v = sdx_tensor_get_int(&d->t, 0);
    return true;
}

/* Is input i absent, or constant with its content at hand? */
static bool settled(const Prepare *p, int i)
{
    return !DATUM_HAS(p, i) || (p->in_const[i] && p->in[i]->t.data && sdx_tensor_count(&p->in[i]->t) == 1);
}

/* Of a scalar input in inference. Present but not known: false. */
static bool infer_scalar(const Infer *c, int i, DimVal *v)
{
    DimVec known;
    if (!sdx_infer_ints(c, i, &known) || known.n != 1) return false;
    *v = known.v[0];
    return true;
}

static sdx_status infer_is_scalar(const Infer *c, int i, const char *what)
{
    const Shape *s = infer_shape(c, i);
    if (s && (s->rank > 1 || (s->rank == 1 && dim_differs(s->dims[0], 1))))
        return sdx_infer_fail(c, "%s has rank %d; it must be a scalar", what, (int)s->rank);
    return SDX_OK;
}

/* -- DFT ------------------------------------------------------------------------------------------------------------- */

typedef struct DftAttrs {
    int64_t inverse, onesided;
} DftAttrs;
static const AttrSpec dft_attrs[] = { OP_INT(DftAttrs, inverse, 0), OP_INT(DftAttrs, onesided, 0), OP_ATTR_END };

enum { DFT_AXIS_ABSENT = -2 };

/* The axis was an attribute, and stood at 1 when absent. */
static sdx_status dft_from_17(Node *n, Err *err)
{
    TRY(sdx_upgrade_default_int(n, "axis", 1, err));
    return sdx_upgrade_int_to_input(n, "axis", 2, err);
}

/* What is wrong with input and attributes; "" when nothing. */
static void dft_check(char why[160], const DftAttrs *a, int rank, int64_t last, int64_t axis)
{
    why[0] = '\0';
    if (rank < 2)
        snprintf(why, 160, "the input has rank %d; it must be at least 2", rank);
    else if (last >= 0 && last != 1 && last != 2)
        snprintf(why, 160, "the input's last dimension is %lld; it must be 1 (real) or 2 (complex)", (long long)last);
    else if (last == 2 && a->onesided && !a->inverse)
        snprintf(why, 160, "onesided = 1 needs real input; the last dimension is 2");
    else if (last == 1 && a->onesided && a->inverse)
        snprintf(why, 160, "the inverse with onesided = 1 needs complex input; the last dimension is 1");
    else if (axis < -rank || axis == -1 || axis > rank - 2)
        snprintf(why, 160, "axis %lld is outside [-%d, -2] and [0, %d]", (long long)axis, rank, rank - 2);
}

static sdx_status dft_infer(Infer *c)
{
    const DftAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0);
    DimVal axis = sdx_dimval_num(DFT_AXIS_ABSENT), length = sdx_dimval_unknown();
    char why[160];
    TRY(infer_is_scalar(c, 1, "dft_length"));
    TRY(infer_is_scalar(c, 2, "axis"));
    if (!x) return SDX_OK;
    bool axis_known = !infer_has(c, 2) || (infer_scalar(c, 2, &axis) && axis.known);
    dft_check(why, a, x->rank, x->rank > 0 ? x->dims[x->rank - 1] : 0, axis_known ? axis.v : DFT_AXIS_ABSENT);
    if (why[0]) return sdx_infer_fail(c, "%s", why);
    Dim *y = infer_out_rank(c, 0, x->rank);
    y[x->rank - 1] = a->inverse && a->onesided ? 1 : 2;
    if (!axis_known) return SDX_OK;
    int at = (int)(axis.v < 0 ? axis.v + x->rank : axis.v);
    for (int k = 0; k < x->rank - 1; k++)
        if (k != at) y[k] = x->dims[k];
    if (!infer_has(c, 1)) {
        length = sdx_dimval_of(x->dims[at]);
        if (a->inverse && a->onesided) length = infer_linear(c, length, 2, -2);
    } else if (!infer_scalar(c, 1, &length)) {
        return SDX_OK;
    }
    if (length.known && length.v < 1)
        return sdx_infer_fail(c, "the transform has length %lld; it must be at least 1", (long long)length.v);
    if (a->onesided && !a->inverse)
        length = infer_linear(c, sdx_dimval_floordiv(c->syms, length, sdx_dimval_num(2)), 1, 1);
    y[at] = sdx_dim_of(length);
    return SDX_OK;
}

static int64_t dft_default_length(const DftAttrs *a, int64_t n) { return a->inverse && a->onesided ? 2 * n - 2 : n; }

static sdx_status dft_prepare(Prepare *p)
{
    const Tensor *x = &p->in[0]->t;
    int64_t axis = DFT_AXIS_ABSENT, n;
    if (!settled(p, 1) || !settled(p, 2) || !sdx_tensor_count(x)) return SDX_OK;
    if (DATUM_HAS(p, 2)) scalar_of(p->in[2], &axis);
    n = dft_default_length(p->args, x->dims[axis < 0 ? axis + x->rank : axis]);
    if (DATUM_HAS(p, 1)) scalar_of(p->in[1], &n);
    return fourier_prepare(p, n);
}

static sdx_status dft_run(Run *r)
{
    const DftAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    int64_t axis = DFT_AXIS_ABSENT, n, dims[SDX_MAX_RANK], last = x->rank > 0 ? x->dims[x->rank - 1] : 0;
    char why[160];
    void *y;
    if (DATUM_HAS(r, 2) && !scalar_of(r->in[2], &axis)) return sdx_run_fail(r, "axis is not one number");
    dft_check(why, a, x->rank, last, axis);
    if (why[0]) return sdx_run_fail(r, "%s", why);
    int at = (int)(axis < 0 ? axis + x->rank : axis);
    n = dft_default_length(a, x->dims[at]);
    if (DATUM_HAS(r, 1) && !scalar_of(r->in[1], &n)) return sdx_run_fail(r, "dft_length is not one number");
    if (n < 1) return sdx_run_fail(r, "the transform has length %lld; it must be at least 1", (long long)n);
    bool half = a->inverse && a->onesided;
    int64_t bins = a->onesided && !a->inverse ? n / 2 + 1 : n, given = half ? n / 2 + 1 : n;
    memcpy(dims, x->dims, sizeof dims);
    dims[at] = bins;
    dims[x->rank - 1] = half ? 1 : 2;
    TRY(sdx_run_output(r, 0, x->dtype, x->rank, dims, &y));
    int64_t inner = sdx_dims_product(x->dims, at + 1, x->rank - 1), parts = half ? 1 : 2;
    Fourier f = { .inverse = a->inverse, .half = half };
    f.in = (Lines){ x->dtype,
                    x->data,
                    inner,
                    x->dims[at] * inner * last,
                    last,
                    inner * last,
                    x->dims[at] < given ? x->dims[at] : given,
                    last };
    f.out = (Lines){ x->dtype, y, inner, bins * inner * parts, parts, inner * parts, bins, parts };
    return fourier_run(r, &f, n, sdx_dims_product(x->dims, 0, at) * inner, NULL);
}

static const OpVer dft_vers[] = { { 20, { TS_FLTB, TS_IDX } }, { 17, { TS_FLTB, TS_IDX }, dft_from_17 }, { 0 } };

const OpDef sdx_op_DFT = {
    .name = "DFT",
    .sig = "T,U?,i64?->T",
    .attrs = dft_attrs,
    .attrs_size = sizeof(DftAttrs),
    .vers = dft_vers,
    .infer = dft_infer,
    .cpu = { dft_prepare, dft_run },
};

/* -- STFT ------------------------------------------------------------------------------------------------------------ */

typedef struct StftAttrs {
    int64_t onesided;
} StftAttrs;
static const AttrSpec stft_attrs[] = { OP_INT(StftAttrs, onesided, 1), OP_ATTR_END };

static int64_t stft_bins(const StftAttrs *a, int64_t length) { return a->onesided ? length / 2 + 1 : length; }

/* [batch, samples, 1 or 2], or [batch, samples] when real. */
static void stft_check(char why[160], const StftAttrs *a, int rank, int64_t last)
{
    why[0] = '\0';
    if (rank != 3 && rank != 2)
        snprintf(why, 160, "the signal has rank %d; it must be 3, or 2 when real", rank);
    else if (rank == 3 && last >= 0 && last != 1 && last != 2)
        snprintf(why, 160, "the signal's last dimension is %lld; it must be 1 (real) or 2 (complex)", (long long)last);
    else if (rank == 3 && last == 2 && a->onesided)
        snprintf(why, 160, "onesided = 1 needs a real signal; the last dimension is 2");
}

static sdx_status stft_infer(Infer *c)
{
    const StftAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0), *window = infer_shape(c, 2);
    DimVal step, length = sdx_dimval_unknown(), given;
    char why[160];
    TRY(infer_is_scalar(c, 1, "frame_step"));
    TRY(infer_is_scalar(c, 3, "frame_length"));
    TRY(infer_rank_between(c, 2, 1, 1, "the window"));
    Dim *y = infer_out_rank(c, 0, 4);
    y[3] = 2;
    bool step_known = infer_scalar(c, 1, &step);
    if (step_known && step.known && step.v < 1)
        return sdx_infer_fail(c, "frame_step is %lld; it must be at least 1", (long long)step.v);
    if (infer_has(c, 3))
        length = infer_scalar(c, 3, &given) ? given : sdx_dimval_unknown();
    else if (infer_has(c, 2))
        length = window ? sdx_dimval_of(window->dims[0]) : sdx_dimval_unknown();
    else if (x && x->rank >= 2)
        length = sdx_dimval_of(x->dims[1]);
    if (length.known && length.v < 1)
        return sdx_infer_fail(c, "the frames have %lld samples; there must be at least 1", (long long)length.v);
    if (window && length.known && dim_differs(window->dims[0], length.v))
        return sdx_infer_fail(c, "the window has %lld elements, the frames %lld samples", (long long)window->dims[0],
                              (long long)length.v);
    y[2] = sdx_dim_of(a->onesided ? infer_linear(c, sdx_dimval_floordiv(c->syms, length, sdx_dimval_num(2)), 1, 1)
                                  : length);
    if (!x) return SDX_OK;
    stft_check(why, a, x->rank, x->rank > 0 ? x->dims[x->rank - 1] : 0);
    if (why[0]) return sdx_infer_fail(c, "%s", why);
    y[0] = x->dims[0];
    DimVal rest = sdx_dimval_sub(c->syms, sdx_dimval_of(x->dims[1]), length);
    if (rest.known && rest.v < 0)
        y[1] = 0;
    else if (step_known && step.known && (rest.known || (c->syms && sdx_dimval_lower(c->syms, rest) >= 0)))
        y[1] = sdx_dim_of(infer_linear(c, sdx_dimval_floordiv(c->syms, rest, step), 1, 1));
    return SDX_OK;
}

/* Samples of a frame; false when frame_length is there but not one number. */
static bool stft_length(const Datum *const *in, int n_in, int64_t *n)
{
    *n = in[0]->t.dims[1];
    if (n_in > 2 && in[2] && in[2]->kind != DATUM_NONE) *n = in[2]->t.dims[0];
    return n_in < 4 || !in[3] || in[3]->kind == DATUM_NONE || scalar_of(in[3], n);
}

static sdx_status stft_prepare(Prepare *p)
{
    int64_t n;
    if (!settled(p, 3) || !sdx_tensor_count(&p->in[0]->t) || !stft_length(p->in, p->n_in, &n)) return SDX_OK;
    return fourier_prepare(p, n);
}

static sdx_status stft_run(Run *r)
{
    const StftAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t, *window = DATUM_HAS(r, 2) ? &r->in[2]->t : NULL;
    int64_t step, n, last = x->rank == 3 ? x->dims[2] : 1;
    char why[160];
    void *y;
    stft_check(why, a, x->rank, last);
    if (why[0]) return sdx_run_fail(r, "%s", why);
    if (!scalar_of(r->in[1], &step)) return sdx_run_fail(r, "frame_step is not one number");
    if (step < 1) return sdx_run_fail(r, "frame_step is %lld; it must be at least 1", (long long)step);
    if (!stft_length(r->in, r->n_in, &n)) return sdx_run_fail(r, "frame_length is not one number");
    if (n < 1) return sdx_run_fail(r, "the frames have %lld samples; there must be at least 1", (long long)n);
    if (window && (window->rank != 1 || window->dims[0] != n))
        return sdx_run_fail(r, "the window has %lld elements, the frames %lld samples",
                            (long long)sdx_tensor_count(window), (long long)n);
    int64_t samples = x->dims[1], bins = stft_bins(a, n);
    int64_t dims[4] = { x->dims[0], samples < n ? 0 : (samples - n) / step + 1, bins, 2 };
    TRY(sdx_run_output(r, 0, x->dtype, 4, dims, &y));
    Fourier f = { .in = { x->dtype, x->data, dims[1], samples * last, step * last, last, n, last },
                  .out = { x->dtype, y, 1, bins * 2, 0, 2, bins, 2 } };
    return fourier_run(r, &f, n, dims[0] * dims[1], window);
}

static const OpVer stft_vers[] = { { 17, { TS_FLTB, TS_IDX } }, { 0 } };

const OpDef sdx_op_STFT = {
    .name = "STFT",
    .sig = "T,U,T?,U?->T",
    .attrs = stft_attrs,
    .attrs_size = sizeof(StftAttrs),
    .vers = stft_vers,
    .infer = stft_infer,
    .cpu = { stft_prepare, stft_run },
};
