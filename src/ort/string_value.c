/* Tensors of strings. The texts of one tensor lie in one block, so changing one of them copies all. */
#include <string.h>

#include "ort/entries.h"

static OrtStatus *strings(const OrtValue *v, const Str **out, size_t *n)
{
    if (!v) return sdx_ort_null("value");
    if (v->d.kind != DATUM_TENSOR || v->d.t.dtype != DT_STRING)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the value is no tensor of strings");
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

/* list: as many as the tensor has. */
static OrtStatus *replace(OrtValue *v, Str *list)
{
    Tensor t = v->d.t;
    Datum fresh;
    Err err;
    sdx_err_clear(&err);
    t.data = list;
    sdx_status st = sdx_datum_copy(&fresh, &t, &sdx_alloc_default, &err);
    if (st != SDX_OK) return sdx_ort_status(st, &err);
    sdx_datum_clear(&v->d);
    v->d = fresh;
    return NULL;
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
    Str *list = sdx_alloc(&sdx_alloc_default, n * sizeof *list);
    if (!list) return sdx_ort_no_memory();
    for (size_t i = 0; i < n && !st; i++) {
        if (s[i])
            list[i] = (Str){ s[i], strlen(s[i]) };
        else
            st = sdx_ort_null("a string");
    }
    if (!st) st = replace(v, list);
    sdx_free(&sdx_alloc_default, list);
    return st;
}

OrtStatus *sdx_ort_FillStringTensorElement(OrtValue *v, const char *s, size_t i)
{
    const Str *old;
    size_t n;
    OrtStatus *st = element(v, i, &old);
    if (!st && !s) st = sdx_ort_null("the string");
    if (!st) st = strings(v, &old, &n);
    if (st) return st;
    Str *list = sdx_alloc(&sdx_alloc_default, n * sizeof *list);
    if (!list) return sdx_ort_no_memory();
    memcpy(list, old, n * sizeof *list);
    list[i] = (Str){ s, strlen(s) };
    st = replace(v, list);
    sdx_free(&sdx_alloc_default, list);
    return st;
}

OrtStatus *sdx_ort_GetStringTensorDataLength(const OrtValue *v, size_t *out)
{
    const Str *s;
    size_t n, total = 0;
    OrtStatus *st = strings(v, &s, &n);
    if (st) return st;
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
    if (nbytes < total) return sdx_ort_fail(ORT_FAIL, "output buffer is too small: %zu needed, got %zu", total, nbytes);
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
    if (!st) *out = s->n;
    return st;
}

OrtStatus *sdx_ort_GetStringTensorElement(const OrtValue *v, size_t nbytes, size_t i, void *out)
{
    const Str *s;
    OrtStatus *st = element(v, i, &s);
    if (st) return st;
    if (nbytes < s->n) return sdx_ort_fail(ORT_FAIL, "buffer size is too small for string element: %zu needed", s->n);
    if (s->n) memcpy(out, s->p, s->n);
    return NULL;
}
