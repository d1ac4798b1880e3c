#include "ops/pack.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "base/size.h"
#include "base/source.h"

/* A packed copy. In the table, and on the list of each session that holds it. */
typedef struct Pack {
    struct Pack *next; /* in its bucket */
    const char *key;
    unsigned variant; /* of the kernels and their treatment of subnormals */
    uint32_t hash;
    Tensor src; /* type and shape */
    size_t src_nbytes, nbytes;
    struct Hold *holds;
    Alloc alloc;
    void *data;
} Pack;

/* One session's use of one entry. The content stays as it is while the hold lasts. */
typedef struct Hold {
    Pack *pack;
    const void *src; /* the holder's copy of the content */
    bool is_mapped;  /* src lies in a file mapping */
    struct Hold *next_of_pack, *next_of_cache;
} Hold;

struct PackCache {
    const Alloc *alloc;
    Buf *const *owners; /* of the content: those that are file mappings give back pages once read */
    int n_owners;
    Hold *holds; /* under the table's lock */
    size_t nbytes;
};

enum { BUCKETS = 1024 };
static struct {
    Lock lock;
    Pack *buckets[BUCKETS];
} table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void table_init(void) { sdx_lock_init(&table.lock, NULL); }

typedef struct Wanted {
    const char *key;
    unsigned variant;
    uint32_t hash;
    const Tensor *src;
    size_t src_nbytes, nbytes;
    bool is_mapped;
    const Alloc *alloc; /* a copy lives as long as its last user, so sessions share within one allocator only */
} Wanted;

/* Of key, type and shape, and of the content a few samples: enough to keep unlike weights of one shape apart. */
static uint32_t pack_hash(const Wanted *w)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (const char *s = w->key; *s; s++) h = (h ^ (uint8_t)*s) * 16777619u;
    h = (h ^ (uint32_t)w->src->dtype) * 16777619u;
    for (int i = 0; i < w->src->rank; i++) h = (h ^ (uint32_t)w->src->dims[i]) * 16777619u;
    const uint8_t *bytes = w->src->data;
    size_t step = w->src_nbytes / 16;
    for (size_t i = 0; i < 16 && step; i++) h = (h ^ bytes[step * i + i % step]) * 16777619u;
    return h;
}

static bool pack_matches(const Pack *p, const Wanted *w)
{
    return p->hash == w->hash && p->nbytes == w->nbytes && p->variant == w->variant && p->src.dtype == w->src->dtype &&
           !strcmp(p->key, w->key) && p->alloc.alloc == w->alloc->alloc && p->alloc.user == w->alloc->user &&
           sdx_dims_equal(p->src.dims, p->src.rank, w->src->dims, w->src->rank);
}

/* Reading a mapping again for a comparison makes it resident again: undone. */
static bool pack_same_content(const Pack *p, const Wanted *w)
{
    bool same = memcmp(p->holds->src, w->src->data, p->src_nbytes) == 0;
    if (p->holds->is_mapped) sdx_source_discard(p->holds->src, p->src_nbytes);
    return same;
}

/* With the lock held: c holds p from now on. */
static void hold_add(PackCache *c, Pack *p, const Wanted *w, Hold *h)
{
    *h = (Hold){ p, w->src->data, w->is_mapped, p->holds, c->holds };
    p->holds = c->holds = h;
    c->nbytes += p->nbytes;
}

/* With the lock held. The entry of this content, with a hold of c on it (the spare one when it is new); NULL: none. */
static Pack *table_find(PackCache *c, const Wanted *w, Hold **spare)
{
    for (Hold *h = c->holds; h; h = h->next_of_cache)
        if (h->src == w->src->data && pack_matches(h->pack, w)) return h->pack;
    for (Pack *p = table.buckets[w->hash % BUCKETS]; p; p = p->next)
        if (pack_matches(p, w) && pack_same_content(p, w)) {
            hold_add(c, p, w, *spare);
            *spare = NULL;
            return p;
        }
    return NULL;
}

/* The new entry with its key in one block; data filled by the caller. */
static Pack *pack_create(const Wanted *w)
{
    size_t key_size = strlen(w->key) + 1, head = sdx_round_up(sizeof(Pack) + key_size, SDX_ALIGN), total;
    if (!sdx_add_size(&total, head, w->nbytes)) return NULL;
    Pack *p = sdx_alloc(w->alloc, total);
    if (!p) return NULL;
    *p = (Pack){ .key = (char *)(p + 1),
                 .variant = w->variant,
                 .hash = w->hash,
                 .src = *w->src,
                 .src_nbytes = w->src_nbytes,
                 .nbytes = w->nbytes,
                 .alloc = *w->alloc,
                 .data = (char *)p + head };
    memcpy(p + 1, w->key, key_size);
    return p;
}

static bool packs_is_mapped(const PackCache *c, const void *data, size_t nbytes)
{
    for (int i = 0; i < c->n_owners; i++) {
        const Buf *b = c->owners[i];
        if (sdx_source_is_map(b) && (uintptr_t)data >= (uintptr_t)b->data &&
            (uintptr_t)data - (uintptr_t)b->data + nbytes <= b->nbytes)
            return true;
    }
    return false;
}

typedef void PackFn(void *user, void *dst, const Tensor *src);

/* Kernels read whole elements: what the file left misaligned is packed from an aligned copy, gone again afterwards. */
static sdx_status pack_aligned(PackFn *pack, void *user, void *dst, const Wanted *w, Err *err)
{
    if (w->is_mapped) sdx_source_expect(w->src->data, w->src_nbytes);
    if (sdx_tensor_is_aligned(w->src)) {
        pack(user, dst, w->src);
        return SDX_OK;
    }
    Tensor copy = *w->src;
    copy.data = sdx_alloc(w->alloc, w->src_nbytes);
    if (!copy.data) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory for %zu bytes to pack from", w->src_nbytes);
    memcpy(copy.data, w->src->data, w->src_nbytes);
    if (w->is_mapped) sdx_source_discard(w->src->data, w->src_nbytes);
    pack(user, dst, &copy);
    sdx_free(w->alloc, copy.data);
    return SDX_OK;
}

static sdx_status packs_get(PackCache *c, const Wanted *w, PackFn *pack, void *user, const void **out, Err *err)
{
    Hold *spare = c->alloc->alloc(c->alloc->user, sizeof *spare, _Alignof(max_align_t));
    TRY_MEM(spare, err);
    sdx_lock(&table.lock);
    Pack *found = table_find(c, w, &spare);
    sdx_unlock(&table.lock);
    if (!found) {
        /* Packed outside the lock. Should another session have been faster, its copy is taken and ours dropped. */
        Pack *made = pack_create(w);
        if (!made) {
            sdx_free(c->alloc, spare);
            return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory for %zu bytes of packed weights", w->nbytes);
        }
        sdx_status st = pack_aligned(pack, user, made->data, w, err);
        if (st != SDX_OK) {
            sdx_free(w->alloc, made);
            sdx_free(c->alloc, spare);
            return st;
        }
        sdx_lock(&table.lock);
        found = table_find(c, w, &spare);
        if (!found) {
            hold_add(c, made, w, spare);
            made->next = table.buckets[w->hash % BUCKETS];
            table.buckets[w->hash % BUCKETS] = made;
            found = made;
            made = NULL;
            spare = NULL;
        }
        sdx_unlock(&table.lock);
        if (made) sdx_free(w->alloc, made);
    }
    if (w->is_mapped) sdx_source_discard(w->src->data, w->src_nbytes);
    sdx_free(c->alloc, spare);
    *out = found->data;
    return SDX_OK;
}

/* Does the content live as long as the session? What a plan computed for itself does not. */
static bool is_of_model(const Prepare *p, int i)
{
    const Value *v = p->node->in[i];
    return v && sdx_value_is_const(v) && v->constant->data == p->in[i]->t.data;
}

sdx_status sdx_prepare_pack(Prepare *p, int i, const char *key, size_t nbytes,
                            void (*pack)(void *user, void *dst, const Tensor *src), void *user, const void **out)
{
    const Datum *d = i < p->n_in ? p->in[i] : NULL;
    Wanted w = { .key = key, .variant = p->kern->level * 2 + p->flush_subnormals, .nbytes = nbytes };
    if (!d || d->kind != DATUM_TENSOR || !p->in_const[i] || !sdx_tensor_nbytes(&d->t, &w.src_nbytes))
        return sdx_prepare_fail(p, SDX_INTERNAL, "input %d is to be packed but is no constant", i);
    w.src = &d->t;
    w.alloc = p->packs ? p->packs->alloc : p->arena->alloc;
    if (!p->packs || !is_of_model(p, i)) {
        void *dst = sdx_arena_alloc(p->arena, nbytes, SDX_ALIGN);
        TRY_MEM(dst, p->err);
        *out = dst;
        return pack_aligned(pack, user, dst, &w, p->err);
    }
    w.hash = pack_hash(&w);
    w.is_mapped = packs_is_mapped(p->packs, w.src->data, w.src_nbytes);
    return packs_get(p->packs, &w, pack, user, out, p->err);
}

sdx_status sdx_prepare_derive(Prepare *p, const char *key, size_t nbytes,
                              void (*make)(void *user, void *dst, const Tensor *src), void *user, const void **out)
{
    if (!p->packs) {
        void *dst = sdx_arena_alloc(p->arena, nbytes, SDX_ALIGN);
        TRY_MEM(dst, p->err);
        *out = dst;
        make(user, dst, NULL);
        return SDX_OK;
    }
    /* Nothing to compare: the node's arguments themselves tell the entry from others. */
    char own[160];
    snprintf(own, sizeof own, "%s of %p", key, p->node->args);
    Tensor none = { .dtype = DT_UINT8, .rank = 1, .data = p->node->args };
    Wanted w = { .key = own,
                 .variant = p->kern->level * 2 + p->flush_subnormals,
                 .nbytes = nbytes,
                 .src = &none,
                 .alloc = p->packs->alloc };
    w.hash = pack_hash(&w);
    return packs_get(p->packs, &w, make, user, out, p->err);
}

sdx_status sdx_packs_create(const Alloc *a, Buf *const *owners, int n_owners, PackCache **out, Err *err)
{
    pthread_once(&table_once, table_init);
    PackCache *c = sdx_alloc_zero(a, sizeof *c);
    TRY_MEM(c, err);
    *c = (PackCache){ .alloc = a, .owners = owners, .n_owners = n_owners };
    *out = c;
    return SDX_OK;
}

/* With the lock held: takes h off its entry; the entry when nobody else holds it. */
static Pack *hold_drop(Hold *h)
{
    Pack *p = h->pack;
    for (Hold **at = &p->holds; *at; at = &(*at)->next_of_pack)
        if (*at == h) {
            *at = h->next_of_pack;
            break;
        }
    if (p->holds) return NULL;
    for (Pack **at = &table.buckets[p->hash % BUCKETS]; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    return p;
}

void sdx_packs_destroy(PackCache *c)
{
    if (!c) return;
    for (Hold *h = c->holds, *next; h; h = next) {
        next = h->next_of_cache;
        sdx_lock(&table.lock);
        Pack *last = hold_drop(h);
        sdx_unlock(&table.lock);
        if (last) {
            Alloc a = last->alloc;
            sdx_free(&a, last);
        }
        sdx_free(c->alloc, h);
    }
    sdx_free(c->alloc, c);
}

size_t sdx_packs_nbytes(const PackCache *c)
{
    sdx_lock(&table.lock);
    size_t n = c->nbytes;
    sdx_unlock(&table.lock);
    return n;
}
