/* Elementwise operators of two inputs, by the maps of kern/map/map2.def. */
#include "ops/elementwise.h"
#include "ops/shapes.h"
#include "ops/upgrade.h"

/* -- inference of integers: shape arithmetic ----------------------------------------------------------------------- */

typedef DimVal (*DimFn)(SymTab *s, DimVal a, DimVal b);

/* Known content of the output where both inputs are known and have one size, or one of them is a single element. */
static sdx_status binary_known(Infer *c, DimFn fn)
{
    DimVec a, b;
    if (!sdx_dtype_in(c->in[0]->elem, TS_IDX) || !sdx_infer_ints(c, 0, &a) || !sdx_infer_ints(c, 1, &b)) return SDX_OK;
    if (a.n != b.n && a.n != 1 && b.n != 1) return SDX_OK;
    if (c->out[0].shape.rank > 1) return SDX_OK;
    int n = a.n == 1 ? b.n : a.n;
    DimVal *y = sdx_arena_array(c->arena, DimVal, n);
    TRY_MEM(y, c->err);
    for (int i = 0; i < n; i++) y[i] = fn(c->syms, a.v[a.n == 1 ? 0 : i], b.v[b.n == 1 ? 0 : i]);
    return sdx_infer_set_ints(c, 0, y, n);
}

static sdx_status add_infer(Infer *c)
{
    TRY(sdx_infer_broadcast(c));
    return binary_known(c, sdx_dimval_add);
}
static sdx_status sub_infer(Infer *c)
{
    TRY(sdx_infer_broadcast(c));
    return binary_known(c, sdx_dimval_sub);
}
static sdx_status mul_infer(Infer *c)
{
    TRY(sdx_infer_broadcast(c));
    return binary_known(c, sdx_dimval_mul);
}
static sdx_status div_infer(Infer *c)
{
    TRY(sdx_infer_broadcast(c));
    return binary_known(c, sdx_dimval_div);
}

/* Comparisons are known when both sides are numbers. */
static DimVal truth(bool known, bool v) { return known ? sdx_dimval_num(v) : sdx_dimval_unknown(); }
static bool is_named(const SymTab *s, DimVal v)
{
    return !v.known && v.sym != SDX_DIM_UNKNOWN && sdx_dim_name(s, v.sym);
}

/* A named symbol is a size, so it differs from every negative number: exporters compare shapes with -1. */
static DimVal dim_eq(SymTab *s, DimVal a, DimVal b)
{
    if (sdx_dimval_equal(a, b)) return sdx_dimval_num(1);
    if (s && ((a.known && a.v < 0 && is_named(s, b)) || (b.known && b.v < 0 && is_named(s, a))))
        return sdx_dimval_num(0);
    return truth(a.known && b.known, a.v == b.v);
}
static DimVal dim_lt(SymTab *s, DimVal a, DimVal b) { return truth(a.known && b.known, a.v < b.v); }
static DimVal dim_le(SymTab *s, DimVal a, DimVal b) { return truth(a.known && b.known, a.v <= b.v); }
static DimVal dim_gt(SymTab *s, DimVal a, DimVal b) { return truth(a.known && b.known, a.v > b.v); }
static DimVal dim_ge(SymTab *s, DimVal a, DimVal b) { return truth(a.known && b.known, a.v >= b.v); }

#define COMPARE_INFER(name)                                                                                            \
    static sdx_status name##_infer(Infer *c)                                                                           \
    {                                                                                                                  \
        TRY(sdx_infer_broadcast(c));                                                                                   \
        return binary_known(c, dim_##name);                                                                            \
    }
COMPARE_INFER(eq)
COMPARE_INFER(lt)
COMPARE_INFER(le)
COMPARE_INFER(gt)
COMPARE_INFER(ge)

/* -- kernels ------------------------------------------------------------------------------------------------------- */

/* Both inputs read as `compute`; results are of that type, or bool. */
static sdx_status map2_prepare(Prepare *p, int map, DType compute, bool to_bool)
{
    int k = sdx_ew_ktype(compute);
    Map2 **fn = sdx_arena_new(p->arena, Map2 *);
    TRY_MEM(fn, p->err);
    if (k >= 0) *fn = p->kern->map2[k][map];
    if (k < 0 || !*fn) return sdx_prepare_fail(p, SDX_UNSUPPORTED, "no kernel for %s", sdx_dtype_name(compute));
    EwSpec s = { .fn = sdx_ew_map2, .args = fn, .in = { compute, compute }, .out = to_bool ? DT_BOOL : compute };
    return sdx_ew_prepare(p, &s);
}

static sdx_status map2_same(Prepare *p, int map)
{
    return map2_prepare(p, map, sdx_ew_compute(p->in[0]->t.dtype), false);
}
static sdx_status map2_bool(Prepare *p, int map)
{
    return map2_prepare(p, map, sdx_ew_compute(p->in[0]->t.dtype), true);
}

#define PREPARE(map, kind)                                                                                             \
    static sdx_status map##_prepare(Prepare *p) { return map2_##kind(p, SDX_MAP2_##map); }
PREPARE(add, same)
PREPARE(sub, same)
PREPARE(mul, same)
PREPARE(div, same)
PREPARE(prelu, same)
PREPARE(band, same)
PREPARE(bor, same)
PREPARE(bxor, same)
PREPARE(lt, bool)
PREPARE(le, bool)
PREPARE(gt, bool)
PREPARE(ge, bool)
PREPARE(land, bool)
PREPARE(lor, bool)
PREPARE(lxor, bool)

#define ARITH_FLAGS (OP_ELEMENTWISE | OP_INPLACE | OP_INPLACE_ANY)
#define BINARY_OP(Name, signature, prefix, infer_fn, version_rows, flag)                                               \
    const OpDef sdx_op_##Name = {                                                                                      \
        .name = #Name,                                                                                                 \
        .sig = signature,                                                                                              \
        .vers = version_rows,                                                                                          \
        .flags = flag,                                                                                                 \
        .infer = infer_fn,                                                                                             \
        .cpu = { prefix##_prepare, sdx_ew_run },                                                                       \
    };

#define TS_WIDE (TS_I32 | TS_I64 | TS_U32 | TS_U64)
static const OpVer vers_arith[] = { { 14, { TS_NUMB } },         { 13, { TS_FLTB | TS_WIDE } },
                                    { 7, { TS_FLT | TS_WIDE } }, { 6, { TS_FLT | TS_WIDE }, sdx_upgrade_broadcast },
                                    { 1, { TS_FLT } },           { 0 } };
BINARY_OP(Add, "T,T->T", add, add_infer, vers_arith, ARITH_FLAGS)
BINARY_OP(Sub, "T,T->T", sub, sub_infer, vers_arith, ARITH_FLAGS)
BINARY_OP(Mul, "T,T->T", mul, mul_infer, vers_arith, ARITH_FLAGS)
BINARY_OP(Div, "T,T->T", div, div_infer, vers_arith, ARITH_FLAGS)

static const OpVer vers_logic[] = { { 7, { TS_BOOL } }, { 1, { TS_BOOL }, sdx_upgrade_broadcast }, { 0 } };
BINARY_OP(And, "T,T->T", land, sdx_infer_broadcast, vers_logic, ARITH_FLAGS)
BINARY_OP(Or, "T,T->T", lor, sdx_infer_broadcast, vers_logic, ARITH_FLAGS)
BINARY_OP(Xor, "T,T->T", lxor, sdx_infer_broadcast, vers_logic, ARITH_FLAGS)

static const OpVer vers_bitwise[] = { { 18, { TS_INT } }, { 0 } };
BINARY_OP(BitwiseAnd, "T,T->T", band, sdx_infer_broadcast, vers_bitwise, ARITH_FLAGS)
BINARY_OP(BitwiseOr, "T,T->T", bor, sdx_infer_broadcast, vers_bitwise, ARITH_FLAGS)
BINARY_OP(BitwiseXor, "T,T->T", bxor, sdx_infer_broadcast, vers_bitwise, ARITH_FLAGS)

static const OpVer vers_order[] = {
    { 13, { TS_NUMB } }, { 9, { TS_NUM } }, { 7, { TS_FLT } }, { 1, { TS_FLT }, sdx_upgrade_broadcast }, { 0 }
};
static const OpVer vers_order_or_equal[] = { { 16, { TS_NUMB } }, { 12, { TS_NUM } }, { 0 } };
BINARY_OP(Greater, "T,T->bool", gt, gt_infer, vers_order, OP_ELEMENTWISE)
BINARY_OP(GreaterOrEqual, "T,T->bool", ge, ge_infer, vers_order_or_equal, OP_ELEMENTWISE)
BINARY_OP(Less, "T,T->bool", lt, lt_infer, vers_order, OP_ELEMENTWISE)
BINARY_OP(LessOrEqual, "T,T->bool", le, le_infer, vers_order_or_equal, OP_ELEMENTWISE)

/* -- Equal: strings and bools too ---------------------------------------------------------------------------------- */

static void equal_str(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const Str *a = x[0], *b = x[1];
    for (int64_t i = 0; i < n; i++) {
        const Str *p = single & 1 ? a : a + i, *q = single & 2 ? b : b + i;
        ((uint8_t *)y)[i] = p->n == q->n && (p->n == 0 || !memcmp(p->p, q->p, p->n));
    }
}

static sdx_status equal_prepare(Prepare *p)
{
    if (p->in[0]->t.dtype != DT_STRING) return map2_bool(p, SDX_MAP2_eq);
    EwSpec s = { .fn = equal_str, .in = { DT_STRING, DT_STRING }, .out = DT_BOOL };
    return sdx_ew_prepare(p, &s);
}

static const OpVer vers_equal[] = { { 19, { TS_NUMB | TS_BOOL | TS_STR } },
                                    { 13, { TS_NUMB | TS_BOOL } },
                                    { 11, { TS_NUM | TS_BOOL } },
                                    { 7, { TS_BOOL | TS_IDX } },
                                    { 1, { TS_BOOL | TS_IDX }, sdx_upgrade_broadcast },
                                    { 0 } };
BINARY_OP(Equal, "T,T->bool", equal, eq_infer, vers_equal, OP_ELEMENTWISE)

/* -- PRelu: the slope broadcasts to x, not the other way ----------------------------------------------------------- */

static sdx_status prelu_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0), *slope = shape_of(c, 1);
    TRY(sdx_infer_broadcast(c));
    if (x && slope && slope->rank > x->rank)
        return sdx_infer_fail(c, "slope has rank %d, more than the input's %d", (int)slope->rank, (int)x->rank);
    return sdx_infer_same_shape(c);
}

static sdx_status prelu_checked(Prepare *p)
{
    int rank;
    int64_t dims[SDX_MAX_RANK];
    const Tensor *x = &p->in[0]->t;
    if (!sdx_broadcast_dims(p->in, 2, &rank, dims) || !sdx_dims_equal(dims, rank, x->dims, x->rank))
        return sdx_prepare_fail(p, SDX_INVALID_MODEL, "slope does not broadcast to the shape of the input");
    return prelu_prepare(p);
}

/* Before 7 a slope of one dimension belonged to axis 1, and one element to all. */
static sdx_status prelu_from_6(Node *n, Err *err)
{
    const Tensor *slope = n->n_in > 1 && n->in[1] ? n->in[1]->constant : NULL;
    if (slope && sdx_tensor_count(slope) == 1) return SDX_OK;
    TRY(sdx_upgrade_default_int(n, "broadcast", 1, err));
    TRY(sdx_upgrade_default_int(n, "axis", 1, err));
    return sdx_upgrade_broadcast(n, err);
}

static const OpVer vers_prelu[] = { { 16, { TS_FLTB | TS_WIDE } },   { 9, { TS_FLT | TS_WIDE } }, { 7, { TS_FLT } },
                                    { 6, { TS_FLT }, prelu_from_6 }, { 1, { TS_FLT } },           { 0 } };

const OpDef sdx_op_PRelu = {
    .name = "PRelu",
    .sig = "T,T->T",
    .vers = vers_prelu,
    .flags = OP_ELEMENTWISE | OP_INPLACE,
    .infer = prelu_infer,
    .cpu = { prelu_checked, sdx_ew_run },
};
