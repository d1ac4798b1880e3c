/* Lists of texts by key. Callers hold pointers into them, so every text is an allocation of its own. */
#include <string.h>

#include "ort/entries.h"
#include "ort/key_values.h"

OrtKeyValuePairs *sdx_ort_kvps_new(void) { return sdx_alloc_zero(&sdx_alloc_default, sizeof(OrtKeyValuePairs)); }

static char *text_copy(const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = sdx_alloc(&sdx_alloc_default, n);
    return p ? memcpy(p, s, n) : NULL;
}

static bool kvps_grow(OrtKeyValuePairs *kv)
{
    size_t cap = kv->cap ? kv->cap * 2 : 8;
    if (kv->n < kv->cap) return true;
    char **keys = sdx_alloc(&sdx_alloc_default, 2 * cap * sizeof *keys), **values = keys + cap;
    if (!keys) return false;
    for (size_t i = 0; i < kv->n; i++) keys[i] = kv->keys[i], values[i] = kv->values[i];
    sdx_free(&sdx_alloc_default, kv->keys);
    kv->keys = keys;
    kv->values = values;
    kv->cap = cap;
    return true;
}

static size_t kvps_find(const OrtKeyValuePairs *kv, const char *key)
{
    size_t i = 0;
    while (i < kv->n && strcmp(kv->keys[i], key) != 0) i++;
    return i;
}

bool sdx_ort_kvps_add(OrtKeyValuePairs *kv, const char *key, const char *value)
{
    char *copy = text_copy(value);
    size_t i = kvps_find(kv, key);
    if (!copy) return false;
    if (i < kv->n) {
        sdx_free(&sdx_alloc_default, kv->values[i]);
        kv->values[i] = copy;
        return true;
    }
    char *name = text_copy(key);
    if (!name || !kvps_grow(kv)) {
        sdx_free(&sdx_alloc_default, name);
        sdx_free(&sdx_alloc_default, copy);
        return false;
    }
    kv->keys[kv->n] = name;
    kv->values[kv->n++] = copy;
    return true;
}

void sdx_ort_CreateKeyValuePairs(OrtKeyValuePairs **out)
{
    if (out) *out = sdx_ort_kvps_new();
}

void sdx_ort_AddKeyValuePair(OrtKeyValuePairs *kv, const char *key, const char *value)
{
    if (kv && key && *key && value) sdx_ort_kvps_add(kv, key, value);
}

const char *sdx_ort_GetKeyValue(const OrtKeyValuePairs *kv, const char *key)
{
    if (!kv || !key) return NULL;
    size_t i = kvps_find(kv, key);
    return i < kv->n ? kv->values[i] : NULL;
}

void sdx_ort_GetKeyValuePairs(const OrtKeyValuePairs *kv, const char *const **keys, const char *const **values,
                              size_t *n)
{
    if (!keys || !values || !n) return;
    *keys = kv ? (const char *const *)kv->keys : NULL;
    *values = kv ? (const char *const *)kv->values : NULL;
    *n = kv ? kv->n : 0;
}

void sdx_ort_RemoveKeyValuePair(OrtKeyValuePairs *kv, const char *key)
{
    if (!kv || !key) return;
    size_t i = kvps_find(kv, key);
    if (i == kv->n) return;
    sdx_free(&sdx_alloc_default, kv->keys[i]);
    sdx_free(&sdx_alloc_default, kv->values[i]);
    for (kv->n--; i < kv->n; i++) kv->keys[i] = kv->keys[i + 1], kv->values[i] = kv->values[i + 1];
}

void sdx_ort_ReleaseKeyValuePairs(OrtKeyValuePairs *kv)
{
    if (!kv) return;
    for (size_t i = 0; i < kv->n; i++) {
        sdx_free(&sdx_alloc_default, kv->keys[i]);
        sdx_free(&sdx_alloc_default, kv->values[i]);
    }
    sdx_free(&sdx_alloc_default, kv->keys);
    sdx_free(&sdx_alloc_default, kv);
}
