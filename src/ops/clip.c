/* Clip: min(max(x, lo), hi). The bounds are inputs, so known when the node runs; hi wins where lo > hi. */
#include <math.h>

#include "ops/elementwise.h"
#include "ops/shapes.h"
#include "ops/upgrade.h"

typedef struct ClipKern {
    Map1F32 *f32;
    Map1F64 *f64;
    Map2 *min, *max;
} ClipKern;

typedef struct ClipCall {
    const ClipKern *kern;
    MapParam bounds; /* of floats */
    int64_t lo, hi;  /* of integers: an element's bits, first byte first */
    bool has_lo, has_hi;
} ClipCall;

static void clip_f32(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const ClipCall *c = args;
    c->kern->f32(y, x[0], (size_t)n, &c->bounds);
}

static void clip_f64(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const ClipCall *c = args;
    c->kern->f64(y, x[0], (size_t)n, &c->bounds);
}

/* A missing bound compares x with itself. */
static void clip_int(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const ClipCall *c = args;
    c->kern->max(y, x[0], c->has_lo ? &c->lo : x[0], (size_t)n, c->has_lo ? SDX_B_ONE : 0);
    if (c->has_hi) c->kern->min(y, y, &c->hi, (size_t)n, SDX_B_ONE);
}

static sdx_status clip_infer(Infer *c)
{
    for (int i = 1; i < 3; i++) {
        const Shape *s = shape_of(c, i);
        /* Old exporters write [1] where the standard says scalar. */
        if (s && (s->rank > 1 || (s->rank == 1 && sdx_dim_is_const(s->dims[0]) && s->dims[0] != 1)))
            return sdx_infer_fail(c, "%s must be a scalar", i == 1 ? "min" : "max");
    }
    return sdx_infer_same_shape(c);
}

/* State: the engine's plan, whose args hold the kernels. */
typedef struct ClipState {
    ClipKern kern;
    void *ew;
} ClipState;

static sdx_status clip_prepare(Prepare *p)
{
    ClipState *st = sdx_arena_new(p->arena, ClipState);
    TRY_MEM(st, p->err);
    DType d = sdx_ew_compute(p->in[0]->t.dtype);
    int k = sdx_ew_ktype(d);
    st->kern = (ClipKern){ p->kern->map1_f32[SDX_MAP1_clip], p->kern->map1_f64[SDX_MAP1_clip],
                           p->kern->map2[k][SDX_MAP2_min], p->kern->map2[k][SDX_MAP2_max] };
    EwSpec s = { .fn = d == DT_FLOAT    ? clip_f32
                       : d == DT_DOUBLE ? clip_f64
                                        : clip_int,
                 .in = { d },
                 .out = d,
                 .n_in = 1 };
    TRY(sdx_ew_prepare(p, &s));
    st->ew = p->state;
    p->state = st;
    return SDX_OK;
}

static sdx_status clip_bound(const Run *r, int i, double *bound, int64_t *bits, bool *has)
{
    *has = DATUM_HAS(r, i);
    if (!*has) return SDX_OK;
    const Tensor *t = &r->in[i]->t;
    if (sdx_tensor_count(t) != 1) return sdx_run_fail(r, "%s is not a scalar", i == 1 ? "min" : "max");
    *bound = sdx_tensor_get_double(t, 0);
    memcpy(bits, t->data, sdx_dtype_size(t->dtype));
    return SDX_OK;
}

static sdx_status clip_run(Run *r)
{
    const ClipState *st = r->state;
    ClipCall call = { .kern = &st->kern, .bounds = { -INFINITY, INFINITY } };
    TRY(clip_bound(r, 1, &call.bounds.alpha, &call.lo, &call.has_lo));
    TRY(clip_bound(r, 2, &call.bounds.beta, &call.hi, &call.has_hi));
    Run inner = *r;
    inner.state = st->ew;
    return sdx_ew_run_args(&inner, &call);
}

/* Before 11 the bounds were attributes. */
static sdx_status clip_from_6(Node *n, Err *err)
{
    TRY(sdx_upgrade_float_to_input(n, "min", 1, err));
    return sdx_upgrade_float_to_input(n, "max", 2, err);
}

static const OpVer clip_vers[] = { { 13, { TS_NUMB } }, { 12, { TS_NUM } },
                                   { 11, { TS_FLT } },  { 6, { TS_FLT }, clip_from_6 },
                                   { 1, { TS_FLT } },   { 0 } };

const OpDef sdx_op_Clip = {
    .name = "Clip",
    .sig = "T,T?,T?->T",
    .vers = clip_vers,
    .flags = OP_ELEMENTWISE | OP_INPLACE,
    .infer = clip_infer,
    .cpu = { clip_prepare, clip_run },
};
