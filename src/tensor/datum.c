#include <string.h>

#include "base/size.h"
#include "tensor/tensor.h"

static int refs_drop(int *refs) { return __atomic_sub_fetch(refs, 1, __ATOMIC_ACQ_REL); }
static void refs_add(int *refs) { __atomic_fetch_add(refs, 1, __ATOMIC_RELAXED); }

static void seq_release(Seq *s)
{
    if (!s || refs_drop(&s->refs) != 0) return;
    for (int64_t i = 0; i < s->n; i++) sdx_datum_clear(&s->items[i]);
    sdx_free(s->alloc, s->items);
    sdx_free(s->alloc, s);
}

static void map_release(Map *m)
{
    if (!m || refs_drop(&m->refs) != 0) return;
    sdx_datum_clear(&m->keys);
    sdx_datum_clear(&m->values);
    sdx_free(m->alloc, m);
}

static void sparse_release(Sparse *s)
{
    if (!s || refs_drop(&s->refs) != 0) return;
    sdx_datum_clear(&s->values);
    sdx_datum_clear(&s->indices);
    sdx_free(s->alloc, s);
}

void sdx_datum_clear(Datum *d)
{
    sdx_buf_release(d->buf);
    if (d->kind == DATUM_SEQUENCE) seq_release(d->seq);
    if (d->kind == DATUM_MAP) map_release(d->map);
    if (d->kind == DATUM_SPARSE) sparse_release(d->sparse);
    *d = (Datum){ .kind = DATUM_NONE };
}

sdx_status sdx_datum_tensor(Datum *d, const Alloc *a, DType dtype, int rank, const int64_t *dims, Err *err)
{
    *d = (Datum){ .kind = DATUM_NONE };
    Tensor t = { .dtype = dtype, .rank = rank };
    size_t nbytes;
    if (rank < 0 || rank > SDX_MAX_RANK)
        return sdx_fail(err, SDX_UNSUPPORTED, "rank %d is outside [0, %d]", rank, SDX_MAX_RANK);
    if (rank) memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
    if (!sdx_tensor_nbytes(&t, &nbytes)) {
        char text[256];
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "shape %s of %s: a size is negative or the product too large",
                        sdx_dims_text(text, sizeof text, t.dims, rank), sdx_dtype_name(dtype));
    }
    Buf *b = sdx_buf_create(a, nbytes);
    if (!b) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory for %zu bytes", nbytes);
    t.data = b->data;
    if (dtype == DT_STRING) memset(t.data, 0, nbytes);
    *d = (Datum){ .kind = DATUM_TENSOR, .t = t, .buf = b };
    return SDX_OK;
}

/* One block: the Str array, then all bytes. */
static sdx_status copy_strings(Datum *dst, const Tensor *src, int64_t n, const Alloc *a, Err *err)
{
    const Str *from = src->data;
    size_t total = 0, head;
    bool ok = sdx_mul_size(&head, (size_t)n, sizeof(Str));
    for (int64_t i = 0; ok && i < n; i++) ok = sdx_add_size(&total, total, from[i].n);
    Buf *b = ok && sdx_add_size(&total, total, head) ? sdx_buf_create(a, total) : NULL;
    TRY_MEM(b, err);
    Str *to = b->data;
    char *bytes = (char *)b->data + head;
    for (int64_t i = 0; i < n; i++) {
        if (from[i].n) memcpy(bytes, from[i].p, from[i].n);
        to[i] = (Str){ bytes, from[i].n };
        bytes += from[i].n;
    }
    *dst = (Datum){ .kind = DATUM_TENSOR, .t = *src, .buf = b };
    dst->t.data = b->data;
    return SDX_OK;
}

sdx_status sdx_datum_copy(Datum *dst, const Tensor *src, const Alloc *a, Err *err)
{
    if (src->dtype == DT_STRING) return copy_strings(dst, src, sdx_tensor_count(src), a, err);
    TRY(sdx_datum_tensor(dst, a, src->dtype, src->rank, src->dims, err));
    size_t nbytes;
    if (sdx_tensor_nbytes(src, &nbytes) && nbytes) memcpy(dst->t.data, src->data, nbytes);
    return SDX_OK;
}

sdx_status sdx_datum_share(Datum *dst, const Datum *src, const Alloc *a, Err *err)
{
    switch (src->kind) {
    case DATUM_NONE: break;
    case DATUM_TENSOR:
        if (!src->buf) return sdx_datum_copy(dst, &src->t, a, err);
        sdx_buf_retain(src->buf);
        break;
    case DATUM_SEQUENCE: refs_add(&src->seq->refs); break;
    case DATUM_MAP: refs_add(&src->map->refs); break;
    case DATUM_SPARSE: refs_add(&src->sparse->refs); break;
    }
    *dst = *src;
    return SDX_OK;
}

Seq *sdx_seq_new(const Alloc *a, DType elem)
{
    Seq *s = sdx_alloc_zero(a, sizeof *s);
    if (!s) return NULL;
    s->refs = 1;
    s->alloc = a;
    s->elem = elem;
    return s;
}

static sdx_status seq_reserve(Seq *s, int64_t n, Err *err)
{
    if (n <= s->cap) return SDX_OK;
    int64_t cap = s->cap ? s->cap * 2 : 4;
    if (cap < n) cap = n;
    size_t nbytes;
    Datum *items = sdx_mul_size(&nbytes, (size_t)cap, sizeof *items) ? sdx_alloc(s->alloc, nbytes) : NULL;
    TRY_MEM(items, err);
    if (s->n) memcpy(items, s->items, (size_t)s->n * sizeof *items);
    sdx_free(s->alloc, s->items);
    s->items = items;
    s->cap = cap;
    return SDX_OK;
}

sdx_status sdx_seq_insert(Seq *s, int64_t at, const Datum *item, Err *err)
{
    if (at < 0 || at > s->n)
        return sdx_fail(err, SDX_RUN_FAILED, "position %lld is outside [0, %lld]", (long long)at, (long long)s->n);
    TRY(seq_reserve(s, s->n + 1, err));
    Datum shared;
    TRY(sdx_datum_share(&shared, item, s->alloc, err));
    memmove(&s->items[at + 1], &s->items[at], (size_t)(s->n - at) * sizeof shared);
    s->items[at] = shared;
    s->n++;
    return SDX_OK;
}

sdx_status sdx_seq_own(Datum *d, Err *err)
{
    Seq *old = d->seq;
    if (__atomic_load_n(&old->refs, __ATOMIC_ACQUIRE) == 1) return SDX_OK;
    Datum copy = { .kind = DATUM_SEQUENCE, .seq = sdx_seq_new(old->alloc, old->elem) };
    TRY_MEM(copy.seq, err);
    sdx_status st = seq_reserve(copy.seq, old->n, err);
    for (int64_t i = 0; st == SDX_OK && i < old->n; i++) st = sdx_seq_insert(copy.seq, i, &old->items[i], err);
    if (st != SDX_OK) {
        sdx_datum_clear(&copy);
        return st;
    }
    sdx_datum_clear(d);
    *d = copy;
    return SDX_OK;
}

Map *sdx_map_new(const Alloc *a)
{
    Map *m = sdx_alloc_zero(a, sizeof *m);
    if (!m) return NULL;
    m->refs = 1;
    m->alloc = a;
    return m;
}

Sparse *sdx_sparse_new(const Alloc *a)
{
    Sparse *s = sdx_alloc_zero(a, sizeof *s);
    if (!s) return NULL;
    s->refs = 1;
    s->alloc = a;
    return s;
}
