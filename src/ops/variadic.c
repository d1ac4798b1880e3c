/* Elementwise operators of any number of inputs: Max, Mean, Min, Sum. */
#include "ops/elementwise.h"
#include "ops/shapes.h"

typedef struct VariadicCall {
    Map2 *fn; /* first: sdx_ew_map2 reads it */
    Map2 *div;
    float n_f32; /* inputs, for Mean */
    double n_f64;
} VariadicCall;

static void mean_f32(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const VariadicCall *c = args;
    c->div(y, x[0], &c->n_f32, (size_t)n, SDX_B_ONE);
}
static void mean_f64(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const VariadicCall *c = args;
    c->div(y, x[0], &c->n_f64, (size_t)n, SDX_B_ONE);
}

static sdx_status variadic_prepare(Prepare *p, int map, bool mean)
{
    VariadicCall *c = sdx_arena_new(p->arena, VariadicCall);
    TRY_MEM(c, p->err);
    DType d = sdx_ew_compute(p->in[0]->t.dtype);
    Map2 *const *row = p->kern->map2[sdx_ew_ktype(d)];
    *c = (VariadicCall){ row[map], row[SDX_MAP2_div], (float)p->n_in, p->n_in };
    EwSpec s = { .fn = sdx_ew_map2, .args = c, .in = { d }, .out = d, .fold = true };
    if (mean) s.finish = d == DT_DOUBLE ? mean_f64 : mean_f32;
    return sdx_ew_prepare(p, &s);
}

static sdx_status max_prepare(Prepare *p) { return variadic_prepare(p, SDX_MAP2_max, false); }
static sdx_status min_prepare(Prepare *p) { return variadic_prepare(p, SDX_MAP2_min, false); }
static sdx_status sum_prepare(Prepare *p) { return variadic_prepare(p, SDX_MAP2_add, false); }
static sdx_status mean_prepare(Prepare *p) { return variadic_prepare(p, SDX_MAP2_add, true); }

/* Integers of one size, or single elements, as in shape arithmetic. */
static sdx_status variadic_known(Infer *c, DimVal (*fn)(SymTab *, DimVal, DimVal))
{
    TRY(sdx_infer_broadcast(c));
    if (!sdx_dtype_in(c->in[0]->elem, TS_IDX) || c->out[0].shape.rank > 1) return SDX_OK;
    DimVec y = { 0 }, x;
    for (int i = 0; i < c->n_in; i++) {
        if (!sdx_infer_ints(c, i, &x)) return SDX_OK;
        if (i == 0) {
            y = x;
            continue;
        }
        if (x.n != y.n && x.n != 1 && y.n != 1) return SDX_OK;
        int n = y.n == 1 ? x.n : y.n;
        DimVal *v = sdx_arena_array(c->arena, DimVal, n);
        TRY_MEM(v, c->err);
        for (int k = 0; k < n; k++) v[k] = fn(c->syms, y.v[y.n == 1 ? 0 : k], x.v[x.n == 1 ? 0 : k]);
        y = (DimVec){ n, v };
    }
    return sdx_infer_set_ints(c, 0, y.v, y.n);
}

static sdx_status max_infer(Infer *c) { return variadic_known(c, sdx_dimval_max); }
static sdx_status min_infer(Infer *c) { return variadic_known(c, sdx_dimval_min); }

static const OpVer vers_minmax[] = { { 13, { TS_NUMB } }, { 12, { TS_NUM } }, { 8, { TS_FLT } },
                                     { 6, { TS_FLT } },   { 1, { TS_FLT } },  { 0 } };
static const OpVer vers_sum[] = { { 13, { TS_FLTB } }, { 8, { TS_FLT } }, { 6, { TS_FLT } }, { 1, { TS_FLT } }, { 0 } };

#define VARIADIC_OP(Name, prefix, infer_fn, version_rows)                                                              \
    const OpDef sdx_op_##Name = {                                                                                      \
        .name = #Name,                                                                                                 \
        .sig = "T+->T",                                                                                                \
        .vers = version_rows,                                                                                          \
        .flags = OP_ELEMENTWISE | OP_INPLACE,                                                                          \
        .infer = infer_fn,                                                                                             \
        .cpu = { prefix##_prepare, sdx_ew_run },                                                                       \
    };
VARIADIC_OP(Max, max, max_infer, vers_minmax)
VARIADIC_OP(Mean, mean, sdx_infer_broadcast, vers_sum)
VARIADIC_OP(Min, min, min_infer, vers_minmax)
VARIADIC_OP(Sum, sum, sdx_infer_broadcast, vers_sum)
