/* ops/matmul_int.c - MatMulInteger, QLinearMatMul, com.microsoft MatMulIntegerToFloat
 *
 * sum = (a - za)(b - zb) in int32, exact and wrapping, by the 8-bit products of kern/gemm; QLinearMatMul then gives
 * saturate(round_half_even(sum * sa * sb / sy) + zy), MatMulIntegerToFloat sum * sa * sb + bias in float. Zero points and
 * scales are one number, or one for each row of a and y and each column of b. Parameters by row, and float8, are rare and
 * take plain loops. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "kern/gemm/igemm.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/matmul.h"
#include "ops/storage.h"

/* Inputs of the operators by role; -1: there is none. */
typedef struct Roles {
    int a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias;
} Roles;
static const Roles integer_roles = { 0, -1, 2, 1, -1, 3, -1, -1, -1 };
static const Roles qlinear_roles = { 0, 1, 2, 3, 4, 5, 6, 7, -1 };
static const Roles tofloat_roles = { 0, 2, 4, 1, 3, 5, -1, -1, 6 };

/* A parameter of a: one value, one a row of the matrix, or one for each row of all matrices. Of b: the same with
 * columns. */
static sdx_status int_param(const Infer *c, int i, int of, bool rows, const char *what)
{
    const Shape *s = infer_shape(c, i), *m = infer_shape(c, of);
    if (!s || !m) return SDX_OK;
    Dim want = m->rank > 1 ? m->dims[m->rank - (rows ? 2 : 1)] : rows ? 1 : 1, count = 1;
    for (int k = 0; k < s->rank; k++) count = infer_mul(c, count, s->dims[k]);
    if (!sdx_dim_is_const(count) || count == 1 || count == want || !sdx_dim_is_const(want)) return SDX_OK;
    Dim all = want;
    for (int k = 0; k < m->rank - 2; k++) all = infer_mul(c, all, m->dims[k]);
    if (!dim_differs(count, all)) return SDX_OK;
    return sdx_infer_fail(c, "%s has %lld values; it may have 1 or %lld", what, (long long)count, (long long)want);
}

static sdx_status int_infer(Infer *c, const Roles *ro)
{
    TRY(int_param(c, ro->a_zero, ro->a, true, "the zero point of a"));
    TRY(int_param(c, ro->b_zero, ro->b, false, "the zero point of b"));
    if (ro->a_scale >= 0) {
        TRY(int_param(c, ro->a_scale, ro->a, true, "the scale of a"));
        TRY(int_param(c, ro->b_scale, ro->b, false, "the scale of b"));
    }
    if (ro->y_scale >= 0) {
        TRY(int_param(c, ro->y_scale, ro->a, true, "the scale of y"));
        TRY(int_param(c, ro->y_zero, ro->a, true, "the zero point of y"));
    }
    return sdx_matmul_infer(c, ro->a, ro->b);
}

static sdx_status matmulinteger_infer(Infer *c) { return int_infer(c, &integer_roles); }
static sdx_status qlinear_infer(Infer *c) { return int_infer(c, &qlinear_roles); }

static sdx_status tofloat_infer(Infer *c)
{
    const Shape *b = infer_shape(c, 1);
    if (b && b->rank) TRY(infer_is_vector(c, 6, b->dims[b->rank - 1], "the bias"));
    return int_infer(c, &tofloat_roles);
}

typedef struct IntState {
    const Kern *kern;
    MatShape s;
    IgemmPlan plan;
    const char *packed; /* constant b, or NULL */
    size_t packed_step; /* bytes from one packed matrix to the next */
    int64_t n_b;        /* matrices of b */
    size_t at_packed, at_col, at_zero, at_scale, at_workers, worker_scratch;
    bool plain; /* loops, without the kernels */
} IntState;

typedef struct PackArgs {
    const Kern *kern;
    int64_t k, n, count;
    size_t step;
} PackArgs;

static void int_pack(void *user, void *dst, const Tensor *src)
{
    const PackArgs *a = user;
    size_t panels = ((size_t)a->n + a->kern->igemm_nr - 1) / a->kern->igemm_nr;
    for (int64_t i = 0; i < a->count; i++)
        sdx_igemm_pack(a->kern, (const char *)src->data + i * a->k * a->n, src->dtype == DT_INT8, (size_t)a->n,
                       SDX_MAT_ROWS, (size_t)a->k, (size_t)a->n, 0, panels, (char *)dst + (size_t)i * a->step);
}

static bool reserve(Prepare *p, size_t count, size_t size, size_t *at)
{
    size_t nbytes;
    *at = sdx_round_up(p->scratch, SDX_ALIGN);
    return sdx_mul_size(&nbytes, count, size) && sdx_add_size(&p->scratch, *at, nbytes);
}

static const Tensor *input(const Datum *const *in, int n_in, int i)
{
    return i >= 0 && i < n_in && in[i] ? &in[i]->t : NULL;
}

static bool by_row(const Tensor *t) { return t && sdx_tensor_count(t) > 1; }

static sdx_status int_prepare(Prepare *p, const Roles *ro)
{
    const Tensor *a = &p->in[ro->a]->t, *b = &p->in[ro->b]->t;
    IntState *st = sdx_arena_new(p->arena, IntState);
    TRY_MEM(st, p->err);
    p->state = st;
    st->kern = p->kern;
    MatShape *s = &st->s;
    sdx_matmul_shape(a, b, s);
    st->plain = sdx_is_storage_float(a->dtype) || sdx_is_storage_float(b->dtype) ||
                (ro->y_scale >= 0 && sdx_is_storage_float(p->out[0]->t.dtype)) ||
                by_row(input(p->in, p->n_in, ro->a_zero)) || by_row(input(p->in, p->n_in, ro->a_scale)) ||
                by_row(input(p->in, p->n_in, ro->y_scale)) || by_row(input(p->in, p->n_in, ro->y_zero));
    if (st->plain || s->m * s->n * s->k == 0) return SDX_OK;

    st->n_b = sdx_dims_product(b->dims, 0, b->rank > 2 ? b->rank - 2 : 0);
    st->plan = (IgemmPlan){ .m = (size_t)s->m,
                            .n = (size_t)s->n,
                            .k = (size_t)s->k,
                            .lda = (size_t)s->k,
                            .ldc = (size_t)s->n,
                            .a_signed = a->dtype == DT_INT8,
                            .row_sums = true };
    sdx_igemm_plan(p->kern, &st->plan);
    st->worker_scratch = sdx_round_up(st->plan.scratch, SDX_ALIGN);
    size_t nbytes, all, workers = (size_t)(p->threads > 0 ? p->threads : 1), columns = (size_t)(st->n_b * s->n);
    if (!sdx_igemm_pack_size(p->kern, (size_t)s->k, (size_t)s->n, &nbytes) || nbytes > SIZE_MAX / 2 ||
        !sdx_mul_size(&all, st->packed_step = sdx_round_up(nbytes, SDX_ALIGN), (size_t)st->n_b))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "packed weights do not fit the address space");
    bool ok = reserve(p, columns, sizeof(int32_t), &st->at_col) && reserve(p, columns, sizeof(int32_t), &st->at_zero) &&
              reserve(p, columns, sizeof(float), &st->at_scale) &&
              reserve(p, workers, st->worker_scratch, &st->at_workers);
    if (p->in_const[ro->b] && b->data) {
        PackArgs args = { p->kern, s->k, s->n, st->n_b, st->packed_step };
        char key[96];
        snprintf(key, sizeof key, "igemm nr%u form%u %s %lldx%lld n%lld", p->kern->igemm_nr, p->kern->igemm_form,
                 sdx_dtype_name(b->dtype), (long long)s->k, (long long)s->n, (long long)st->n_b);
        const void *packed;
        TRY(sdx_prepare_pack(p, ro->b, key, all, int_pack, &args, &packed));
        st->packed = packed;
    } else {
        ok = ok && reserve(p, all, 1, &st->at_packed);
    }
    return ok ? SDX_OK : sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
}

static sdx_status matmulinteger_prepare(Prepare *p) { return int_prepare(p, &integer_roles); }
static sdx_status qlinear_prepare(Prepare *p) { return int_prepare(p, &qlinear_roles); }
static sdx_status tofloat_prepare(Prepare *p) { return int_prepare(p, &tofloat_roles); }

/* Element for row `row` of all rows of a (or column of all columns of b), `period` to a matrix. */
static double param_at(const Tensor *t, int64_t i, int64_t period, double dflt)
{
    if (!t) return dflt;
    int64_t n = sdx_tensor_count(t);
    return sdx_tensor_get_double(t, n == 1 ? 0 : n == period ? i % period : i);
}

typedef struct IntJob {
    const IntState *st;
    IgemmPlan plan;
    const char *a, *packed;
    char *y, *workers;
    const int32_t *col, *zero;
    const float *scale;
    IgemmOut out;
    size_t y_size;
} IntJob;

static void int_range(void *arg, int64_t from, int64_t to, int worker)
{
    const IntJob *j = arg;
    const MatShape *s = &j->st->s;
    int64_t chunks = (int64_t)j->plan.chunks;
    for (int64_t u = from; u < to; u++) {
        int64_t batch = u / chunks, at_a, at_b, which;
        matmul_at(s, batch, &at_a, &at_b);
        which = at_b / (s->k * s->n);
        IgemmOut out = j->out;
        out.col = j->col + which * s->n;
        if (j->plan.row_sums) out.b_zero = j->zero + which * s->n;
        if (j->scale) out.scale = j->scale + which * s->n;
        sdx_igemm_chunk(j->st->kern, &j->plan, j->a + at_a, j->packed + (size_t)which * j->st->packed_step, &out,
                        j->y + (size_t)(batch * s->m * s->n) * j->y_size, (size_t)(u % chunks),
                        j->workers + (size_t)worker * j->st->worker_scratch);
    }
}

typedef struct IntParams {
    const Tensor *a, *b, *a_scale, *a_zero, *b_scale, *b_zero, *y_scale, *y_zero, *bias;
} IntParams;

static void int_store(const IntParams *q, Tensor *y, int64_t at, int64_t row, int64_t rows, double sum, double scale)
{
    if (y->dtype == DT_INT32) {
        ((int32_t *)y->data)[at] = (int32_t)(uint32_t)(int64_t)sum;
        return;
    }
    if (y->dtype == DT_FLOAT) {
        int64_t n = q->b->dims[q->b->rank - 1];
        ((float *)y->data)[at] = (float)(sum * scale + param_at(q->bias, at % n, n, 0));
        return;
    }
    double v = sum * scale / param_at(q->y_scale, row, rows, 1), zero = param_at(q->y_zero, row, rows, 0);
    if (sdx_is_storage_float(y->dtype)) {
        float f = (float)(v + zero);
        sdx_storage_narrow(y->dtype, y->data, at, &f, 1);
        return;
    }
    v = nearbyint(v) + zero;
    double lo = y->dtype == DT_INT8 ? -128 : 0, hi = y->dtype == DT_INT8 ? 127 : 255;
    sdx_tensor_set_double(y, at, v < lo ? lo : v > hi ? hi : v);
}

static void int_plain(const IntState *st, const IntParams *q, Tensor *y)
{
    const MatShape *s = &st->s;
    for (int64_t u = 0; u < s->batches * s->m; u++) {
        int64_t at_a, at_b;
        matmul_at(s, u / s->m, &at_a, &at_b);
        at_a += u % s->m * s->k;
        int64_t row = s->k ? at_a / s->k : 0;
        double za = param_at(q->a_zero, row, s->rows, 0), sa = param_at(q->a_scale, row, s->rows, 1);
        for (int64_t c = 0; c < s->n; c++) {
            int64_t column = (s->k ? at_b / s->k : 0) + c;
            double zb = param_at(q->b_zero, column, s->n, 0), sum = 0;
            for (int64_t k = 0; k < s->k; k++)
                sum += (sdx_tensor_get_double(q->a, at_a + k) - za) *
                       (sdx_tensor_get_double(q->b, at_b + k * s->n + c) - zb);
            int_store(q, y, u * s->n + c, row, s->rows, sum, sa * param_at(q->b_scale, column, s->n, 1));
        }
    }
}

/* Column terms and scales of every matrix of b. true: some zero point of b asks for row sums. */
static bool int_columns(Run *r, const IntState *st, const IntParams *q, const char *packed)
{
    const MatShape *s = &st->s;
    char *scratch = r->scratch;
    int32_t *col = (int32_t *)(scratch + st->at_col), *zero = (int32_t *)(scratch + st->at_zero);
    float *scale = (float *)(scratch + st->at_scale);
    bool any = false;
    for (int64_t i = 0; i < st->n_b; i++) {
        for (int64_t c = 0; c < s->n; c++) {
            zero[i * s->n + c] = (int32_t)param_at(q->b_zero, i * s->n + c, s->n, 0);
            if (q->a_scale)
                scale[i * s->n + c] = (float)(param_at(q->a_scale, 0, 1, 1) *
                                              param_at(q->b_scale, i * s->n + c, s->n, 1) /
                                              param_at(q->y_scale, 0, 1, 1));
        }
        const int32_t *sums = sdx_igemm_colsum(st->kern, packed + (size_t)i * st->packed_step, (size_t)s->k,
                                               (size_t)s->n);
        any |= sdx_igemm_columns(st->kern, sums, (size_t)s->k, (size_t)s->n, q->a->dtype == DT_INT8,
                                 (int32_t)param_at(q->a_zero, 0, 1, 0), q->b->dtype == DT_INT8, zero + i * s->n, false,
                                 NULL, col + i * s->n, zero + i * s->n);
    }
    return any;
}

static sdx_status int_run(Run *r, const Roles *ro)
{
    const IntState *st = r->state;
    const MatShape *s = &st->s;
    IntParams q = { input(r->in, r->n_in, ro->a),       input(r->in, r->n_in, ro->b),
                    input(r->in, r->n_in, ro->a_scale), input(r->in, r->n_in, ro->a_zero),
                    input(r->in, r->n_in, ro->b_scale), input(r->in, r->n_in, ro->b_zero),
                    input(r->in, r->n_in, ro->y_scale), input(r->in, r->n_in, ro->y_zero),
                    input(r->in, r->n_in, ro->bias) };
    Tensor y = { .dtype = ro->a_scale < 0 ? DT_INT32 : ro->y_scale < 0 ? DT_FLOAT : q.y_zero->dtype };
    TRY(sdx_run_output(r, 0, y.dtype, s->out_rank, s->out_dims, &y.data));
    if (s->batches * s->m * s->n == 0) return SDX_OK;
    if (st->plain || s->k == 0) {
        int_plain(st, &q, &y);
        return SDX_OK;
    }
    char *scratch = r->scratch;
    const char *packed = st->packed;
    if (!packed) {
        PackArgs args = { st->kern, s->k, s->n, st->n_b, st->packed_step };
        int_pack(&args, scratch + st->at_packed, q.b);
        packed = scratch + st->at_packed;
    }
    IntJob j = { .st = st,
                 .plan = st->plan,
                 .a = q.a->data,
                 .packed = packed,
                 .y = y.data,
                 .workers = scratch + st->at_workers,
                 .col = (int32_t *)(scratch + st->at_col),
                 .zero = (int32_t *)(scratch + st->at_zero),
                 .y_size = sdx_dtype_size(y.dtype),
                 .out = { .kind = SDX_IOUT_I32, .epi = SDX_EPILOGUE_NONE } };
    j.plan.row_sums = int_columns(r, st, &q, packed);
    if (q.a_scale) j.scale = (float *)(scratch + st->at_scale);
    if (y.dtype == DT_FLOAT) {
        j.out.kind = SDX_IOUT_F32;
        j.out.epi.bias = q.bias ? q.bias->data : NULL;
    }
    if (q.y_scale) {
        j.out.kind = y.dtype == DT_INT8 ? SDX_IOUT_I8 : SDX_IOUT_U8;
        j.out.zero = (int32_t)param_at(q.y_zero, 0, 1, 0);
        j.out.lo = y.dtype == DT_INT8 ? -128 : 0;
        j.out.hi = y.dtype == DT_INT8 ? 127 : 255;
    }
    int64_t units = s->batches * (int64_t)j.plan.chunks;
    sdx_run_range(r, units, grain_for(s->m * s->n * s->k / (int64_t)j.plan.chunks / 4), int_range, &j);
    return SDX_OK;
}

static sdx_status matmulinteger_run(Run *r) { return int_run(r, &integer_roles); }
static sdx_status qlinear_run(Run *r) { return int_run(r, &qlinear_roles); }
static sdx_status tofloat_run(Run *r) { return int_run(r, &tofloat_roles); }

static const OpVer matmulinteger_vers[] = { { 10, { TS_I8 | TS_U8, TS_I8 | TS_U8 } }, { 0 } };

const OpDef sdx_op_MatMulInteger = {
    .name = "MatMulInteger",
    .sig = "T,U,T?,U?->i32",
    .vers = matmulinteger_vers,
    .flags = OP_LAZY_PACK,
    .infer = matmulinteger_infer,
    .cpu = { matmulinteger_prepare, matmulinteger_run },
};

#define QTYPES (TS_I8 | TS_U8)
static const OpVer qlinearmatmul_vers[] = {
    { 21, { QTYPES | TS_F8, QTYPES | TS_F8, QTYPES | TS_F8, TS_F32 | TS_F16 | TS_BF16 } },
    { 10, { QTYPES, QTYPES, QTYPES, TS_F32 } },
    { 0 },
};

const OpDef sdx_op_QLinearMatMul = {
    .name = "QLinearMatMul",
    .sig = "T,W,T,U,W,U,W,V->V",
    .vers = qlinearmatmul_vers,
    .flags = OP_LAZY_PACK,
    .infer = qlinear_infer,
    .cpu = { qlinear_prepare, qlinear_run },
};

static const OpVer tofloat_vers[] = { { 1, { QTYPES, QTYPES, TS_F32 | TS_F16 } }, { 0 } };

const OpDef sdx_op_ms_MatMulIntegerToFloat = {
    .name = "MatMulIntegerToFloat",
    .domain = "com.microsoft",
    .sig = "T,U,V,V,T?,U?,V?->V",
    .vers = tofloat_vers,
    .flags = OP_LAZY_PACK | OP_F32_MATH,
    .infer = tofloat_infer,
    .cpu = { tofloat_prepare, tofloat_run },
};
