#include "ops/attend.h"

#include <string.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"

sdx_status sdx_infer_shape_is(const Infer *c, int i, const char *what, int rank, const Dim *want)
{
    const Shape *s = infer_shape(c, i);
    if (!s) return SDX_OK;
    if (s->rank != rank) return sdx_infer_fail(c, "%s has rank %d; it must be %d", what, (int)s->rank, rank);
    for (int k = 0; k < rank; k++)
        if (dim_differs(s->dims[k], want[k]))
            return sdx_infer_fail(c, "%s has size %lld along axis %d; it must be %lld", what, (long long)s->dims[k], k,
                                  (long long)want[k]);
    return SDX_OK;
}

sdx_status sdx_infer_head_size(const Infer *c, const char *what, Dim width, int64_t heads, Dim *size)
{
    if (sdx_dim_is_const(width) && width % heads)
        return sdx_infer_fail(c, "%s is %lld wide, which %lld heads do not divide", what, (long long)width,
                              (long long)heads);
    *size = sdx_dim_of(sdx_dimval_div(c->syms, sdx_dimval_of(width), sdx_dimval_num(heads)));
    return SDX_OK;
}

Dim sdx_infer_add(const Infer *c, Dim a, Dim b)
{
    return sdx_dim_of(sdx_dimval_add(c->syms, sdx_dimval_of(a), sdx_dimval_of(b)));
}

sdx_status sdx_scratch_add(Prepare *p, int64_t count, size_t esize, size_t *at)
{
    size_t nbytes;
    *at = sdx_round_up(p->scratch, SDX_ALIGN);
    if (!sdx_mul_size(&nbytes, (size_t)count, esize) || !sdx_add_size(&p->scratch, *at, nbytes))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    return SDX_OK;
}

sdx_status sdx_output_room(Prepare *p, int o, int64_t count, size_t esize, size_t *at)
{
    return o < p->n_out && p->out[o] ? SDX_OK : sdx_scratch_add(p, count, esize, at);
}

sdx_status sdx_output_or_scratch(Run *r, int o, DType dtype, int rank, const int64_t *dims, size_t at, void **data)
{
    if (o < r->n_out && r->out[o]) return sdx_run_output(r, o, dtype, rank, dims, data);
    *data = (char *)r->scratch + at;
    return SDX_OK;
}

sdx_status sdx_prepare_infer(const Prepare *p, Infer *c)
{
    Type *types = sdx_arena_array(p->arena, Type, p->n_in);
    const Type **in = sdx_arena_array(p->arena, const Type *, p->n_in);
    TRY_MEM(types && in, p->err);
    for (int i = 0; i < p->n_in; i++) {
        if (!p->in[i] || p->in[i]->kind != DATUM_TENSOR) continue;
        const Tensor *t = &p->in[i]->t;
        types[i] = (Type){ .kind = TYPE_TENSOR, .elem = t->dtype, .shape.rank = t->rank };
        memcpy(types[i].shape.dims, t->dims, sizeof t->dims);
        in[i] = &types[i];
    }
    *c = (Infer){ .node = p->node, .args = p->args, .n_in = p->n_in, .in = in, .arena = p->arena, .err = p->err };
    return SDX_OK;
}

bool sdx_attend_scratch(const Attend *s, int threads, size_t *nbytes)
{
    size_t packed;
    return sdx_mul_size(&packed, s->plan.packed, sizeof(float)) &&
           sdx_mul_size(nbytes, s->plan.scratch, (size_t)(threads > 0 ? threads : 1)) &&
           sdx_add_size(nbytes, *nbytes, packed);
}

sdx_status sdx_attend_plan(Prepare *p, Attend *s)
{
    size_t nbytes;
    s->a.kern = p->kern;
    s->flush = p->flush_subnormals;
    if (!sdx_attn_plan(&s->a, sdx_dtype_size(s->dtype), &s->plan) || !sdx_attend_scratch(s, p->threads, &nbytes) ||
        nbytes > (size_t)INT64_MAX)
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "%lld queries and %lld keys do not fit the address space",
                                (long long)s->a.rows, (long long)s->a.keys);
    return sdx_scratch_add(p, (int64_t)nbytes, 1, &s->at);
}

static void append_range(void *arg, int64_t from, int64_t to, int worker)
{
    const KvAppend *k = arg;
    size_t row = (size_t)k->size * k->esize;
    for (int64_t u = from; u < to; u++) {
        int64_t b = u / k->heads, h = u % k->heads;
        int64_t past = k->pasts ? k->pasts[b] : k->past, fresh = k->freshs ? k->freshs[b] : k->fresh;
        char *dst = (char *)k->dst + (size_t)(u * k->capacity) * row;
        if (k->dst != k->before && k->buffer) {
            memcpy(dst, (const char *)k->before + (size_t)(u * k->capacity) * row, (size_t)k->capacity * row);
        } else if (k->dst != k->before) {
            if (past && k->before)
                memcpy(dst, (const char *)k->before + (size_t)(u * k->before_rows) * row, (size_t)past * row);
            memset(dst + (size_t)(past + fresh) * row, 0, (size_t)(k->capacity - past - fresh) * row);
        }
        dst += (size_t)past * row;
        const char *src = (const char *)k->m.p + (size_t)(b * k->m.batch + h * k->m.head) * k->esize;
        const float *bias = k->bias ? k->bias + h * k->size : NULL;
        for (int64_t i = 0; i < fresh; i++, dst += row) {
            const char *x = src + (size_t)(i * k->m.row) * k->esize;
            if (!bias)
                memcpy(dst, x, row);
            else
                for (int64_t d = 0; d < k->size; d++)
                    ((float *)(void *)dst)[d] = ((const float *)(const void *)x)[d] + bias[d];
        }
    }
}

void sdx_kv_append(const Run *r, const KvAppend *k)
{
    int64_t units = k->batches * k->heads, each = k->capacity * k->size;
    if (each) sdx_run_range(r, units, grain_for(each), append_range, (void *)k);
}

typedef struct AttendJob {
    const Attend *s;
    const Attn *a;
    char *scratch;
    float *packed;
} AttendJob;

static void pack_range(void *arg, int64_t from, int64_t to, int worker)
{
    const AttendJob *j = arg;
    for (int64_t i = from; i < to; i++) sdx_attn_pack(j->a, &j->s->plan, i, j->packed);
}

static void attend_range(void *arg, int64_t from, int64_t to, int worker)
{
    const AttendJob *j = arg;
    const AttnPlan *p = &j->s->plan;
    void *scratch = j->scratch + (size_t)worker * p->scratch;
    FpEnv caller = sdx_fpenv_save();
    if (j->s->flush) sdx_fpenv_flush(true);
    for (int64_t u = from; u < to; u++) {
        if (j->s->dtype == DT_DOUBLE)
            sdx_attn_f64(j->a, p, u, scratch);
        else
            sdx_attn_f32(j->a, p, u, scratch);
    }
    sdx_fpenv_restore(caller);
}

void sdx_attend_run(const Run *r, const Attend *s, const Attn *a)
{
    Attn own = *a;
    AttendJob j = { .s = s, .a = &own, .scratch = s->scratch ? s->scratch : (char *)r->scratch + s->at };
    double work = (double)s->plan.block * (double)(a->keys + 1) * (double)(a->size + a->v_size + 8);
    if (s->plan.packed) {
        int threads = sdx_pool_threads(r->pool);
        j.packed = (float *)(void *)(j.scratch + (size_t)(threads > 0 ? threads : 1) * s->plan.scratch);
        sdx_run_range(r, 2 * a->batches * a->kv_heads, grain_for(a->keys * (a->size + a->v_size) / 2), pack_range, &j);
        own.packed = j.packed;
    }
    sdx_run_range(r, s->plan.units, work >= 65536 ? 1 : (int64_t)(65536 / (work + 1)) + 1, attend_range, &j);
}
