/* A caller's content for initializers, and for the files of external data. */
#include <string.h>

#include "ort/entries.h"

OrtStatus *sdx_ort_init_add(OrtSessionOptions *o, const OrtInit *init)
{
    OrtInit copy = *init;
    copy.name = sdx_arena_strndup(&o->arena, init->name, strlen(init->name));
    if (!copy.name || !sdx_arena_grow(&o->arena, o->inits, o->n_inits, o->cap_inits)) return sdx_ort_no_memory();
    sdx_buf_retain(copy.d.buf);
    o->inits[o->n_inits++] = copy;
    return NULL;
}

static OrtStatus *add(OrtSessionOptions *o, const char *name, const OrtValue *v, bool is_external)
{
    if (!*name) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the name of an initializer is empty");
    if (v->d.kind != DATUM_TENSOR)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Received OrtValue is not a tensor. Only tensors are supported.");
    for (int i = 0; i < o->n_inits; i++)
        if (strcmp(o->inits[i].name, name) == 0)
            return sdx_ort_fail(ORT_INVALID_ARGUMENT, "An OrtValue for this name has already been added: %s", name);
    return sdx_ort_init_add(o, &(OrtInit){ name, v->d, is_external });
}

/* Shared by sessions, so its memory has to be the caller's. */
OrtStatus *sdx_ort_AddInitializer(OrtSessionOptions *o, const char *name, const OrtValue *v)
{
    if (!o || !name || !v) return sdx_ort_null("options, name or value");
    if (v->d.kind == DATUM_TENSOR && v->d.buf)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Buffer containing the initializer must be owned by the user.");
    return add(o, name, v, false);
}

OrtStatus *sdx_ort_AddExternalInitializers(OrtSessionOptions *o, const char *const *names, const OrtValue *const *v,
                                           size_t n)
{
    if (!o || (n && (!names || !v))) return sdx_ort_null("options, names or values");
    for (size_t i = 0; i < n; i++) {
        if (!names[i] || !v[i]) return sdx_ort_null("a name or value");
        OrtStatus *st = add(o, names[i], v[i], true);
        if (st) return st;
    }
    return NULL;
}

OrtStatus *sdx_ort_file_add(OrtSessionOptions *o, const OrtFile *file)
{
    OrtFile copy = *file;
    copy.name = sdx_arena_strndup(&o->arena, file->name, strlen(file->name));
    if (!copy.name || !sdx_arena_grow(&o->arena, o->files, o->n_files, o->cap_files)) return sdx_ort_no_memory();
    o->files[o->n_files++] = copy;
    return NULL;
}

/* Sessions read from the buffers: the caller keeps them. */
OrtStatus *sdx_ort_AddExternalInitializersFromFilesInMemory(OrtSessionOptions *o, const char *const *names,
                                                            char *const *buffers, const size_t *lengths, size_t n)
{
    if (!o || (n && (!names || !buffers || !lengths))) return sdx_ort_null("options, names, buffers or lengths");
    for (size_t i = 0; i < n; i++) {
        if (!names[i] || !buffers[i]) return sdx_ort_null("a file name or buffer");
        for (int k = 0; k < o->n_files; k++)
            if (strcmp(o->files[k].name, names[i]) == 0)
                return sdx_ort_fail(ORT_INVALID_ARGUMENT, "A buffer for this file has already been added: %s",
                                    names[i]);
        OrtStatus *st = sdx_ort_file_add(o, &(OrtFile){ names[i], buffers[i], lengths[i] });
        if (st) return st;
    }
    return NULL;
}

/* -- where external data lies -------------------------------------------------------------------------------------- */

struct OrtExternalInitializerInfo {
    int64_t offset;
    size_t nbytes;
    char path[];
};

OrtStatus *sdx_ort_CreateExternalInitializerInfo(const char *path, int64_t offset, size_t nbytes,
                                                 OrtExternalInitializerInfo **out)
{
    if (!path || !out) return sdx_ort_null("path or out");
    size_t n = strlen(path) + 1;
    OrtExternalInitializerInfo *info = sdx_alloc(&sdx_alloc_default, sizeof *info + n);
    if (!info) return sdx_ort_no_memory();
    info->offset = offset;
    info->nbytes = nbytes;
    memcpy(info->path, path, n);
    *out = info;
    return NULL;
}

void sdx_ort_ReleaseExternalInitializerInfo(OrtExternalInitializerInfo *i) { sdx_free(&sdx_alloc_default, i); }
const char *sdx_ort_ExternalInitializerInfo_GetFilePath(const OrtExternalInitializerInfo *i)
{
    return i ? i->path : NULL;
}
int64_t sdx_ort_ExternalInitializerInfo_GetFileOffset(const OrtExternalInitializerInfo *i) { return i ? i->offset : 0; }
size_t sdx_ort_ExternalInitializerInfo_GetByteSize(const OrtExternalInitializerInfo *i) { return i ? i->nbytes : 0; }
