/* Tensors of strings. One that a caller fills keeps its list and its texts together: new texts are added to the block,
 * and old ones go with it. */
#include <string.h>

#include "ort/entries.h"

static OrtStatus *strings(const OrtValue *v, const Str **out, size_t *n)
{
    if (!v) return sdx_ort_null("value");
    if (v->d.kind != DATUM_TENSOR || v->d.t.dtype != DT_STRING)
        return sdx_ort_fail(ORT_FAIL, "Tensor type mismatch. the value is no tensor of strings");
    *out = v->d.t.data;
    *n = (size_t)sdx_tensor_count(&v->d.t);
    return NULL;
}

static OrtStatus *element(const OrtValue *v, size_t i, const Str **out)
{
    size_t n;
    OrtStatus *st = strings(v, out, &n);
    if (st) return st;
    if (i >= n) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "element index %zu is out of bounds: there are %zu", i, n);
    *out += i;
    return NULL;
}

typedef struct StringBlock {
    Arena texts;
    Str list[];
} StringBlock;

static void block_drop(void *user, void *data)
{
    StringBlock *b = user;
    (void)data;
    sdx_arena_fini(&b->texts);
    sdx_free(&sdx_alloc_default, b);
}

/* In the value's own block: a text of n bytes, copied from s unless s is NULL. */
static bool block_put(StringBlock *b, size_t i, const char *s, size_t n)
{
    char *p = sdx_arena_alloc(&b->texts, n + 1, 1);
    if (!p) return false;
    if (s) memcpy(p, s, n);
    b->list[i] = (Str){ p, n };
    return true;
}

/* The block that v alone holds: its own, or a new one with (keep) a copy of its texts. */
static StringBlock *block_of(OrtValue *v, size_t n, bool keep)
{
    Datum *d = &v->d;
    size_t size;
    if (keep && d->buf && d->buf->drop == block_drop && __atomic_load_n(&d->buf->refs, __ATOMIC_ACQUIRE) == 1)
        return d->buf->user;
    if (!sdx_tensor_nbytes(&d->t, &size) || size > SIZE_MAX - sizeof(StringBlock)) return NULL;
    StringBlock *b = sdx_alloc_zero(&sdx_alloc_default, sizeof *b + size);
    if (!b) return NULL;
    sdx_arena_init(&b->texts, &sdx_alloc_default, 0);
    Buf *buf = sdx_buf_wrap(&sdx_alloc_default, b->list, size, block_drop, b);
    bool ok = buf;
    const Str *old = d->t.data;
    for (size_t i = 0; keep && ok && i < n; i++) ok = !old[i].n || block_put(b, i, old[i].p, old[i].n);
    if (!ok) {
        if (buf)
            sdx_buf_release(buf);
        else
            block_drop(b, NULL);
        return NULL;
    }
    sdx_buf_release(d->buf);
    d->buf = buf;
    d->t.data = b->list;
    return b;
}

OrtStatus *sdx_ort_FillStringTensor(OrtValue *v, const char *const *s, size_t len)
{
    const Str *old;
    size_t n;
    OrtStatus *st = strings(v, &old, &n);
    if (st) return st;
    if (len != n) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "input array doesn't equal tensor size: %zu, %zu", len, n);
    if (!n) return NULL;
    if (!s) return sdx_ort_null("the array of strings");
    for (size_t i = 0; i < n; i++)
        if (!s[i]) return sdx_ort_null("a string");
    StringBlock *b = block_of(v, n, false);
    bool ok = b;
    for (size_t i = 0; ok && i < n; i++) ok = block_put(b, i, s[i], strlen(s[i]));
    return ok ? NULL : sdx_ort_no_memory();
}

OrtStatus *sdx_ort_FillStringTensorElement(OrtValue *v, const char *s, size_t i)
{
    const Str *old;
    size_t n;
    OrtStatus *st = element(v, i, &old);
    if (!st && !s) st = sdx_ort_null("the string");
    if (!st) st = strings(v, &old, &n);
    if (st) return st;
    StringBlock *b = block_of(v, n, true);
    return b && block_put(b, i, s, strlen(s)) ? NULL : sdx_ort_no_memory();
}

/* Room for a text of nbytes, which the caller writes; not initialised. */
OrtStatus *sdx_ort_GetResizedStringTensorElementBuffer(OrtValue *v, size_t i, size_t nbytes, char **out)
{
    const Str *old;
    size_t n;
    if (!out) return sdx_ort_null("buffer");
    OrtStatus *st = element(v, i, &old);
    if (!st) st = strings(v, &old, &n);
    if (st) return st;
    StringBlock *b = nbytes < SIZE_MAX ? block_of(v, n, true) : NULL;
    if (!b || !block_put(b, i, NULL, nbytes)) return sdx_ort_no_memory();
    *out = (char *)b->list[i].p;
    return NULL;
}

OrtStatus *sdx_ort_GetStringTensorDataLength(const OrtValue *v, size_t *out)
{
    const Str *s;
    size_t n, total = 0;
    OrtStatus *st = strings(v, &s, &n);
    if (st) return st;
    if (!out) return sdx_ort_null("len");
    for (size_t i = 0; i < n; i++) total += s[i].n;
    *out = total;
    return NULL;
}

OrtStatus *sdx_ort_GetStringTensorContent(const OrtValue *v, void *bytes, size_t nbytes, size_t *offsets,
                                          size_t n_offsets)
{
    const Str *s;
    size_t n, total, at = 0;
    OrtStatus *st = strings(v, &s, &n);
    if (!st) st = sdx_ort_GetStringTensorDataLength(v, &total);
    if (st) return st;
    if (n_offsets != n)
        return sdx_ort_fail(ORT_FAIL, "offsets buffer is not equal to tensor size: %zu, %zu", n_offsets, n);
    if ((total && !bytes) || (n && !offsets)) return sdx_ort_null("the buffer or offsets");
    if (nbytes < total)
        return sdx_ort_fail(ORT_FAIL, "output buffer is too small. Use GetStringTensorDataLength: %zu needed, got %zu",
                            total, nbytes);
    for (size_t i = 0; i < n; i++) {
        if (s[i].n) memcpy((char *)bytes + at, s[i].p, s[i].n);
        offsets[i] = at;
        at += s[i].n;
    }
    return NULL;
}

OrtStatus *sdx_ort_GetStringTensorElementLength(const OrtValue *v, size_t i, size_t *out)
{
    const Str *s;
    OrtStatus *st = element(v, i, &s);
    if (!st && !out) st = sdx_ort_null("out");
    if (!st) *out = s->n;
    return st;
}

OrtStatus *sdx_ort_GetStringTensorElement(const OrtValue *v, size_t nbytes, size_t i, void *out)
{
    const Str *s;
    OrtStatus *st = element(v, i, &s);
    if (st) return st;
    if (s->n && !out) return sdx_ort_null("the buffer");
    if (nbytes < s->n) return sdx_ort_fail(ORT_FAIL, "buffer size is too small for string element: %zu needed", s->n);
    if (s->n) memcpy(out, s->p, s->n);
    return NULL;
}
