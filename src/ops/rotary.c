/* ops/rotary.c - RotaryEmbedding, and RotaryEmbedding and MRotaryEmbedding of com.microsoft
 *
 * Input [batch, heads, rows, size] or [batch, rows, heads * size]. Of each head the first 2 * half elements are rotated,
 * where half is the width of the caches of cosines and sines; the others are copied. The operators differ in how the
 * place of a row, the row of the caches, is found:
 *   ai.onnx          position_ids [batch, rows]; without them the caches are [batch, rows, half]
 *   com.microsoft    position_ids [batch, rows], or [1]: the place of the first row
 *   MRotary          position_ids [3, batch, rows]: element k of a half takes the place of time, height or width, by
 *                    sections of lengths mrope_section one after the other (layout 0), or by turns: height at 1, 4, 7 ..
 *                    below 3 * section[1], width at 2, 5, 8 .. below 3 * section[2], else time (layout 1) */
#include "ops/rotary.h"

#include <string.h>

#include "ops/attend.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/shapes.h"

typedef struct RotaryAttrs {
    int64_t interleaved, num_heads, rotary_embedding_dim;
    int64_t is_packed_batching, mrope_layout; /* com.microsoft */
    IntList mrope_section;
    float scale;
} RotaryAttrs;

/* Inputs by role. */
typedef struct RotaryForm {
    int cos, sin, ids;
    bool is_ms, is_m; /* com.microsoft; MRotary */
} RotaryForm;
static const RotaryForm onnx_form = { 1, 2, 3, false, false }, ms_form = { 2, 3, 1, true, false },
                        m_form = { 2, 3, 1, true, true };

/* -- inference ----------------------------------------------------------------------------------------------------- */

/* The width of a head: rank 4 says it; else num_heads does; else, in com.microsoft, the caches span it. */
static sdx_status head_size(const Infer *c, const RotaryForm *f, Dim *size)
{
    const RotaryAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0), *cos = infer_shape(c, f->cos);
    *size = SDX_DIM_UNKNOWN;
    TRY(infer_rank_between(c, 0, 3, 4, "the input"));
    if (!x) return SDX_OK;
    if (x->rank == 4) {
        *size = x->dims[3];
    } else if (a->num_heads > 0) {
        TRY(sdx_infer_head_size(c, "the input", x->dims[2], a->num_heads, size));
    } else if (!f->is_ms) {
        return sdx_infer_fail(c, "the input has rank 3 and needs a positive num_heads");
    } else if (a->rotary_embedding_dim > 0) {
        return sdx_infer_fail(c, "rotary_embedding_dim needs num_heads for an input of rank 3");
    } else if (cos && cos->rank == 2) {
        *size = infer_mul(c, cos->dims[1], 2);
        if (sdx_dim_is_const(*size) && sdx_dim_is_const(x->dims[2]) && (*size ? x->dims[2] % *size : x->dims[2]))
            return sdx_infer_fail(c, "the input is %lld wide, no multiple of the caches' heads of %lld",
                                  (long long)x->dims[2], (long long)*size);
    }
    return SDX_OK;
}

static sdx_status ids_check(const Infer *c, const RotaryForm *f, Dim batch, Dim rows)
{
    const Shape *ids = infer_shape(c, f->ids);
    if (f->is_m) return sdx_infer_shape_is(c, f->ids, "position_ids", 3, (Dim[]){ 3, batch, rows });
    if (f->is_ms && ids && ids->rank == 1) return infer_is_vector(c, f->ids, 1, "position_ids");
    return sdx_infer_shape_is(c, f->ids, "position_ids", 2, (Dim[]){ batch, rows });
}

static sdx_status rotary_infer(Infer *c, const RotaryForm *f)
{
    const RotaryAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0), *cos = infer_shape(c, f->cos), *sin = infer_shape(c, f->sin);
    Dim size;
    if (a->rotary_embedding_dim < 0 || a->rotary_embedding_dim % 2)
        return sdx_infer_fail(c, "rotary_embedding_dim is %lld; it must be even", (long long)a->rotary_embedding_dim);
    TRY(head_size(c, f, &size));
    if (!x) return SDX_OK;
    Dim batch = x->dims[0], rows = x->dims[x->rank == 4 ? 2 : 1], width = a->rotary_embedding_dim;
    if (!width) width = size;
    if (sdx_dim_is_const(size) && width > size)
        return sdx_infer_fail(c, "rotary_embedding_dim is %lld, heads have %lld elements", (long long)width,
                              (long long)size);
    if (sdx_dim_is_const(width) && width % 2)
        return sdx_infer_fail(c, "heads have %lld elements; the number must be even", (long long)width);
    Dim half = sdx_dim_is_const(width) ? width / 2 : SDX_DIM_UNKNOWN;
    bool by_place = infer_has(c, f->ids);
    if (by_place) TRY(ids_check(c, f, batch, rows));
    Dim places = cos && by_place && cos->rank == 2 ? cos->dims[0] : SDX_DIM_UNKNOWN;
    Dim table[2] = { places, half }, own[3] = { batch, rows, half };
    TRY(sdx_infer_shape_is(c, f->cos, "cos_cache", by_place ? 2 : 3, by_place ? table : own));
    TRY(sdx_infer_shape_is(c, f->sin, "sin_cache", by_place ? 2 : 3, by_place ? table : own));
    if (cos && sin && dim_differs(cos->dims[cos->rank - 1], sin->dims[sin->rank - 1]))
        return sdx_infer_fail(c, "cos_cache and sin_cache differ in width");
    int64_t sum = 0;
    for (int64_t i = 0; f->is_m && i < a->mrope_section.n; i++) {
        int64_t n = a->mrope_section.v[i];
        if (n < 0 || n > INT32_MAX) return sdx_infer_fail(c, "mrope_section holds %lld", (long long)n);
        sum += n;
    }
    if (f->is_m && (a->mrope_section.n != 3 || (sdx_dim_is_const(half) && sum != half)))
        return sdx_infer_fail(c, "mrope_section has %lld lengths with a sum of %lld; it needs 3 that fill half a head",
                              (long long)a->mrope_section.n, (long long)sum);
    if (f->is_m && a->mrope_layout != 0 && a->mrope_layout != 1)
        return sdx_infer_fail(c, "mrope_layout is %lld", (long long)a->mrope_layout);
    return sdx_infer_same_shape(c);
}

/* -- run ----------------------------------------------------------------------------------------------------------- */

void sdx_rotate_head(float *y, const float *x, const float *cos, const float *sin, int64_t half, int64_t size,
                     bool interleaved)
{
    int64_t step = interleaved ? 2 : 1, other = interleaved ? 1 : half;
    for (int64_t k = 0; k < half; k++) {
        float a = x[k * step], b = x[k * step + other];
        y[k * step] = cos[k] * a - sin[k] * b;
        y[k * step + other] = sin[k] * a + cos[k] * b;
    }
    if (y != x && size > 2 * half) memcpy(y + 2 * half, x + 2 * half, (size_t)(size - 2 * half) * sizeof *y);
}

typedef struct RotaryJob {
    const RotaryAttrs *a;
    const RotaryForm *f;
    const float *x, *cos, *sin;
    const int64_t *ids; /* NULL: rows of the caches are rows of the input */
    bool one_id, flat;
    int64_t rows, heads, size, half, batches;
    float *y;
    float *scratch; /* MRotary: cosines and sines of a row, for each worker */
} RotaryJob;

/* The dimension, time 0, height 1 or width 2, whose place element k takes. */
static int m_axis(const RotaryAttrs *a, int64_t k)
{
    const int64_t *s = a->mrope_section.v;
    if (a->mrope_layout == 0) return k < s[0] ? 0 : k < s[0] + s[1] ? 1 : 2;
    int axis = (int)(k % 3);
    return axis && k < 3 * s[axis] ? axis : 0;
}

/* Cosines and sines of row `at` of all batches. */
static void angles(const RotaryJob *j, int64_t at, float *own, const float **cos, const float **sin)
{
    int64_t place = at;
    if (j->f->is_m) {
        for (int64_t k = 0; k < j->half; k++) {
            int64_t from = j->ids[m_axis(j->a, k) * j->batches * j->rows + at] * j->half + k;
            own[k] = j->cos[from];
            own[j->half + k] = j->sin[from];
        }
        *cos = own;
        *sin = own + j->half;
        return;
    }
    if (j->one_id)
        place = j->ids[0] + at % j->rows;
    else if (j->ids)
        place = j->ids[at];
    *cos = j->cos + place * j->half;
    *sin = j->sin + place * j->half;
}

static void rotary_range(void *arg, int64_t from, int64_t to, int worker)
{
    const RotaryJob *j = arg;
    float *own = j->scratch ? j->scratch + (int64_t)worker * 2 * j->half : NULL;
    for (int64_t u = from; u < to; u++) {
        const float *cos, *sin;
        angles(j, u, own, &cos, &sin);
        for (int64_t h = 0; h < j->heads; h++) {
            int64_t at = (j->flat ? u * j->heads + h : (u / j->rows * j->heads + h) * j->rows + u % j->rows) * j->size;
            sdx_rotate_head(j->y + at, j->x + at, cos, sin, j->half, j->size, j->a->interleaved != 0);
        }
    }
}

static sdx_status rotary_prepare(Prepare *p, const RotaryForm *f)
{
    const RotaryAttrs *a = p->args;
    const Tensor *x = &p->in[0]->t, *cos = &p->in[f->cos]->t;
    RotaryJob *j = sdx_arena_new(p->arena, RotaryJob);
    TRY_MEM(j, p->err);
    p->state = j;
    j->a = a;
    j->f = f;
    j->flat = x->rank == 3;
    j->batches = x->dims[0];
    j->rows = x->dims[j->flat ? 1 : 2];
    j->half = cos->dims[cos->rank - 1];
    j->heads = !j->flat ? x->dims[1] : a->num_heads > 0 ? a->num_heads : j->half ? x->dims[2] / (2 * j->half) : 0;
    j->size = !j->flat ? x->dims[3] : j->heads ? x->dims[2] / j->heads : 0;
    size_t at;
    if (f->is_m) return sdx_scratch_add(p, p->threads > 0 ? p->threads : 1, (size_t)j->half * 2 * sizeof(float), &at);
    return SDX_OK;
}

static sdx_status rotary_run(Run *r)
{
    RotaryJob j = *(const RotaryJob *)r->state;
    void *y;
    TRY(run_output_like(r, 0, &r->in[0]->t, &y));
    if (sdx_tensor_count(&r->in[0]->t) == 0) return SDX_OK;
    j.x = r->in[0]->t.data;
    j.y = y;
    j.cos = r->in[j.f->cos]->t.data;
    j.sin = r->in[j.f->sin]->t.data;
    if (j.f->is_m) j.scratch = r->scratch;
    if (DATUM_HAS(r, j.f->ids)) {
        const Tensor *t = &r->in[j.f->ids]->t;
        int64_t n = sdx_tensor_count(t), places = r->in[j.f->cos]->t.dims[0];
        j.ids = t->data;
        j.one_id = j.f->is_ms && t->rank == 1;
        for (int64_t i = 0; i < n; i++)
            if (j.ids[i] < 0 || j.ids[i] >= places || (j.one_id && j.rows > places - j.ids[i]))
                return sdx_run_fail(r, "position_ids holds %lld for %lld rows; the caches have %lld places",
                                    (long long)j.ids[i], (long long)j.rows, (long long)places);
    }
    sdx_run_range(r, j.batches * j.rows, grain_for(j.heads * j.size), rotary_range, &j);
    return SDX_OK;
}

/* -- the operators ------------------------------------------------------------------------------------------------- */

static sdx_status onnx_infer(Infer *c) { return rotary_infer(c, &onnx_form); }
static sdx_status ms_infer(Infer *c) { return rotary_infer(c, &ms_form); }
static sdx_status m_infer(Infer *c) { return rotary_infer(c, &m_form); }
static sdx_status onnx_prepare(Prepare *p) { return rotary_prepare(p, &onnx_form); }
static sdx_status ms_prepare(Prepare *p) { return rotary_prepare(p, &ms_form); }
static sdx_status m_prepare(Prepare *p) { return rotary_prepare(p, &m_form); }

#define ROTARY_ATTRS                                                                                                   \
    OP_INT(RotaryAttrs, interleaved, 0), OP_INT(RotaryAttrs, num_heads, 0), OP_INT(RotaryAttrs, rotary_embedding_dim, 0)
/* The scale has no effect in ONNX Runtime either. */
#define ROTARY_MS_ATTRS ROTARY_ATTRS, OP_INT(RotaryAttrs, is_packed_batching, 0), OP_FLOAT(RotaryAttrs, scale, 1)

static const AttrSpec onnx_attrs[] = { ROTARY_ATTRS, OP_ATTR_END };
static const AttrSpec ms_attrs[] = { ROTARY_MS_ATTRS, OP_ATTR_END };
static const AttrSpec m_attrs[] = { ROTARY_MS_ATTRS, OP_INT(RotaryAttrs, mrope_layout, 0),
                                    OP_INTS(RotaryAttrs, mrope_section), OP_ATTR_END };

static const OpVer onnx_vers[] = { { 23, { TS_F32 | TS_F16 | TS_BF16, TS_I64 } }, { 0 } };
static const OpVer ms_vers[] = { { 1, { TS_F32 | TS_F16 | TS_BF16, TS_I64 } }, { 0 } };

const OpDef sdx_op_RotaryEmbedding = {
    .name = "RotaryEmbedding",
    .sig = "T,T,T,U?->T",
    .attrs = onnx_attrs,
    .attrs_size = sizeof(RotaryAttrs),
    .vers = onnx_vers,
    .flags = OP_F32_MATH | OP_INPLACE,
    .infer = onnx_infer,
    .cpu = { onnx_prepare, rotary_run },
};
const OpDef sdx_op_ms_RotaryEmbedding = {
    .name = "RotaryEmbedding",
    .domain = "com.microsoft",
    .sig = "T,U,T,T->T",
    .attrs = ms_attrs,
    .attrs_size = sizeof(RotaryAttrs),
    .vers = ms_vers,
    .flags = OP_F32_MATH | OP_INPLACE,
    .infer = ms_infer,
    .cpu = { ms_prepare, rotary_run },
};
const OpDef sdx_op_ms_MRotaryEmbedding = {
    .name = "MRotaryEmbedding",
    .domain = "com.microsoft",
    .sig = "T,U,T,T->T",
    .attrs = m_attrs,
    .attrs_size = sizeof(RotaryAttrs),
    .vers = ms_vers,
    .flags = OP_F32_MATH | OP_INPLACE,
    .infer = m_infer,
    .cpu = { m_prepare, rotary_run },
};
