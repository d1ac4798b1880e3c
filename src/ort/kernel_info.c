/* What a kernel of a custom operator may know of its node when it is made. */
#include <stdlib.h>
#include <string.h>

#include "ort/entries_custom.h"

static OrtStatus *no_info(void) { return sdx_ort_null("kernel info or an out"); }

/* size: of out in bytes; becomes what the text needs. out NULL asks. */
static OrtStatus *copy_text(const char *text, size_t n, char *out, size_t *size)
{
    size_t held = *size;
    *size = n + 1;
    if (!out) return NULL;
    if (held < n + 1)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Result buffer is not large enough: %zu bytes, %zu needed", held,
                            n + 1);
    memcpy(out, text, n);
    out[n] = '\0';
    return NULL;
}

/* The same for elements. */
static OrtStatus *copy_list(const void *list, size_t n, size_t elem, void *out, size_t *size)
{
    size_t held = *size;
    *size = n;
    if (!out) return NULL;
    if (held < n)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Result buffer is not large enough: %zu elements, %zu needed", held,
                            n);
    if (n) memcpy(out, list, n * elem);
    return NULL;
}

static OrtStatus *find_attr(const OrtKernelInfo *k, const char *name, AttrType type, const Attr **out)
{
    *out = sdx_node_attr(k->node, name);
    if (!*out) return sdx_ort_fail(ORT_FAIL, "No attribute with name:'%s'is defined.", name);
    if ((*out)->type != type) return sdx_ort_fail(ORT_FAIL, "Attribute name and type don't match: '%s'", name);
    return NULL;
}

/* -- attributes ---------------------------------------------------------------------------------------------------- */

OrtStatus *sdx_ort_KernelInfoGetAttribute_float(const OrtKernelInfo *k, const char *name, float *out)
{
    const Attr *a;
    if (!k || !name || !out) return no_info();
    OrtStatus *st = find_attr(k, name, ATTR_FLOAT, &a);
    if (!st) *out = a->f;
    return st;
}

OrtStatus *sdx_ort_KernelInfoGetAttribute_int64(const OrtKernelInfo *k, const char *name, int64_t *out)
{
    const Attr *a;
    if (!k || !name || !out) return no_info();
    OrtStatus *st = find_attr(k, name, ATTR_INT, &a);
    if (!st) *out = a->i;
    return st;
}

OrtStatus *sdx_ort_KernelInfoGetAttribute_string(const OrtKernelInfo *k, const char *name, char *out, size_t *size)
{
    const Attr *a;
    if (!k || !name || !size) return no_info();
    OrtStatus *st = find_attr(k, name, ATTR_STRING, &a);
    return st ? st : copy_text(a->s.p, a->s.n, out, size);
}

OrtStatus *sdx_ort_KernelInfoGetAttributeArray_float(const OrtKernelInfo *k, const char *name, float *out, size_t *size)
{
    const Attr *a;
    if (!k || !name || !size) return no_info();
    OrtStatus *st = find_attr(k, name, ATTR_FLOATS, &a);
    return st ? st : copy_list(a->floats, (size_t)a->n, sizeof *out, out, size);
}

OrtStatus *sdx_ort_KernelInfoGetAttributeArray_int64(const OrtKernelInfo *k, const char *name, int64_t *out,
                                                     size_t *size)
{
    const Attr *a;
    if (!k || !name || !size) return no_info();
    OrtStatus *st = find_attr(k, name, ATTR_INTS, &a);
    return st ? st : copy_list(a->ints, (size_t)a->n, sizeof *out, out, size);
}

/* NUL-terminated texts, each an allocation of its own, as is the array. */
OrtStatus *sdx_ort_KernelInfoGetAttributeArray_string(const OrtKernelInfo *k, const char *name, OrtAllocator *al,
                                                      char ***out, size_t *size)
{
    const Attr *a;
    if (!k || !name || !al || !out || !size) return no_info();
    OrtStatus *st = find_attr(k, name, ATTR_STRINGS, &a);
    if (st) return st;
    *size = (size_t)a->n;
    *out = NULL;
    if (!a->n) return NULL;
    char **list = al->Alloc(al, (size_t)a->n * sizeof *list);
    if (!list) return sdx_ort_no_memory();
    for (int64_t i = 0; i < a->n; i++) {
        list[i] = al->Alloc(al, a->strings[i].n + 1);
        if (!list[i]) {
            while (i-- > 0) al->Free(al, list[i]);
            al->Free(al, list);
            return sdx_ort_no_memory();
        }
        if (a->strings[i].n) memcpy(list[i], a->strings[i].p, a->strings[i].n);
        list[i][a->strings[i].n] = '\0';
    }
    *out = list;
    return NULL;
}

OrtStatus *sdx_ort_KernelInfoGetAttribute_tensor(const OrtKernelInfo *k, const char *name, OrtAllocator *al,
                                                 OrtValue **out)
{
    const Attr *a;
    if (!k || !name || !al || !out) return no_info();
    OrtStatus *st = find_attr(k, name, ATTR_TENSOR, &a);
    return st ? st : sdx_ort_value_copy(a->t, al, out);
}

/* -- inputs and outputs -------------------------------------------------------------------------------------------- */

OrtStatus *sdx_ort_KernelInfo_GetInputCount(const OrtKernelInfo *k, size_t *out)
{
    return k && out ? *out = (size_t)k->node->n_in, NULL : no_info();
}

OrtStatus *sdx_ort_KernelInfo_GetOutputCount(const OrtKernelInfo *k, size_t *out)
{
    return k && out ? *out = (size_t)k->node->n_out, NULL : no_info();
}

static OrtStatus *pick(Value *const *list, int n, size_t i, const Value **out)
{
    if (i >= (size_t)n) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "index %zu is outside [0, %d)", i, n);
    *out = list[i];
    return NULL;
}

static OrtStatus *value_name(Value *const *list, int n, size_t i, char *out, size_t *size)
{
    const Value *v;
    OrtStatus *st = pick(list, n, i, &v);
    if (st) return st;
    const char *name = v ? v->name : "";
    return copy_text(name, strlen(name), out, size);
}

static OrtStatus *value_type(const OrtKernelInfo *k, Value *const *list, int n, size_t i, OrtTypeInfo **out)
{
    static const Type unknown = { .kind = TYPE_TENSOR, .shape.rank = SDX_RANK_UNKNOWN };
    const Value *v;
    OrtStatus *st = pick(list, n, i, &v);
    return st ? st : sdx_ort_type_info(k->node->graph->model->syms, v ? &v->type : &unknown, out);
}

OrtStatus *sdx_ort_KernelInfo_GetInputName(const OrtKernelInfo *k, size_t i, char *out, size_t *size)
{
    return k && size ? value_name(k->node->in, k->node->n_in, i, out, size) : no_info();
}

OrtStatus *sdx_ort_KernelInfo_GetOutputName(const OrtKernelInfo *k, size_t i, char *out, size_t *size)
{
    return k && size ? value_name(k->node->out, k->node->n_out, i, out, size) : no_info();
}

OrtStatus *sdx_ort_KernelInfo_GetInputTypeInfo(const OrtKernelInfo *k, size_t i, OrtTypeInfo **out)
{
    return k && out ? value_type(k, k->node->in, k->node->n_in, i, out) : no_info();
}

OrtStatus *sdx_ort_KernelInfo_GetOutputTypeInfo(const OrtKernelInfo *k, size_t i, OrtTypeInfo **out)
{
    return k && out ? value_type(k, k->node->out, k->node->n_out, i, out) : no_info();
}

/* The value belongs to the session. */
OrtStatus *sdx_ort_KernelInfoGetConstantInput_tensor(const OrtKernelInfo *k, size_t i, int *is_constant,
                                                     const OrtValue **out)
{
    const Value *v;
    if (!k || !is_constant || !out) return no_info();
    OrtStatus *st = pick(k->node->in, k->node->n_in, i, &v);
    if (st) return st;
    *out = k->constants[i];
    *is_constant = *out != NULL;
    return NULL;
}

/* -- the node ------------------------------------------------------------------------------------------------------ */

OrtStatus *sdx_ort_KernelInfo_GetNodeName(const OrtKernelInfo *k, char *out, size_t *size)
{
    return k && size ? copy_text(k->node->name, strlen(k->node->name), out, size) : no_info();
}

OrtStatus *sdx_ort_KernelInfo_GetOperatorDomain(const OrtKernelInfo *k, char *out, size_t *size)
{
    return k && size ? copy_text(k->node->domain, strlen(k->node->domain), out, size) : no_info();
}

OrtStatus *sdx_ort_KernelInfo_GetOperatorType(const OrtKernelInfo *k, char *out, size_t *size)
{
    return k && size ? copy_text(k->node->op_type, strlen(k->node->op_type), out, size) : no_info();
}

OrtStatus *sdx_ort_KernelInfo_GetOperatorSinceVersion(const OrtKernelInfo *k, int *out)
{
    if (!k || !out) return no_info();
    *out = k->node->origin ? k->node->origin->since_version : 1;
    return NULL;
}

OrtStatus *sdx_ort_KernelInfo_GetLogger(const OrtKernelInfo *k, const OrtLogger **out)
{
    return k && out ? *out = &k->owner->log, NULL : no_info();
}

OrtStatus *sdx_ort_KernelInfoGetAllocator(const OrtKernelInfo *k, int mem_type, OrtAllocator **out)
{
    (void)mem_type;
    return k && out ? sdx_ort_GetAllocatorWithDefaultOptions(out) : no_info();
}

OrtStatus *sdx_ort_KernelInfo_GetConfigEntries(const OrtKernelInfo *k, OrtKeyValuePairs **out)
{
    const char *const *keys, *const *values;
    size_t n;
    if (!k || !out) return no_info();
    OrtKeyValuePairs *kv = sdx_ort_kvps_new();
    bool ok = kv;
    sdx_ort_GetKeyValuePairs(k->owner->config, &keys, &values, &n);
    for (size_t i = 0; ok && i < n; i++) ok = sdx_ort_kvps_add(kv, keys[i], values[i]);
    if (!ok) {
        sdx_ort_ReleaseKeyValuePairs(kv);
        return sdx_ort_no_memory();
    }
    *out = kv;
    return NULL;
}

/* A copy is of use as long as the session lives. */
OrtStatus *sdx_ort_CopyKernelInfo(const OrtKernelInfo *k, OrtKernelInfo **out)
{
    if (!k || !out) return no_info();
    *out = sdx_alloc(&sdx_alloc_default, sizeof **out);
    if (!*out) return sdx_ort_no_memory();
    **out = *k;
    return NULL;
}

void sdx_ort_ReleaseKernelInfo(OrtKernelInfo *k) { sdx_free(&sdx_alloc_default, k); }
