/* Where: cond ? x : y, all three broadcast; elements are moved by size. */
#include "ops/elementwise.h"
#include "ops/shapes.h"
#include "ops/typesets.h"

typedef struct WhereCall {
    WhereFn *fn;
    size_t size;
} WhereCall;

static void where_strip(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    const WhereCall *c = args;
    const uint8_t *cond = x[0];
    if (!(single & 1)) {
        c->fn(y, cond, x[1], x[2], (size_t)n, single >> 1);
        return;
    }
    const char *from = *cond ? x[1] : x[2];
    bool one = single & (*cond ? 2 : 4);
    if (!one) {
        if (y != from) memmove(y, from, (size_t)n * c->size);
        return;
    }
    for (int64_t i = 0; i < n; i++) memcpy((char *)y + (size_t)i * c->size, from, c->size);
}

static sdx_status where_prepare(Prepare *p)
{
    WhereCall *c = sdx_arena_new(p->arena, WhereCall);
    TRY_MEM(c, p->err);
    DType d = p->in[1]->t.dtype;
    c->size = sdx_dtype_size(d);
    int log2 = 0;
    while ((size_t)1 << log2 < c->size) log2++;
    c->fn = p->kern->where[log2];
    EwSpec s = { .fn = where_strip, .args = c, .in = { DT_BOOL, d, d }, .out = d };
    return sdx_ew_prepare(p, &s);
}

static sdx_status where_infer(Infer *c)
{
    DimVec v[3];
    int n = 1;
    TRY(sdx_infer_broadcast(c));
    if (!sdx_dtype_in(c->in[1]->elem, TS_IDX) || c->out[0].shape.rank > 1) return SDX_OK;
    for (int i = 0; i < 3; i++) {
        if (!sdx_infer_ints(c, i, &v[i]) || (v[i].n != n && v[i].n != 1 && n != 1)) return SDX_OK;
        if (v[i].n != 1) n = v[i].n;
    }
    DimVal *y = sdx_arena_array(c->arena, DimVal, n);
    TRY_MEM(y, c->err);
    for (int i = 0; i < n; i++) {
        DimVal cond = v[0].v[v[0].n == 1 ? 0 : i], a = v[1].v[v[1].n == 1 ? 0 : i], b = v[2].v[v[2].n == 1 ? 0 : i];
        y[i] = cond.known ? (cond.v ? a : b) : sdx_dimval_equal(a, b) ? a : sdx_dimval_unknown();
    }
    return sdx_infer_set_ints(c, 0, y, n);
}

static const OpVer vers_where[] = { { 16, { TS_ALL_13 } }, { 9, { TS_ALL_1 } }, { 0 } };

const OpDef sdx_op_Where = {
    .name = "Where",
    .sig = "bool,T,T->T",
    .vers = vers_where,
    .flags = OP_ELEMENTWISE,
    .infer = where_infer,
    .cpu = { where_prepare, sdx_ew_run },
};
