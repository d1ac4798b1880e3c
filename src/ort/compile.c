/* The compile interface: a model as the portable rewrites leave it, to a file, a buffer or a callback. Compiled nodes of
 * providers are not among it: the CPU's has none. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ort/entries_model.h"

typedef OrtStatus *(*WriteFn)(void *state, const void *bytes, size_t n);

enum { FAIL_WITHOUT_COMPILED = 1, FAIL_IF_FILE_EXISTS = 2, ALL_FLAGS = 3 };

struct OrtModelCompilationOptions {
    Arena arena; /* holds every text */
    OrtSessionOptions *o;
    const char *in_path;
    const void *in_data;
    size_t in_nbytes;
    const OrtModel *in_model;
    const char *out_path, *external;
    size_t external_min;
    OrtAllocator *allocator; /* for *out_bytes */
    void **out_bytes;
    size_t *out_nbytes;
    WriteFn write;
    void *write_state;
    uint32_t flags;
    OptLevel level;
};

void sdx_compile_ReleaseModelCompilationOptions(OrtModelCompilationOptions *c)
{
    if (!c) return;
    sdx_ort_ReleaseSessionOptions(c->o);
    sdx_arena_fini(&c->arena);
    sdx_free(&sdx_alloc_default, c);
}

OrtStatus *sdx_compile_CreateModelCompilationOptionsFromSessionOptions(const OrtEnv *env, const OrtSessionOptions *o,
                                                                       OrtModelCompilationOptions **out)
{
    if (!env || !o || !out) return sdx_ort_null("env, options or out");
    OrtModelCompilationOptions *c = sdx_alloc_zero(&sdx_alloc_default, sizeof *c);
    if (!c) return sdx_ort_no_memory();
    sdx_arena_init(&c->arena, &sdx_alloc_default, 0);
    c->level = OPT_NONE; /* as ONNX Runtime: whoever runs the result rewrites it */
    OrtStatus *st = sdx_ort_CloneSessionOptions(o, &c->o);
    if (st)
        sdx_compile_ReleaseModelCompilationOptions(c);
    else
        *out = c;
    return st;
}

static OrtStatus *keep_path(OrtModelCompilationOptions *c, const char *path, const char **field)
{
    if (!c || !path) return sdx_ort_null("options or path");
    if (!*path) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the path is empty");
    *field = sdx_arena_strndup(&c->arena, path, strlen(path));
    return *field ? NULL : sdx_ort_no_memory();
}

/* -- input --------------------------------------------------------------------------------------------------------- */

OrtStatus *sdx_compile_ModelCompilationOptions_SetInputModelPath(OrtModelCompilationOptions *c, const char *path)
{
    OrtStatus *st = keep_path(c, path, c ? &c->in_path : NULL);
    if (!st) c->in_data = c->in_model = NULL;
    return st;
}

OrtStatus *sdx_compile_ModelCompilationOptions_SetInputModelFromBuffer(OrtModelCompilationOptions *c, const void *data,
                                                                       size_t nbytes)
{
    if (!c || !data) return sdx_ort_null("options or data");
    if (!nbytes) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Invalid input model buffer: its size is 0");
    c->in_data = data;
    c->in_nbytes = nbytes;
    c->in_path = NULL;
    c->in_model = NULL;
    return NULL;
}

OrtStatus *sdx_compile_ModelCompilationOptions_SetInputModel(OrtModelCompilationOptions *c, const OrtModel *m)
{
    if (!c || !m) return sdx_ort_null("options or model");
    c->in_model = m;
    c->in_path = NULL;
    c->in_data = NULL;
    return NULL;
}

/* -- output -------------------------------------------------------------------------------------------------------- */

OrtStatus *sdx_compile_ModelCompilationOptions_SetOutputModelPath(OrtModelCompilationOptions *c, const char *path)
{
    OrtStatus *st = keep_path(c, path, c ? &c->out_path : NULL);
    if (!st) c->allocator = NULL, c->write = NULL;
    return st;
}

OrtStatus *sdx_compile_ModelCompilationOptions_SetOutputModelExternalInitializersFile(OrtModelCompilationOptions *c,
                                                                                      const char *path, size_t min)
{
    OrtStatus *st = keep_path(c, path, c ? &c->external : NULL);
    if (!st) c->external_min = min;
    return st;
}

OrtStatus *sdx_compile_ModelCompilationOptions_SetOutputModelBuffer(OrtModelCompilationOptions *c, OrtAllocator *a,
                                                                    void **bytes, size_t *nbytes)
{
    if (!c || !a || !bytes || !nbytes) return sdx_ort_null("options, allocator or an out");
    c->allocator = a;
    c->out_bytes = bytes;
    c->out_nbytes = nbytes;
    c->out_path = NULL;
    c->write = NULL;
    return NULL;
}

OrtStatus *sdx_compile_ModelCompilationOptions_SetOutputModelWriteFunc(OrtModelCompilationOptions *c, void *fn,
                                                                       void *state)
{
    if (!c || !fn) return sdx_ort_null("options or function");
    memcpy(&c->write, &fn, sizeof fn); /* a function's address, as the table's caller has it */
    c->write_state = state;
    c->out_path = NULL;
    c->allocator = NULL;
    return NULL;
}

/* -- how ----------------------------------------------------------------------------------------------------------- */

/* There are no blobs of providers to embed or to name. */
OrtStatus *sdx_compile_ModelCompilationOptions_SetEpContextEmbedMode(OrtModelCompilationOptions *c, bool embed)
{
    return c ? (void)embed, NULL : sdx_ort_null("options");
}

OrtStatus *sdx_compile_ModelCompilationOptions_SetEpContextBinaryInformation(OrtModelCompilationOptions *c,
                                                                             const char *folder, const char *name)
{
    return c && folder && name ? NULL : sdx_ort_null("options, folder or name");
}

OrtStatus *sdx_compile_ModelCompilationOptions_SetWeightlessEnabled(OrtModelCompilationOptions *c, bool weightless)
{
    if (!c) return sdx_ort_null("options");
    return weightless ? sdx_ort_fail(ORT_NOT_IMPLEMENTED, "models without weights are not written") : NULL;
}

OrtStatus *sdx_compile_ModelCompilationOptions_SetFlags(OrtModelCompilationOptions *c, uint32_t flags)
{
    if (!c) return sdx_ort_null("options");
    if (flags & ~(uint32_t)ALL_FLAGS) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "flags %u are not known", flags);
    c->flags = flags;
    return NULL;
}

OrtStatus *sdx_compile_ModelCompilationOptions_SetGraphOptimizationLevel(OrtModelCompilationOptions *c, int level)
{
    if (!c) return sdx_ort_null("options");
    OrtStatus *st = sdx_ort_SetSessionGraphOptimizationLevel(c->o, level);
    if (!st) c->level = c->o->level;
    return st;
}

/* -- compiling ----------------------------------------------------------------------------------------------------- */

static OrtStatus *give(const OrtModelCompilationOptions *c, const Buf *bytes)
{
    if (c->write) return c->write(c->write_state, bytes->data, bytes->nbytes);
    void *copy = c->allocator->Alloc(c->allocator, bytes->nbytes);
    if (!copy) return sdx_ort_no_memory();
    memcpy(copy, bytes->data, bytes->nbytes);
    *c->out_bytes = copy;
    *c->out_nbytes = bytes->nbytes;
    return NULL;
}

/* "model.onnx" becomes "model_ctx.onnx". */
static void default_path(const char *in, char *out, size_t size)
{
    const char *dot = strrchr(in, '.'), *slash = strrchr(in, '/');
    size_t n = dot && (!slash || dot > slash) ? (size_t)(dot - in) : strlen(in);
    snprintf(out, size, "%.*s_ctx.onnx", (int)n, in);
}

static OrtStatus *write_result(const OrtModelCompilationOptions *c, const OrtOrigin *from)
{
    char path[SDX_PATH_MAX] = "";
    ExportOptions eo = { .external_location = c->external, .external_min = c->external_min };
    Buf *bytes = NULL;
    if (c->out_path)
        snprintf(path, sizeof path, "%s", c->out_path);
    else if (!c->allocator && !c->write && c->in_path)
        default_path(c->in_path, path, sizeof path);
    if (*path && (c->flags & FAIL_IF_FILE_EXISTS) && access(path, F_OK) == 0)
        return sdx_ort_fail(ORT_FAIL, "Output model file already exists: %s exists already.", path);
    OrtStatus *st = sdx_ort_rewrite(from, c->level, *path ? path : NULL, &eo, &bytes);
    if (!st && !*path) st = give(c, bytes);
    sdx_buf_release(bytes);
    return st;
}

OrtStatus *sdx_compile_CompileModel(const OrtEnv *env, const OrtModelCompilationOptions *c)
{
    if (!env || !c) return sdx_ort_null("env or options");
    if (!c->in_path && !c->in_data && !c->in_model)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT,
                            "Input model to compile must be loaded from either a file or a memory buffer");
    if (!c->out_path && !c->allocator && !c->write && !c->in_path)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Unable to generate an output model path: set where the output goes");
    if (c->flags & FAIL_WITHOUT_COMPILED)
        return sdx_ort_fail(ORT_FAIL, "no nodes were compiled: the CPU's provider compiles none ahead");
    OrtOrigin from = { .path = c->in_path, .data = c->in_data, .nbytes = c->in_nbytes, .o = c->o };
    if (!c->in_model) return write_result(c, &from);
    Buf *bytes;
    Err err = { 0 };
    if (!c->in_model->graph) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the model has no graph");
    sdx_status code = sdx_ort_model_write(c->in_model, NULL, &bytes, &err);
    if (code != SDX_OK) return sdx_ort_status(code, &err);
    from.data = bytes->data;
    from.nbytes = bytes->nbytes;
    from.more = c->in_model->graph->inits;
    from.n_more = c->in_model->graph->n_inits;
    OrtStatus *st = write_result(c, &from);
    sdx_buf_release(bytes);
    return st;
}
