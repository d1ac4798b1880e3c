/* What a model says about itself. A metadata object is its session's model, kept alive. */
#include <string.h>

#include "ort/entries.h"

static const Model *model_of(const OrtModelMetadata *m) { return sdx_ses_model((const Session *)(const void *)m); }

OrtStatus *sdx_ort_SessionGetModelMetadata(const OrtSession *s, OrtModelMetadata **out)
{
    if (!s || !out) return sdx_ort_null("session or out");
    sdx_ses_retain(s->ses);
    *out = (OrtModelMetadata *)(void *)s->ses;
    return NULL;
}

void sdx_ort_ReleaseModelMetadata(OrtModelMetadata *m)
{
    if (m) sdx_ses_close((Session *)(void *)m);
}

OrtStatus *sdx_ort_ModelMetadataGetProducerName(const OrtModelMetadata *m, OrtAllocator *a, char **out)
{
    return !m ? sdx_ort_null("metadata") : sdx_ort_give_text(a, model_of(m)->producer_name, out);
}

OrtStatus *sdx_ort_ModelMetadataGetGraphName(const OrtModelMetadata *m, OrtAllocator *a, char **out)
{
    return !m ? sdx_ort_null("metadata") : sdx_ort_give_text(a, model_of(m)->graph->name, out);
}

OrtStatus *sdx_ort_ModelMetadataGetDomain(const OrtModelMetadata *m, OrtAllocator *a, char **out)
{
    return !m ? sdx_ort_null("metadata") : sdx_ort_give_text(a, model_of(m)->domain, out);
}

OrtStatus *sdx_ort_ModelMetadataGetDescription(const OrtModelMetadata *m, OrtAllocator *a, char **out)
{
    return !m ? sdx_ort_null("metadata") : sdx_ort_give_text(a, model_of(m)->doc_string, out);
}

OrtStatus *sdx_ort_ModelMetadataGetGraphDescription(const OrtModelMetadata *m, OrtAllocator *a, char **out)
{
    return !m ? sdx_ort_null("metadata") : sdx_ort_give_text(a, model_of(m)->graph_doc, out);
}

OrtStatus *sdx_ort_ModelMetadataGetVersion(const OrtModelMetadata *m, int64_t *out)
{
    if (!m || !out) return sdx_ort_null("metadata or out");
    *out = model_of(m)->model_version;
    return NULL;
}

/* NULL for a key that is not there. */
OrtStatus *sdx_ort_ModelMetadataLookupCustomMetadataMap(const OrtModelMetadata *m, OrtAllocator *a, const char *key,
                                                        char **out)
{
    if (!m || !key || !out) return sdx_ort_null("metadata, key or out");
    const Model *model = model_of(m);
    *out = NULL;
    for (int i = 0; i < model->n_metadata; i++)
        if (strcmp(model->metadata[i].key, key) == 0) return sdx_ort_give_text(a, model->metadata[i].value, out);
    return NULL;
}

OrtStatus *sdx_ort_ModelMetadataGetCustomMetadataMapKeys(const OrtModelMetadata *m, OrtAllocator *a, char ***keys,
                                                         int64_t *n)
{
    if (!m || !a || !keys || !n) return sdx_ort_null("metadata, allocator or an out");
    const Model *model = model_of(m);
    *keys = NULL;
    *n = 0;
    if (!model->n_metadata) return NULL;
    char **list = a->Alloc(a, (size_t)model->n_metadata * sizeof *list);
    if (!list) return sdx_ort_no_memory();
    for (int i = 0; i < model->n_metadata; i++) {
        list[i] = sdx_ort_strdup(a, model->metadata[i].key);
        if (list[i]) continue;
        while (i-- > 0) a->Free(a, list[i]);
        a->Free(a, list);
        return sdx_ort_no_memory();
    }
    *keys = list;
    *n = model->n_metadata;
    return NULL;
}

/* -- compiled models ----------------------------------------------------------------------------------------------- */

/* What a compiled model says for a provider: entry "ep_compatibility_info.<provider>"; NULL: nothing. */
static OrtStatus *compatibility(Source *src, const char *provider, OrtAllocator *a, char **out)
{
    static const char prefix[] = "ep_compatibility_info.";
    ImportOptions io = { .load = LOAD_MAP };
    Model *m = NULL;
    Err err = { 0 };
    sdx_status st = sdx_onnx_import(&sdx_alloc_default, src, &io, &m, &err);
    if (st != SDX_OK) return sdx_ort_status(st, &err);
    OrtStatus *fail = NULL;
    *out = NULL;
    for (int i = 0; i < m->n_metadata && !fail && !*out; i++) {
        const char *key = m->metadata[i].key;
        if (strncmp(key, prefix, sizeof prefix - 1) == 0 && strcmp(key + sizeof prefix - 1, provider) == 0)
            fail = sdx_ort_give_text(a, m->metadata[i].value, out);
    }
    sdx_model_destroy(m);
    return fail;
}

OrtStatus *sdx_ort_GetCompatibilityInfoFromModel(const char *path, const char *provider, OrtAllocator *a, char **out)
{
    Source src;
    Err err = { 0 };
    if (!path || !provider || !*provider || !a || !out)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Invalid argument provided to GetCompatibilityInfoFromModel.");
    sdx_status st = sdx_source_path(&src, &sdx_alloc_default, path, &err);
    if (st != SDX_OK) return sdx_ort_status(st, &err);
    OrtStatus *fail = compatibility(&src, provider, a, out);
    sdx_source_fini(&src);
    return fail;
}

OrtStatus *sdx_ort_GetCompatibilityInfoFromModelBytes(const void *data, size_t nbytes, const char *provider,
                                                      OrtAllocator *a, char **out)
{
    Source src;
    if (!data || !nbytes || !provider || !*provider || !a || !out)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Invalid argument provided to GetCompatibilityInfoFromModelBytes.");
    sdx_source_memory(&src, &sdx_alloc_default, data, nbytes);
    OrtStatus *fail = compatibility(&src, provider, a, out);
    sdx_source_fini(&src);
    return fail;
}
