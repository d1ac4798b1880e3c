#include "kern/attn/attn.h"

#include <math.h>
#include <stdlib.h>

#include "tests/harness.h"

/* Attention of floats by every level, with keys packed and not, against plain sums in double. */

typedef struct Case {
    int64_t batches, heads, kv_heads, rows, keys, size, v_size;
    bool causal, flat; /* flat: heads lie within a row */
    int64_t left, right, past;
    double softcap;
    int biases; /* bit 0: of floats, bit 1: of bools; 4: the first has a row for each head */
    bool sink, lengths;
} Case;

static void *fresh(size_t n, size_t size) { return aligned_alloc(64, ((n + 1) * size + 63) / 64 * 64); }

static float *random_floats(int64_t n, uint32_t seed)
{
    float *x = fresh((size_t)n, sizeof *x);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)seed * 0x1p-31f;
    }
    return x;
}

static AttnMat mat(const void *p, bool flat, int64_t heads, int64_t rows, int64_t size)
{
    return flat ? (AttnMat){ p, rows * heads * size, size, heads * size }
                : (AttnMat){ p, heads * rows * size, rows * size, size };
}

typedef struct Inputs {
    float *q, *k, *v, *add, *sink;
    uint8_t *seen;
    int64_t *offset, *valid;
} Inputs;

static Attn make(const Case *t, const Inputs *in)
{
    Attn a = { .batches = t->batches,
               .heads = t->heads,
               .kv_heads = t->kv_heads,
               .rows = t->rows,
               .keys = t->keys,
               .size = t->size,
               .v_size = t->v_size,
               .scale = 0.7,
               .softcap = t->softcap,
               .causal = t->causal,
               .left = t->left,
               .right = t->right,
               .offset = in->offset,
               .valid = t->lengths ? in->valid : NULL,
               .sink = t->sink ? in->sink : NULL };
    a.q = mat(in->q, t->flat, t->heads, t->rows, t->size);
    a.k = mat(in->k, t->flat, t->kv_heads, t->keys, t->size);
    a.v = mat(in->v, t->flat, t->kv_heads, t->keys, t->v_size);
    int64_t each = t->rows * t->keys;
    if (t->biases & 1)
        a.bias[0] = (AttnBias){
            .p = in->add, .head = t->biases & 4 ? each : 0, .row = t->keys, .col = 1, .keys = t->keys
        };
    if (t->biases & 2)
        a.bias[t->biases & 1] = (AttnBias){
            .p = in->seen, .is_bool = true, .batch = each, .row = t->keys, .col = 1, .keys = t->keys - 1
        };
    return a;
}

/* One query, by the definition. */
static void by_definition(const Attn *a, int64_t b, int64_t h, int64_t i, double *y)
{
    int64_t kv = h / (a->heads / a->kv_heads), at = a->offset[b] + i;
    double sum = 0, max = -INFINITY, *s = fresh((size_t)a->keys, sizeof *s);
    const float *q = (const float *)a->q.p + b * a->q.batch + h * a->q.head + i * a->q.row;
    for (int64_t j = 0; j < a->keys; j++) {
        const float *k = (const float *)a->k.p + b * a->k.batch + kv * a->k.head + j * a->k.row;
        bool seen = !(a->causal && j > at) && !(a->left >= 0 && j < at - a->left) &&
                    !(a->right >= 0 && j > at + a->right);
        seen = seen && (!a->valid || j < a->valid[b]);
        s[j] = 0;
        for (int64_t d = 0; d < a->size; d++) s[j] += (double)q[d] * (double)k[d];
        s[j] *= a->scale;
        if (a->softcap != 0) s[j] = a->softcap * tanh(s[j] / a->softcap);
        for (int n = 0; n < 2; n++) {
            const AttnBias *c = &a->bias[n];
            int64_t place = b * c->batch + h * c->head + i * c->row + j;
            if (!c->p) continue;
            if (j >= c->keys || (c->is_bool && !((const uint8_t *)c->p)[place])) seen = false;
            if (!c->is_bool && j < c->keys) s[j] += (double)((const float *)c->p)[place];
        }
        if (!seen) s[j] = -INFINITY;
        max = fmax(max, s[j]);
    }
    for (int64_t d = 0; d < a->v_size; d++) y[d] = 0;
    if (max != -INFINITY) {
        if (a->sink) sum = exp((double)a->sink[h] - max);
        for (int64_t j = 0; j < a->keys; j++) sum += exp(s[j] - max);
        for (int64_t j = 0; j < a->keys; j++) {
            const float *v = (const float *)a->v.p + b * a->v.batch + kv * a->v.head + j * a->v.row;
            for (int64_t d = 0; d < a->v_size; d++) y[d] += exp(s[j] - max) / sum * (double)v[d];
        }
    }
    free(s);
}

static bool close_enough(const Attn *a, const double *want, const float *got)
{
    for (int64_t b = 0; b < a->batches; b++)
        for (int64_t h = 0; h < a->heads; h++)
            for (int64_t i = 0; i < a->rows; i++)
                for (int64_t d = 0; d < a->v_size; d++, want++)
                    if (!CHECK_NEAR((double)got[b * a->y.batch + h * a->y.head + i * a->y.row + d], *want, 4e-6))
                        return false;
    return true;
}

static void run_case(const Case *t)
{
    int64_t n_y = t->batches * t->heads * t->rows * t->v_size;
    Inputs in = { random_floats(t->batches * t->heads * t->rows * t->size, 1),
                  random_floats(t->batches * t->kv_heads * t->keys * t->size, 2),
                  random_floats(t->batches * t->kv_heads * t->keys * t->v_size, 3),
                  random_floats(t->heads * t->rows * t->keys, 4),
                  random_floats(t->heads, 5),
                  fresh((size_t)(t->batches * t->rows * t->keys), 1),
                  fresh((size_t)t->batches, 8),
                  fresh((size_t)t->batches, 8) };
    float *noise = random_floats(t->batches * t->rows * t->keys, 6);
    for (int64_t i = 0; i < t->batches * t->rows * t->keys; i++) in.seen[i] = noise[i] > -0.5f;
    for (int64_t i = 0; i < t->heads * t->rows * t->keys; i++)
        if (in.add[i] > 0.8f) in.add[i] = -INFINITY;
    for (int64_t b = 0; b < t->batches; b++) in.offset[b] = t->past - 3 * b, in.valid[b] = t->keys - 5 * b;
    Attn a = make(t, &in);
    double *want = fresh((size_t)n_y, sizeof *want);
    for (int64_t i = 0; i < t->batches * t->heads * t->rows; i++)
        by_definition(&a, i / t->rows / t->heads, i / t->rows % t->heads, i % t->rows, want + i * t->v_size);
    float *y = fresh((size_t)n_y, sizeof *y), *first = fresh((size_t)n_y, sizeof *y);
    for (unsigned level = 0; level < SDX_CPU_LEVELS; level++)
        for (int packs = 0; sdx_kern_at(level) && packs < 2; packs++) {
            AttnPlan p;
            a.kern = sdx_kern_at(level);
            sdx_harness_note("%s%s, %d rows, %d keys", a.kern->name, packs ? " packed" : "", (int)t->rows,
                             (int)t->keys);
            if (!CHECK(sdx_attn_plan(&a, sizeof(float), &p))) return;
            for (int64_t i = 0; i < n_y; i++) y[i] = NAN;
            a.y = mat(y, t->flat, t->heads, t->rows, t->v_size);
            float *packed = p.packed ? fresh(p.packed, sizeof *packed) : NULL;
            for (int64_t i = 0; packed && i < 2 * t->batches * t->kv_heads; i++) sdx_attn_pack(&a, &p, i, packed);
            a.packed = packs ? packed : NULL;
            void *scratch = fresh(p.scratch, 1);
            for (int64_t u = p.units - 1; u >= 0; u--) sdx_attn_f32(&a, &p, u, scratch);
            free(scratch);
            free(packed);
            if (!close_enough(&a, want, y)) return;
            for (int64_t i = 0; i < n_y && !packs; i++) first[i] = y[i];
            for (int64_t i = 0; i < n_y; i++) /* packing changes no bit */
                if (!CHECK(y[i] == first[i])) return;
        }
    sdx_harness_note(NULL);
    free(y);
    free(first);
    free(want);
    free(noise);
    free(in.q), free(in.k), free(in.v), free(in.add), free(in.sink), free(in.seen), free(in.offset), free(in.valid);
}

static void sizes(void)
{
    run_case(&(Case){ 1, 2, 2, 300, 310, 20, 24, .left = -1, .right = -1, .flat = true });
    run_case(&(Case){ 2, 4, 2, 70, 61, 16, 40, .left = -1, .right = -1 });
    run_case(&(Case){ 2, 6, 2, 1, 100, 33, 17, .left = -1, .right = -1, .lengths = true });
    run_case(&(Case){ 1, 1, 1, 5, 1, 1, 1, .left = -1, .right = -1 });
}

static void hidden(void)
{
    run_case(&(Case){ 2, 2, 1, 290, 300, 16, 16, .causal = true, .left = -1, .right = -1, .past = 10, .flat = true });
    run_case(&(Case){ 2, 3, 3, 260, 270, 8, 8, .causal = true, .left = 40, .right = -1, .past = 5 });
    run_case(&(Case){ 2, 2, 2, 100, 90, 8, 8, .left = 3, .right = 7, .past = -20, .lengths = true });
    run_case(&(Case){ 2, 4, 1, 1, 50, 8, 8, .causal = true, .left = 9, .right = -1, .past = 30 });
    run_case(&(Case){ 2, 3, 3, 3, 150, 40, 8, .causal = true, .left = -1, .right = -1, .past = 140, .flat = true });
}

static void biased(void)
{
    for (int biases = 1; biases < 8; biases++) {
        run_case(&(Case){ 2, 2, 2, 40, 50, 8, 8, .left = -1, .right = -1, .biases = biases, .flat = true });
        run_case(&(Case){ 1, 4, 2, 1, 30, 8, 8, .left = -1, .right = -1, .biases = biases });
    }
    run_case(&(Case){ 1, 2, 2, 200, 210, 8, 8, .causal = true, .left = -1, .right = -1, .biases = 5 });
}

static void capped(void)
{
    run_case(&(Case){ 1, 2, 1, 70, 80, 12, 8, .left = -1, .right = -1, .softcap = 1.5, .sink = true });
    run_case(&(Case){ 1, 2, 2, 70, 80, 12, 8, .causal = true, .left = -1, .right = -1, .sink = true, .biases = 3 });
}

/* Sizes that no memory holds are refused, not wrapped. */
static void absurd(void)
{
    AttnPlan p;
    Attn a = {
        .kern = sdx_kern_at(SDX_CPU_C), .batches = 1, .heads = 1, .kv_heads = 1, .rows = 2, .size = 1, .v_size = 1
    };
    a.keys = INT64_MAX / 8;
    CHECK(!sdx_attn_plan(&a, sizeof(float), &p));
    a.keys = (int64_t)1 << 57;
    CHECK(!sdx_attn_plan(&a, sizeof(double), &p));
    a.keys = 1;
    a.batches = a.heads = a.kv_heads = (int64_t)1 << 40;
    CHECK(!sdx_attn_plan(&a, sizeof(float), &p));
}

SUITE(attn_test)
{
    RUN(sizes);
    RUN(hidden);
    RUN(biased);
    RUN(capped);
    RUN(absurd);
}
