#include "ops/elementwise.h"

#include <stdlib.h>
#include <string.h>

#include "ops/cast.h"

enum {
    STRIP = 256,      /* elements a strip has at most when it is cast or gathered */
    NARROW_INNER = 16 /* innermost dimensions below this are gathered into longer strips */
};

typedef struct EwIn {
    DType stored, compute;
    bool linear; /* has every element of the output, in order */
    bool single; /* has one element */
    size_t size; /* of a stored element */
    int64_t stride[SDX_MAX_RANK];
} EwIn;

typedef struct Ew {
    EwSpec spec;
    DType stored_out;
    int out_rank, rank; /* of the output, and after merging */
    int64_t out_dims[SDX_MAX_RANK], dims[SDX_MAX_RANK];
    int64_t count, inner;
    bool gathers, casts;
    size_t out_size;
    int n_in;
    EwIn *in;
} Ew;

DType sdx_ew_compute(DType d) { return sdx_dtype_class(d) == 'S' ? DT_FLOAT : d; }

int sdx_ew_ktype(DType d)
{
    switch (d) {
    case DT_FLOAT: return SDX_K_f32;
    case DT_DOUBLE: return SDX_K_f64;
    case DT_INT8: return SDX_K_i8;
    case DT_BOOL:
    case DT_UINT8: return SDX_K_u8;
    case DT_INT16: return SDX_K_i16;
    case DT_UINT16: return SDX_K_u16;
    case DT_INT32: return SDX_K_i32;
    case DT_UINT32: return SDX_K_u32;
    case DT_INT64: return SDX_K_i64;
    case DT_UINT64: return SDX_K_u64;
    default: return -1;
    }
}

void sdx_ew_map2(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    (*(Map2 *const *)args)(y, x[0], x[1], (size_t)n, single);
}

bool sdx_broadcast_dims(const Datum *const *in, int n_in, int *rank, int64_t *dims)
{
    int r = 0;
    for (int i = 0; i < n_in; i++)
        if (in[i]->t.rank > r) r = in[i]->t.rank;
    for (int k = 0; k < r; k++) {
        dims[k] = 1;
        for (int i = 0; i < n_in; i++) {
            int at = k - (r - in[i]->t.rank);
            int64_t d = at < 0 ? 1 : in[i]->t.dims[at];
            if (d == 1) continue;
            if (dims[k] != 1 && dims[k] != d) return false;
            dims[k] = d;
        }
    }
    *rank = r;
    return true;
}

/* Strides of the inputs over the output's dims, with sizes 1 dropped and neighbours merged where all inputs allow. */
static void ew_merge(Ew *e, const Datum *const *in)
{
    e->rank = 0;
    for (int i = 0; i < e->n_in; i++) {
        int64_t step = 1, full[SDX_MAX_RANK];
        const Tensor *t = &in[i]->t;
        for (int k = e->out_rank - 1; k >= 0; k--) {
            int at = k - (e->out_rank - t->rank);
            int64_t d = at < 0 ? 1 : t->dims[at];
            full[k] = d == 1 ? 0 : step;
            step *= d;
        }
        memcpy(e->in[i].stride, full, sizeof full);
    }
    for (int k = 0; k < e->out_rank; k++) {
        int64_t d = e->out_dims[k];
        if (d == 1) continue;
        int to = e->rank;
        bool merge = to > 0;
        for (int i = 0; merge && i < e->n_in; i++) merge = e->in[i].stride[to - 1] == e->in[i].stride[k] * d;
        if (merge)
            to--;
        else
            e->rank++;
        e->dims[to] = merge ? e->dims[to] * d : d;
        for (int i = 0; i < e->n_in; i++) e->in[i].stride[to] = e->in[i].stride[k];
    }
    if (e->rank == 0) {
        e->rank = 1;
        e->dims[0] = 1;
        for (int i = 0; i < e->n_in; i++) e->in[i].stride[0] = 0;
    }
    e->inner = e->dims[e->rank - 1];
}

sdx_status sdx_ew_prepare(Prepare *p, const EwSpec *spec)
{
    Ew *e = sdx_arena_new(p->arena, Ew);
    TRY_MEM(e, p->err);
    e->spec = *spec;
    e->n_in = spec->n_in ? spec->n_in : p->n_in;
    e->in = sdx_arena_array(p->arena, EwIn, e->n_in);
    TRY_MEM(e->in, p->err);
    if (!sdx_broadcast_dims(p->in, e->n_in, &e->out_rank, e->out_dims))
        return sdx_prepare_fail(p, SDX_INVALID_MODEL, "the inputs' shapes do not broadcast");
    if (!sdx_shape_count(e->out_dims, e->out_rank, &e->count))
        return sdx_prepare_fail(p, SDX_INVALID_MODEL, "the broadcast shape is too large");
    if (e->count) ew_merge(e, p->in);
    e->stored_out = p->out[0]->kind == DATUM_TENSOR ? p->out[0]->t.dtype : p->node->out[0]->type.elem;
    if (e->stored_out == DT_NONE) e->stored_out = spec->out;
    e->out_size = sdx_dtype_size(e->stored_out);
    e->casts = e->stored_out != spec->out;
    for (int i = 0; i < e->n_in; i++) {
        EwIn *in = &e->in[i];
        in->stored = p->in[i]->t.dtype;
        in->compute = spec->in[spec->fold ? 0 : i];
        in->size = sdx_dtype_size(in->stored);
        e->casts |= in->stored != in->compute;
        int64_t step = 1;
        in->linear = in->single = true;
        for (int k = e->rank - 1; e->count && k >= 0; k--) {
            in->linear &= in->stride[k] == step || e->dims[k] == 1;
            in->single &= in->stride[k] == 0;
            step *= e->dims[k];
        }
    }
    e->gathers = e->rank > 1 && e->inner < NARROW_INNER;
    p->state = e;
    return SDX_OK;
}

/* -- running ------------------------------------------------------------------------------------------------------- */

typedef struct EwJob {
    const Ew *e;
    const Datum *const *in;
    char *y;
    const void *args;
} EwJob;

/* One element is 16 bytes at most (Str, complex128). */
typedef union Block {
    char bytes[STRIP * 16];
    double align[2];
} Block;

/* n elements of `size` bytes, `stride` (0 or 1) apart. */
static void copy_line(char *y, const char *x, int64_t n, int64_t stride, size_t size)
{
    if (stride == 0 && size == 4) {
        uint32_t v;
        memcpy(&v, x, 4);
        for (int64_t i = 0; i < n; i++) memcpy(y + i * 4, &v, 4);
    } else if (size == 4) {
        for (int64_t i = 0; i < n; i++) memcpy(y + i * 4, x + i * 4, 4);
    } else {
        for (int64_t i = 0; i < n; i++) memcpy(y + (size_t)i * size, x + (size_t)(i * stride) * size, size);
    }
}

/* n elements of an input from merged coordinates idx on, one after the other, by lines of the innermost dimension. */
static void ew_gather(const Ew *e, const EwIn *in, const char *x, const int64_t *idx, int64_t n, char *dst)
{
    int64_t c[SDX_MAX_RANK], off = 0;
    int last = e->rank - 1;
    for (int k = 0; k < e->rank; k++) {
        c[k] = idx[k];
        off += idx[k] * in->stride[k];
    }
    while (n > 0) {
        int64_t run = e->inner - c[last] < n ? e->inner - c[last] : n;
        copy_line(dst, x + (size_t)off * in->size, run, in->stride[last], in->size);
        dst += (size_t)run * in->size;
        n -= run;
        c[last] += run;
        off += run * in->stride[last];
        for (int k = last; k > 0 && c[k] == e->dims[k]; k--) {
            off += in->stride[k - 1] - c[k] * in->stride[k];
            c[k] = 0;
            c[k - 1]++;
        }
    }
}

/* Where the kernel finds input i for the strip of n outputs at `at`; *single: one element stands for all. */
static const void *ew_load(const EwJob *j, int i, int64_t at, const int64_t *idx, int64_t n, Block *raw, Block *cast,
                           bool *single)
{
    const Ew *e = j->e;
    const EwIn *in = &e->in[i];
    const char *x = j->in[i]->t.data;
    int last = e->rank - 1;
    *single = in->single || (!e->gathers && in->stride[last] == 0);
    if (in->single) {
        /* x is the element */
    } else if (in->linear) {
        x += (size_t)at * in->size;
    } else if (e->gathers) {
        ew_gather(e, in, x, idx, n, raw->bytes);
        x = raw->bytes;
    } else {
        int64_t off = 0;
        for (int k = 0; k <= last; k++) off += idx[k] * in->stride[k];
        x += (size_t)off * in->size;
    }
    if (in->stored == in->compute) return x;
    sdx_cast_block(in->compute, cast->bytes, 0, in->stored, x, 0, *single ? 1 : n);
    return cast->bytes;
}

/* Block i, where there are blocks. */
static Block *nth(Block *blocks, int i) { return blocks ? &blocks[i] : NULL; }

static void ew_strip(const EwJob *j, int64_t at, const int64_t *idx, int64_t n, Block *raw, Block *cast)
{
    const Ew *e = j->e;
    const EwSpec *s = &e->spec;
    const void *x[EW_MAX_KERNEL_IN];
    unsigned single = 0;
    bool one;
    char *dst = j->y + (size_t)at * e->out_size;
    void *y = e->stored_out == s->out ? dst : cast[EW_MAX_KERNEL_IN].bytes;
    if (!s->fold) {
        for (int i = 0; i < e->n_in; i++) {
            x[i] = ew_load(j, i, at, idx, n, nth(raw, i), nth(cast, i), &one);
            single |= (unsigned)one << i;
        }
        s->fn(y, x, single, n, j->args);
    } else {
        x[0] = ew_load(j, 0, at, idx, n, nth(raw, 0), nth(cast, 0), &one);
        single = one;
        if (e->n_in == 1 && y != x[0]) memmove(y, x[0], (size_t)n * sdx_dtype_size(s->out));
        for (int i = 1; i < e->n_in; i++) {
            x[1] = ew_load(j, i, at, idx, n, nth(raw, 1), nth(cast, 1), &one);
            s->fn(y, x, single | (unsigned)one << 1, n, j->args);
            x[0] = y;
            single = 0;
        }
        if (s->finish) {
            x[0] = y;
            s->finish(y, x, 0, n, j->args);
        }
    }
    if (y != dst) sdx_cast_block(e->stored_out, dst, 0, s->out, y, 0, n);
}

static void ew_range(void *arg, int64_t from, int64_t to, int worker)
{
    const EwJob *j = arg;
    const Ew *e = j->e;
    int64_t idx[SDX_MAX_RANK], rest = from;
    int last = e->rank - 1;
    for (int k = last; k >= 0; k--) {
        idx[k] = rest % e->dims[k];
        rest /= e->dims[k];
    }
    if (!e->gathers && !e->casts) {
        for (int64_t at = from; at < to;) {
            int64_t n = e->inner - idx[last];
            if (n > to - at) n = to - at;
            ew_strip(j, at, idx, n, NULL, NULL);
            at += n;
            idx[last] += n;
            for (int k = last; k > 0 && idx[k] == e->dims[k]; k--) idx[k] = 0, idx[k - 1]++;
        }
        return;
    }
    Block raw[EW_MAX_KERNEL_IN], cast[EW_MAX_KERNEL_IN + 1];
    for (int64_t at = from; at < to;) {
        int64_t n = to - at < STRIP ? to - at : STRIP;
        if (!e->gathers && n > e->inner - idx[last]) n = e->inner - idx[last];
        ew_strip(j, at, idx, n, raw, cast);
        at += n;
        idx[last] += n;
        for (int k = last; k > 0 && idx[k] >= e->dims[k]; k--) {
            idx[k - 1] += idx[k] / e->dims[k];
            idx[k] %= e->dims[k];
        }
    }
}

sdx_status sdx_ew_run(Run *r) { return sdx_ew_run_args(r, ((const Ew *)r->state)->spec.args); }

sdx_status sdx_ew_run_args(Run *r, const void *args)
{
    const Ew *e = r->state;
    EwJob j = { .e = e, .in = r->in, .args = args };
    void *y;
    TRY(sdx_run_output(r, 0, e->stored_out, e->out_rank, e->out_dims, &y));
    j.y = y;
    if (e->count) sdx_run_range(r, e->count, SDX_EW_GRAIN, ew_range, &j);
    return SDX_OK;
}
