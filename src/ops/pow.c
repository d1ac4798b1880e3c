/* Two-input operators whose kernel depends on more than one type: Pow, Mod, BitShift, SwiGLU. */
#include "ops/elementwise.h"
#include "ops/shapes.h"
#include "ops/upgrade.h"

/* -- Pow: base and exponent have types of their own, the result that of the base ----------------------------------- */

typedef struct PowCall {
    Map2 *pow, *mul;
} PowCall;

static void pow_f32(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const PowCall *c = args;
    bool square = (single & SDX_B_ONE) && *(const float *)x[1] == 2.f;
    if (square)
        c->mul(y, x[0], x[0], (size_t)n, single & SDX_A_ONE ? SDX_A_ONE | SDX_B_ONE : 0);
    else
        c->pow(y, x[0], x[1], (size_t)n, single);
}

/* f32 for narrow floats, unless the exponent is a double. Integers to integer powers wrap, so 64 bits hold them all;
 * to other powers they are computed in double and truncated. */
static DType pow_compute(DType base, DType exponent)
{
    bool whole = sdx_dtype_in(exponent, TS_INT);
    if (sdx_dtype_in(base, TS_INT)) return whole ? DT_INT64 : DT_DOUBLE;
    return base == DT_DOUBLE || exponent == DT_DOUBLE ? DT_DOUBLE : DT_FLOAT;
}

static sdx_status pow_prepare(Prepare *p)
{
    PowCall *c = sdx_arena_new(p->arena, PowCall);
    TRY_MEM(c, p->err);
    DType d = pow_compute(p->in[0]->t.dtype, p->in[1]->t.dtype);
    Map2 *const *row = p->kern->map2[sdx_ew_ktype(d)];
    *c = (PowCall){ row[SDX_MAP2_pow], row[SDX_MAP2_mul] };
    EwSpec s = { .fn = d == DT_FLOAT ? pow_f32 : sdx_ew_map2, .args = c, .in = { d, d }, .out = d };
    return sdx_ew_prepare(p, &s);
}

static const OpVer vers_pow[] = { { 15, { TS_FLTB | TS_IDX, TS_NUMB } },
                                  { 13, { TS_FLTB | TS_IDX, TS_NUM } },
                                  { 12, { TS_FLT | TS_IDX, TS_NUM } },
                                  { 7, { TS_FLT, TS_FLT } },
                                  { 1, { TS_FLT, TS_FLT }, sdx_upgrade_broadcast },
                                  { 0 } };

const OpDef sdx_op_Pow = {
    .name = "Pow",
    .sig = "T,U->T",
    .vers = vers_pow,
    .flags = OP_ELEMENTWISE | OP_INPLACE,
    .infer = sdx_infer_broadcast,
    .cpu = { pow_prepare, sdx_ew_run },
};

/* -- Mod ----------------------------------------------------------------------------------------------------------- */

typedef struct ModAttrs {
    int64_t fmod;
} ModAttrs;
static const AttrSpec mod_attrs[] = { OP_INT(ModAttrs, fmod, 0), OP_ATTR_END };

static sdx_status mod_infer(Infer *c)
{
    DimVec a, b;
    TRY(sdx_infer_broadcast(c));
    if (!sdx_dtype_in(c->in[0]->elem, TS_IDX) || !sdx_infer_ints(c, 0, &a) || !sdx_infer_ints(c, 1, &b)) return SDX_OK;
    if (a.n != 1 || b.n != 1 || (a.v[0].known && a.v[0].v < 0) || !b.v[0].known || b.v[0].v <= 0) return SDX_OK;
    DimVal y = sdx_dimval_mod(c->syms, a.v[0], b.v[0]);
    return sdx_infer_set_ints(c, 0, &y, 1);
}

static sdx_status map2_of(Prepare *p, int map)
{
    DType d = sdx_ew_compute(p->in[0]->t.dtype);
    Map2 **fn = sdx_arena_new(p->arena, Map2 *);
    TRY_MEM(fn, p->err);
    *fn = p->kern->map2[sdx_ew_ktype(d)][map];
    EwSpec s = { .fn = sdx_ew_map2, .args = fn, .in = { d, d }, .out = d };
    return sdx_ew_prepare(p, &s);
}

static sdx_status mod_prepare(Prepare *p)
{
    return map2_of(p, ((const ModAttrs *)p->args)->fmod ? SDX_MAP2_fmod : SDX_MAP2_mod);
}

static const OpVer vers_mod[] = { { 28, { TS_NUMB } }, { 13, { TS_NUMB } }, { 10, { TS_NUM } }, { 0 } };

const OpDef sdx_op_Mod = {
    .name = "Mod",
    .sig = "T,T->T",
    .attrs = mod_attrs,
    .attrs_size = sizeof(ModAttrs),
    .vers = vers_mod,
    .flags = OP_ELEMENTWISE | OP_INPLACE | OP_INPLACE_ANY,
    .infer = mod_infer,
    .cpu = { mod_prepare, sdx_ew_run },
};

/* -- BitShift ------------------------------------------------------------------------------------------------------ */

typedef struct BitShiftAttrs {
    Str direction;
} BitShiftAttrs;
static const AttrSpec bitshift_attrs[] = { OP_STR_REQ(BitShiftAttrs, direction), OP_ATTR_END };

static sdx_status bitshift_infer(Infer *c)
{
    const BitShiftAttrs *a = c->args;
    if (!str_is(a->direction, "LEFT") && !str_is(a->direction, "RIGHT"))
        return sdx_infer_fail(c, "direction is neither LEFT nor RIGHT");
    return sdx_infer_broadcast(c);
}

static sdx_status bitshift_prepare(Prepare *p)
{
    const BitShiftAttrs *a = p->args;
    return map2_of(p, str_is(a->direction, "LEFT") ? SDX_MAP2_shl : SDX_MAP2_shr);
}

static const OpVer vers_bitshift[] = { { 28, { TS_INT } }, { 11, { TS_UINT } }, { 0 } };

const OpDef sdx_op_BitShift = {
    .name = "BitShift",
    .sig = "T,T->T",
    .attrs = bitshift_attrs,
    .attrs_size = sizeof(BitShiftAttrs),
    .vers = vers_bitshift,
    .flags = OP_ELEMENTWISE | OP_INPLACE | OP_INPLACE_ANY,
    .infer = bitshift_infer,
    .cpu = { bitshift_prepare, sdx_ew_run },
};

/* -- SwiGLU: a sigmoid(alpha a) b ---------------------------------------------------------------------------------- */

typedef struct SwigluAttrs {
    float alpha;
} SwigluAttrs;
static const AttrSpec swiglu_attrs[] = { OP_FLOAT(SwigluAttrs, alpha, 1.f), OP_ATTR_END };

typedef struct SwigluCall {
    Map1F32 *f32;
    Map1F64 *f64;
    Map2 *mul;
    MapParam param;
} SwigluCall;

/* In blocks: y may be b. */
#define SWIGLU_LOOP(name, T, map)                                                                                      \
    static void name(void *y, const void *const *x, unsigned single, int64_t n, const void *args)                      \
    {                                                                                                                  \
        const SwigluCall *c = args;                                                                                    \
        const T *a = x[0], *b = x[1];                                                                                  \
        T gate[256];                                                                                                   \
        for (int64_t at = 0; at < n; at += 256) {                                                                      \
            int64_t k = n - at < 256 ? n - at : 256;                                                                   \
            c->map(gate, single & 1 ? a : a + at, single & 1 ? 1 : (size_t)k, &c->param);                              \
            c->mul((T *)y + at, gate, single & 2 ? b : b + at, (size_t)k, single);                                     \
        }                                                                                                              \
    }
SWIGLU_LOOP(swiglu_f32, float, f32)
SWIGLU_LOOP(swiglu_f64, double, f64)

static sdx_status swiglu_prepare(Prepare *p)
{
    SwigluCall *c = sdx_arena_new(p->arena, SwigluCall);
    TRY_MEM(c, p->err);
    DType d = sdx_ew_compute(p->in[0]->t.dtype);
    *c = (SwigluCall){ p->kern->map1_f32[SDX_MAP1_quickgelu],
                       p->kern->map1_f64[SDX_MAP1_quickgelu],
                       p->kern->map2[sdx_ew_ktype(d)][SDX_MAP2_mul],
                       { ((const SwigluAttrs *)p->args)->alpha } };
    EwSpec s = { .fn = d == DT_DOUBLE ? swiglu_f64 : swiglu_f32, .args = c, .in = { d, d }, .out = d };
    return sdx_ew_prepare(p, &s);
}

static const OpVer vers_swiglu[] = { { 28, { TS_FLTB } }, { 0 } };

const OpDef sdx_op_SwiGLU = {
    .name = "SwiGLU",
    .sig = "T,T->T",
    .attrs = swiglu_attrs,
    .attrs_size = sizeof(SwigluAttrs),
    .vers = vers_swiglu,
    .flags = OP_ELEMENTWISE | OP_INPLACE | OP_INPLACE_ANY,
    .infer = sdx_infer_broadcast,
    .cpu = { swiglu_prepare, sdx_ew_run },
};
