/* Elementwise operators of one input. Floats: the maps of kern/map/map1.def, where the formulas are. */
#include <math.h>
#include <string.h>

#include "ops/elementwise.h"
#include "ops/shapes.h"
#include "ops/typesets.h"
#include "ops/upgrade.h"

static const OpVer vers_1_6_13[] = { { 13, { TS_FLTB } }, { 6, { TS_FLT } }, { 1, { TS_FLT } }, { 0 } };
static const OpVer vers_1_22[] = { { 22, { TS_FLTB } }, { 1, { TS_FLT } }, { 0 } };
static const OpVer vers_1_6_22[] = { { 22, { TS_FLTB } }, { 6, { TS_FLT } }, { 1, { TS_FLT } }, { 0 } };
static const OpVer vers_7_22[] = { { 22, { TS_FLTB } }, { 7, { TS_FLT } }, { 0 } };
static const OpVer vers_9_22[] = { { 22, { TS_FLTB } }, { 9, { TS_FLT } }, { 0 } };
static const OpVer vers_11_22[] = { { 22, { TS_FLTB } }, { 11, { TS_FLT } }, { 0 } };
static const OpVer vers_10_22[] = { { 22, { TS_FLTB } }, { 10, { TS_FLT } }, { 0 } };
static const OpVer vers_14_22[] = { { 22, { TS_FLTB } }, { 14, { TS_FLT } }, { 0 } };
static const OpVer vers_18_22[] = { { 22, { TS_FLTB } }, { 18, { TS_FLT } }, { 0 } };
static const OpVer vers_erf[] = { { 13, { TS_FLTB } }, { 9, { TS_NUM }, sdx_upgrade_by_double }, { 0 } };
static const OpVer vers_gelu[] = { { 20, { TS_FLTB } }, { 0 } };
static const OpVer vers_swish[] = { { 24, { TS_FLTB } }, { 0 } };
static const OpVer vers_celu[] = { { 28, { TS_FLTB } }, { 12, { TS_F32 } }, { 0 } };
static const OpVer vers_leaky[] = { { 16, { TS_FLTB } }, { 6, { TS_FLT } }, { 1, { TS_FLT } }, { 0 } };
static const OpVer vers_shrink[] = { { 9, { TS_NUM } }, { 0 } };
static const OpVer vers_abs[] = { { 13, { TS_NUMB } }, { 6, { TS_NUM } }, { 1, { TS_FLT } }, { 0 } };
static const OpVer vers_neg[] = {
    { 13, { TS_SINT | TS_FLTB } }, { 6, { TS_SINT | TS_FLT } }, { 1, { TS_FLT } }, { 0 }
};
static const OpVer vers_sign[] = { { 13, { TS_NUMB } }, { 9, { TS_NUM } }, { 0 } };
static const OpVer vers_not[] = { { 1, { TS_BOOL } }, { 0 } };
static const OpVer vers_bitnot[] = { { 18, { TS_INT } }, { 0 } };
static const OpVer vers_relu[] = {
    { 14, { TS_SINT | TS_FLTB } }, { 13, { TS_FLTB } }, { 6, { TS_FLT } }, { 1, { TS_FLT } }, { 0 }
};

/* The short constants of version 1. */
static sdx_status selu_from_1(Node *n, Err *err)
{
    TRY(sdx_upgrade_default_float(n, "alpha", 1.6732f, err));
    return sdx_upgrade_default_float(n, "gamma", 1.0507f, err);
}
static const OpVer vers_selu[] = { { 22, { TS_FLTB } }, { 6, { TS_FLT } }, { 1, { TS_FLT }, selu_from_1 }, { 0 } };

/* -- float maps ---------------------------------------------------------------------------------------------------- */

typedef struct MapCall {
    Map1F32 *f32;
    Map1F64 *f64;
    MapParam param;
} MapCall;

static void map_f32(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const MapCall *m = args;
    m->f32(y, x[0], (size_t)n, &m->param);
}

static void map_f64(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const MapCall *m = args;
    m->f64(y, x[0], (size_t)n, &m->param);
}

static sdx_status unary_spec(Prepare *p, EwFn fn, DType compute, const void *args)
{
    EwSpec s = { .fn = fn, .args = args, .in = { compute }, .out = compute, .n_in = 1 };
    return sdx_ew_prepare(p, &s);
}

/* Integers, where the operator takes them, are computed in double. */
static sdx_status map_prepare(Prepare *p, int map, double alpha, double beta)
{
    MapCall *m = sdx_arena_new(p->arena, MapCall);
    TRY_MEM(m, p->err);
    *m = (MapCall){ p->kern->map1_f32[map], p->kern->map1_f64[map], { alpha, beta } };
    bool narrow = sdx_ew_compute(p->in[0]->t.dtype) == DT_FLOAT;
    return unary_spec(p, narrow ? map_f32 : map_f64, narrow ? DT_FLOAT : DT_DOUBLE, m);
}

#define MAP_OP(Name, map, version_rows)                                                                                \
    static sdx_status map##_prepare(Prepare *p) { return map_prepare(p, SDX_MAP1_##map, 0, 0); }                       \
    const OpDef sdx_op_##Name = {                                                                                      \
        .name = #Name,                                                                                                 \
        .sig = "T->T",                                                                                                 \
        .vers = version_rows,                                                                                          \
        .flags = OP_ELEMENTWISE | OP_INPLACE,                                                                          \
        .infer = sdx_infer_same_shape,                                                                                 \
        .cpu = { map##_prepare, sdx_ew_run },                                                                          \
    };

MAP_OP(Acos, acos, vers_7_22)
MAP_OP(Acosh, acosh, vers_9_22)
MAP_OP(Asin, asin, vers_7_22)
MAP_OP(Asinh, asinh, vers_9_22)
MAP_OP(Atan, atan, vers_7_22)
MAP_OP(Atanh, atanh, vers_9_22)
MAP_OP(Ceil, ceil, vers_1_6_13)
MAP_OP(Cos, cos, vers_7_22)
MAP_OP(Cosh, cosh, vers_9_22)
MAP_OP(Erf, erf, vers_erf)
MAP_OP(Exp, exp, vers_1_6_13)
MAP_OP(Floor, floor, vers_1_6_13)
MAP_OP(HardSwish, hardswish, vers_14_22)
MAP_OP(Log, log, vers_1_6_13)
MAP_OP(Mish, mish, vers_18_22)
MAP_OP(Reciprocal, reciprocal, vers_1_6_13)
MAP_OP(Round, round, vers_11_22)
MAP_OP(Sigmoid, sigmoid, vers_1_6_13)
MAP_OP(Sign, sign, vers_sign)
MAP_OP(Sin, sin, vers_7_22)
MAP_OP(Sinh, sinh, vers_9_22)
MAP_OP(Softplus, softplus, vers_1_22)
MAP_OP(Softsign, softsign, vers_1_22)
MAP_OP(Sqrt, sqrt, vers_1_6_13)
MAP_OP(Tan, tan, vers_7_22)
MAP_OP(Tanh, tanh, vers_1_6_13)

/* -- float maps with parameters ------------------------------------------------------------------------------------ */

/* An operator whose attributes `alpha_field` and `beta_field` are the map's parameters. */
#define PARAM_OP(Name, Attrs, map, version_rows, alpha_field, beta_field)                                              \
    static sdx_status map##_prepare(Prepare *p)                                                                        \
    {                                                                                                                  \
        const Attrs *a = p->args;                                                                                      \
        return map_prepare(p, SDX_MAP1_##map, a->alpha_field, a->beta_field);                                          \
    }                                                                                                                  \
    const OpDef sdx_op_##Name = {                                                                                      \
        .name = #Name,                                                                                                 \
        .sig = "T->T",                                                                                                 \
        .attrs = map##_attrs,                                                                                          \
        .attrs_size = sizeof(Attrs),                                                                                   \
        .vers = version_rows,                                                                                          \
        .flags = OP_ELEMENTWISE | OP_INPLACE,                                                                          \
        .infer = sdx_infer_same_shape,                                                                                 \
        .cpu = { map##_prepare, sdx_ew_run },                                                                          \
    };

typedef struct AlphaAttrs {
    float alpha;
} AlphaAttrs;

static const AttrSpec celu_attrs[] = { OP_FLOAT(AlphaAttrs, alpha, 1.f), OP_ATTR_END };
static const AttrSpec elu_attrs[] = { OP_FLOAT(AlphaAttrs, alpha, 1.f), OP_ATTR_END };
static const AttrSpec leakyrelu_attrs[] = { OP_FLOAT(AlphaAttrs, alpha, 0.01f), OP_ATTR_END };
static const AttrSpec thresholdedrelu_attrs[] = { OP_FLOAT(AlphaAttrs, alpha, 1.f), OP_ATTR_END };
static const AttrSpec quickgelu_attrs[] = { OP_FLOAT(AlphaAttrs, alpha, 1.f), OP_ATTR_END };
PARAM_OP(Celu, AlphaAttrs, celu, vers_celu, alpha, alpha)
PARAM_OP(Elu, AlphaAttrs, elu, vers_1_6_22, alpha, alpha)
PARAM_OP(LeakyRelu, AlphaAttrs, leakyrelu, vers_leaky, alpha, alpha)
PARAM_OP(Swish, AlphaAttrs, quickgelu, vers_swish, alpha, alpha)
PARAM_OP(ThresholdedRelu, AlphaAttrs, thresholdedrelu, vers_10_22, alpha, alpha)

typedef struct HardSigmoidAttrs {
    float alpha, beta;
} HardSigmoidAttrs;
static const AttrSpec hardsigmoid_attrs[] = { OP_FLOAT(HardSigmoidAttrs, alpha, 0.2f),
                                              OP_FLOAT(HardSigmoidAttrs, beta, 0.5f), OP_ATTR_END };
PARAM_OP(HardSigmoid, HardSigmoidAttrs, hardsigmoid, vers_1_6_22, alpha, beta)

typedef struct SeluAttrs {
    float alpha, gamma;
} SeluAttrs;
static const AttrSpec selu_attrs[] = { OP_FLOAT(SeluAttrs, alpha, 1.67326319217681884765625f),
                                       OP_FLOAT(SeluAttrs, gamma, 1.05070102214813232421875f), OP_ATTR_END };
PARAM_OP(Selu, SeluAttrs, selu, vers_selu, alpha, gamma)

typedef struct ShrinkAttrs {
    float lambd, bias;
} ShrinkAttrs;
static const AttrSpec shrink_attrs[] = { OP_FLOAT(ShrinkAttrs, lambd, 0.5f), OP_FLOAT(ShrinkAttrs, bias, 0.f),
                                         OP_ATTR_END };
PARAM_OP(Shrink, ShrinkAttrs, shrink, vers_shrink, lambd, bias)

typedef struct GeluAttrs {
    Str approximate;
} GeluAttrs;
static const AttrSpec gelu_attrs[] = { OP_STR(GeluAttrs, approximate, "none"), OP_ATTR_END };

static sdx_status gelu_infer(Infer *c)
{
    const GeluAttrs *a = c->args;
    if (!str_is(a->approximate, "none") && !str_is(a->approximate, "tanh"))
        return sdx_infer_fail(c, "approximate is neither none nor tanh");
    return sdx_infer_same_shape(c);
}

static sdx_status gelu_prepare(Prepare *p)
{
    const GeluAttrs *a = p->args;
    return map_prepare(p, str_is(a->approximate, "tanh") ? SDX_MAP1_gelu_tanh : SDX_MAP1_gelu_erf, 0, 0);
}

const OpDef sdx_op_Gelu = {
    .name = "Gelu",
    .sig = "T->T",
    .attrs = gelu_attrs,
    .attrs_size = sizeof(GeluAttrs),
    .vers = vers_gelu,
    .flags = OP_ELEMENTWISE | OP_INPLACE,
    .infer = gelu_infer,
    .cpu = { gelu_prepare, sdx_ew_run },
};

/* -- integers too: by maps of two inputs, one of them a constant --------------------------------------------------- */

static const int64_t zero = 0, ones = -1; /* of any width on little-endian machines */

typedef struct IntCall {
    Map2 *sub, *max, *bxor;
} IntCall;

static void int_neg(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    ((const IntCall *)args)->sub(y, &zero, x[0], (size_t)n, SDX_A_ONE);
}
static void int_relu(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    ((const IntCall *)args)->max(y, x[0], &zero, (size_t)n, SDX_B_ONE);
}
static void int_not(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    ((const IntCall *)args)->bxor(y, x[0], &ones, (size_t)n, SDX_B_ONE);
}

#define ABS_LOOP(bits)                                                                                                 \
    static void abs_i##bits(void *y, const void *const *x, unsigned single, int64_t n, const void *args)               \
    {                                                                                                                  \
        const int##bits##_t *v = x[0];                                                                                 \
        for (int64_t i = 0; i < n; i++)                                                                                \
            ((uint##bits##_t *)y)[i] = (uint##bits##_t)(v[i] < 0 ? 0 - (uint##bits##_t)v[i] : (uint##bits##_t)v[i]);   \
    }
ABS_LOOP(8)
ABS_LOOP(16)
ABS_LOOP(32)
ABS_LOOP(64)

static void copy(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    memmove(y, x[0], (size_t)n * *(const size_t *)args);
}

static sdx_status int_prepare(Prepare *p, EwFn fn)
{
    DType d = p->in[0]->t.dtype;
    IntCall *call = sdx_arena_new(p->arena, IntCall);
    TRY_MEM(call, p->err);
    Map2 *const *row = p->kern->map2[sdx_ew_ktype(d)];
    *call = (IntCall){ row[SDX_MAP2_sub], row[SDX_MAP2_max], row[SDX_MAP2_bxor] };
    return unary_spec(p, fn, d, call);
}

static bool is_float(DType d)
{
    char c = sdx_dtype_class(d);
    return c == 'F' || c == 'S';
}

static sdx_status abs_prepare(Prepare *p)
{
    DType d = p->in[0]->t.dtype;
    size_t *size = sdx_arena_new(p->arena, size_t);
    TRY_MEM(size, p->err);
    *size = sdx_dtype_size(d);
    switch (d) {
    case DT_INT8: return unary_spec(p, abs_i8, d, NULL);
    case DT_INT16: return unary_spec(p, abs_i16, d, NULL);
    case DT_INT32: return unary_spec(p, abs_i32, d, NULL);
    case DT_INT64: return unary_spec(p, abs_i64, d, NULL);
    default: break;
    }
    return is_float(d) ? map_prepare(p, SDX_MAP1_abs, 0, 0) : unary_spec(p, copy, d, size);
}

static sdx_status neg_prepare(Prepare *p)
{
    return is_float(p->in[0]->t.dtype) ? map_prepare(p, SDX_MAP1_neg, 0, 0) : int_prepare(p, int_neg);
}
static sdx_status relu_prepare(Prepare *p)
{
    return is_float(p->in[0]->t.dtype) ? map_prepare(p, SDX_MAP1_relu, 0, 0) : int_prepare(p, int_relu);
}
static sdx_status bitnot_prepare(Prepare *p) { return int_prepare(p, int_not); }

static sdx_status neg_infer(Infer *c)
{
    DimVec v;
    TRY(sdx_infer_same_shape(c));
    if (!sdx_dtype_in(c->in[0]->elem, TS_IDX) || !sdx_infer_ints(c, 0, &v)) return SDX_OK;
    DimVal *y = sdx_arena_array(c->arena, DimVal, v.n);
    TRY_MEM(y, c->err);
    for (int i = 0; i < v.n; i++) y[i] = sdx_dimval_sub(c->syms, sdx_dimval_num(0), v.v[i]);
    return sdx_infer_set_ints(c, 0, y, v.n);
}

#define INT_OP(Name, prefix, infer_fn, version_rows)                                                                   \
    const OpDef sdx_op_##Name = {                                                                                      \
        .name = #Name,                                                                                                 \
        .sig = "T->T",                                                                                                 \
        .vers = version_rows,                                                                                          \
        .flags = OP_ELEMENTWISE | OP_INPLACE,                                                                          \
        .infer = infer_fn,                                                                                             \
        .cpu = { prefix##_prepare, sdx_ew_run },                                                                       \
    };
INT_OP(Abs, abs, sdx_infer_same_shape, vers_abs)
INT_OP(BitwiseNot, bitnot, sdx_infer_same_shape, vers_bitnot)
INT_OP(Neg, neg, neg_infer, vers_neg)
INT_OP(Relu, relu, sdx_infer_same_shape, vers_relu)

/* -- results that are bool ----------------------------------------------------------------------------------------- */

static void not_loop(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const uint8_t *v = x[0];
    for (int64_t i = 0; i < n; i++) ((uint8_t *)y)[i] = !v[i];
}
static void isnan_f32(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const float *v = x[0];
    for (int64_t i = 0; i < n; i++) ((uint8_t *)y)[i] = v[i] != v[i];
}
static void isnan_f64(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const double *v = x[0];
    for (int64_t i = 0; i < n; i++) ((uint8_t *)y)[i] = v[i] != v[i];
}

typedef struct IsInfAttrs {
    int64_t detect_negative, detect_positive;
} IsInfAttrs;
static const AttrSpec isinf_attrs[] = { OP_INT(IsInfAttrs, detect_negative, 1), OP_INT(IsInfAttrs, detect_positive, 1),
                                        OP_ATTR_END };

static void isinf_f32(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const IsInfAttrs *a = args;
    const float *v = x[0], hi = a->detect_positive ? INFINITY : NAN, lo = a->detect_negative ? -INFINITY : NAN;
    for (int64_t i = 0; i < n; i++) ((uint8_t *)y)[i] = (v[i] == hi) | (v[i] == lo);
}
static void isinf_f64(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const IsInfAttrs *a = args;
    const double *v = x[0], hi = a->detect_positive ? INFINITY : NAN, lo = a->detect_negative ? -INFINITY : NAN;
    for (int64_t i = 0; i < n; i++) ((uint8_t *)y)[i] = (v[i] == hi) | (v[i] == lo);
}

static sdx_status bool_prepare(Prepare *p, EwFn f32, EwFn f64, const void *args)
{
    DType d = sdx_ew_compute(p->in[0]->t.dtype);
    EwSpec s = { .fn = d == DT_DOUBLE ? f64 : f32, .args = args, .in = { d }, .out = DT_BOOL };
    return sdx_ew_prepare(p, &s);
}
static sdx_status not_prepare(Prepare *p) { return unary_spec(p, not_loop, DT_BOOL, NULL); }
static sdx_status isnan_prepare(Prepare *p) { return bool_prepare(p, isnan_f32, isnan_f64, NULL); }
static sdx_status isinf_prepare(Prepare *p) { return bool_prepare(p, isinf_f32, isinf_f64, p->args); }

static const OpVer vers_isnan[] = { { 20, { TS_FLTB | TS_F8 } }, { 13, { TS_FLTB } }, { 9, { TS_FLT } }, { 0 } };
static const OpVer vers_isinf[] = { { 20, { TS_FLTB | TS_F8 } }, { 10, { TS_F32 | TS_F64 } }, { 0 } };

const OpDef sdx_op_Not = {
    .name = "Not",
    .sig = "T->T",
    .vers = vers_not,
    .flags = OP_ELEMENTWISE | OP_INPLACE,
    .infer = sdx_infer_same_shape,
    .cpu = { not_prepare, sdx_ew_run },
};
const OpDef sdx_op_IsNaN = {
    .name = "IsNaN",
    .sig = "T->bool",
    .vers = vers_isnan,
    .flags = OP_ELEMENTWISE,
    .infer = sdx_infer_same_shape,
    .cpu = { isnan_prepare, sdx_ew_run },
};
const OpDef sdx_op_IsInf = {
    .name = "IsInf",
    .sig = "T->bool",
    .attrs = isinf_attrs,
    .attrs_size = sizeof(IsInfAttrs),
    .vers = vers_isinf,
    .flags = OP_ELEMENTWISE,
    .infer = sdx_infer_same_shape,
    .cpu = { isinf_prepare, sdx_ew_run },
};
