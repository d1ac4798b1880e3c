/* Running kernels of custom operators, and what they ask their context. */
#include <string.h>

#include "ort/entries_custom.h"

struct OrtKernelContext {
    Run *run;
    const OrtKernelInfo *info;
    OrtValue *in, *out; /* views, and strings that the kernel fills */
    bool *made;         /* by output */
};

static const CustomDef *custom_def(const Node *n) { return n->def->user; }

static const OrtKernelInfo *kernel_of(const Node *n)
{
    const CustomOps *c = custom_def(n)->owner;
    return n->id < c->n_kernels ? c->kernels[n->id] : NULL;
}

/* -- running ------------------------------------------------------------------------------------------------------- */

/* Texts that the kernel wrote go to the memory of the run. */
static sdx_status give_strings(OrtKernelContext *c, int o)
{
    const Tensor *t = &c->out[o].d.t;
    const Str *from = t->data;
    void *data = NULL;
    TRY(sdx_run_output(c->run, o, DT_STRING, t->rank, t->dims, &data));
    Str *to = data;
    for (int64_t i = 0, n = sdx_tensor_count(t); i < n; i++) {
        char *p = sdx_run_heap(c->run, from[i].n ? from[i].n : 1);
        if (!p) return sdx_run_fail(c->run, "out of memory for strings");
        if (from[i].n) memcpy(p, from[i].p, from[i].n);
        to[i] = (Str){ p, from[i].n };
    }
    return SDX_OK;
}

static sdx_status finish_outputs(OrtKernelContext *c)
{
    for (int o = 0; o < c->run->n_out; o++) {
        if (!c->run->out[o]) continue;
        if (!c->made[o]) return sdx_run_fail(c->run, "the kernel did not make output %d", o);
        if (c->out[o].d.t.dtype == DT_STRING) TRY(give_strings(c, o));
    }
    return SDX_OK;
}

static OrtStatus *call_compute(void *arg)
{
    enum { HAS_COMPUTE_V2 = 16 };
    OrtKernelContext *c = arg;
    const OrtCustomOp *op = c->info->op;
    if (op->version >= HAS_COMPUTE_V2 && op->KernelComputeV2) return op->KernelComputeV2(c->info->kernel, c);
    op->KernelCompute(c->info->kernel, c);
    return NULL;
}

static sdx_status compute(OrtKernelContext *c)
{
    OrtStatus *st = sdx_custom_guard(call_compute, c);
    if (!st) return finish_outputs(c);
    sdx_status code = sdx_run_fail_as(c->run, sdx_ort_foreign(sdx_ort_GetErrorCode(st)), "%s",
                                      sdx_ort_GetErrorMessage(st));
    sdx_ort_ReleaseStatus(st);
    return code;
}

sdx_status sdx_custom_run(Run *r)
{
    OrtKernelContext c = { .run = r, .info = kernel_of(r->node) };
    if (!c.info) return sdx_run_fail(r, "its session is being released");
    c.in = sdx_run_heap(r, (size_t)(r->n_in + r->n_out + 1) * sizeof *c.in);
    c.made = sdx_run_heap(r, (size_t)r->n_out + 1);
    if (!c.in || !c.made) return sdx_run_fail(r, "out of memory");
    c.out = c.in + r->n_in;
    for (int i = 0; i < r->n_in; i++)
        if (r->in[i]) c.in[i].d = *r->in[i];
    sdx_status st = compute(&c);
    for (int o = 0; o < r->n_out; o++)
        if (c.made[o] && c.out[o].d.t.dtype == DT_STRING) sdx_datum_clear(&c.out[o].d);
    return st;
}

/* -- what kernels ask ---------------------------------------------------------------------------------------------- */

static OrtStatus *no_context(void) { return sdx_ort_null("kernel context or out"); }

OrtStatus *sdx_ort_KernelContext_GetInputCount(const OrtKernelContext *c, size_t *out)
{
    return c && out ? *out = (size_t)c->run->n_in, NULL : no_context();
}

OrtStatus *sdx_ort_KernelContext_GetOutputCount(const OrtKernelContext *c, size_t *out)
{
    return c && out ? *out = (size_t)c->run->n_out, NULL : no_context();
}

/* NULL for an input that is left out. */
OrtStatus *sdx_ort_KernelContext_GetInput(const OrtKernelContext *c, size_t i, const OrtValue **out)
{
    if (!c || !out) return no_context();
    if (i >= (size_t)c->run->n_in)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "input %zu is outside [0, %d)", i, c->run->n_in);
    *out = c->run->in[i] ? &c->in[i] : NULL;
    return NULL;
}

static DType output_type(const OrtKernelContext *c, int o)
{
    const Node *n = c->run->node;
    enum { IN_MAX = 64 };
    DType in[IN_MAX] = { DT_NONE };
    int n_in = c->run->n_in < IN_MAX ? c->run->n_in : IN_MAX;
    for (int i = 0; i < n_in; i++)
        in[i] = c->run->in[i] && c->run->in[i]->kind == DATUM_TENSOR ? c->run->in[i]->t.dtype : DT_NONE;
    DType d = sdx_custom_output_type(c->info->op, in, n_in, o);
    return d == DT_NONE && n->out[o] ? n->out[o]->type.elem : d;
}

/* NULL for an output that nobody asked for. */
OrtStatus *sdx_ort_KernelContext_GetOutput(OrtKernelContext *c, size_t i, const int64_t *dims, size_t rank,
                                           OrtValue **out)
{
    if (!c || !out || (rank && !dims)) return no_context();
    Run *r = c->run;
    if (i >= (size_t)r->n_out) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "output %zu is outside [0, %d)", i, r->n_out);
    *out = NULL;
    if (!r->out[i]) return NULL;
    if (rank > SDX_MAX_RANK) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "rank %zu is above %d", rank, SDX_MAX_RANK);
    OrtValue *v = &c->out[i];
    if (c->made[i]) {
        if (!sdx_dims_equal(v->d.t.dims, v->d.t.rank, dims, (int)rank))
            return sdx_ort_fail(ORT_INVALID_ARGUMENT, "output %zu was made with another shape", i);
        *out = v;
        return NULL;
    }
    Err err = { 0 };
    DType type = output_type(c, (int)i);
    sdx_status st;
    if (type == DT_NONE) return sdx_ort_fail(ORT_FAIL, "the element type of output %zu is not known", i);
    if (type == DT_STRING) {
        st = sdx_datum_tensor(&v->d, &sdx_alloc_default, type, (int)rank, dims, &err);
    } else {
        st = sdx_run_output(r, (int)i, type, (int)rank, dims, NULL);
        if (st == SDX_OK)
            v->d = (Datum){ .kind = DATUM_TENSOR, .t = r->out[i]->t };
        else
            err = *r->err;
    }
    if (st != SDX_OK) return sdx_ort_status(st, &err);
    c->made[i] = true;
    *out = v;
    return NULL;
}

/* An output whose memory is there already. NULL: none is. */
OrtStatus *sdx_ort_KernelContext_GetPreallocatedOutput(const OrtKernelContext *c, size_t i, OrtValue **out)
{
    if (!c || !out) return no_context();
    if (i >= (size_t)c->run->n_out)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "output %zu is outside [0, %d)", i, c->run->n_out);
    *out = NULL;
    return NULL;
}

/* There is one kind of memory, and no streams. */
OrtStatus *sdx_ort_KernelContext_GetGPUComputeStream(const OrtKernelContext *c, void **out)
{
    return c && out ? *out = NULL, NULL : no_context();
}

OrtStatus *sdx_ort_KernelContext_GetSyncStream(const OrtKernelContext *c, void **out)
{
    return c && out ? *out = NULL, NULL : no_context();
}

OrtStatus *sdx_ort_KernelContext_GetResource(const OrtKernelContext *c, int version, int id, void **out)
{
    if (!c || !out) return no_context();
    return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the CPU has no resource %d of version %d", id, version);
}

OrtStatus *sdx_ort_KernelContext_GetLogger(const OrtKernelContext *c, const OrtLogger **out)
{
    return c && out ? *out = &c->info->owner->log, NULL : no_context();
}

OrtStatus *sdx_ort_KernelContext_GetAllocator(const OrtKernelContext *c, const OrtMemoryInfo *info, OrtAllocator **out)
{
    if (!c || !info || !out) return no_context();
    if (!sdx_ort_is_host_memory(info))
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "No requested allocator available: %s", info->name);
    return sdx_ort_GetAllocatorWithDefaultOptions(out);
}

/* Until the end of the run. */
OrtStatus *sdx_ort_KernelContext_GetScratchBuffer(const OrtKernelContext *c, const OrtMemoryInfo *info, size_t nbytes,
                                                  void **out)
{
    if (!c || !info || !out) return no_context();
    if (nbytes > SIZE_MAX - SDX_ALIGN) return sdx_ort_no_memory();
    char *p = sdx_run_heap(c->run, nbytes + SDX_ALIGN);
    if (!p) return sdx_ort_no_memory();
    *out = p + (SDX_ALIGN - (uintptr_t)p % SDX_ALIGN) % SDX_ALIGN;
    return NULL;
}

typedef struct ForJob {
    void (*fn)(void *user, size_t i);
    void *user;
} ForJob;

static void for_range(void *arg, int64_t from, int64_t to, int worker)
{
    const ForJob *j = arg;
    (void)worker;
    for (int64_t i = from; i < to; i++) j->fn(j->user, (size_t)i);
}

/* n_batches 0: each by itself. */
OrtStatus *sdx_ort_KernelContext_ParallelFor(const OrtKernelContext *c, void (*fn)(void *, size_t), size_t total,
                                             size_t n_batches, void *user)
{
    if (!c || !fn) return no_context();
    if (total > INT64_MAX / 2 || n_batches > INT64_MAX / 2)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "total or the number of batches is out of range");
    ForJob job = { fn, user };
    int64_t grain = n_batches ? (int64_t)((total + n_batches - 1) / n_batches) : 1;
    sdx_run_range(c->run, (int64_t)total, grain, for_range, &job);
    return NULL;
}

/* -- inference ----------------------------------------------------------------------------------------------------- */

struct OrtShapeInferContext {
    Infer *infer;
    OrtTensorTypeAndShapeInfo *in; /* by input */
};

OrtStatus *sdx_ort_ShapeInferContext_GetInputCount(const OrtShapeInferContext *c, size_t *out)
{
    return c && out ? *out = (size_t)c->infer->n_in, NULL : sdx_ort_null("context or out");
}

/* Belongs to the context. */
OrtStatus *sdx_ort_ShapeInferContext_GetInputTypeShape(const OrtShapeInferContext *c, size_t i,
                                                       OrtTensorTypeAndShapeInfo **out)
{
    if (!c || !out) return sdx_ort_null("context or out");
    if (i >= (size_t)c->infer->n_in)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Failed to fetch input %zu: there are %d", i, c->infer->n_in);
    *out = &c->in[i];
    return NULL;
}

OrtStatus *sdx_ort_ShapeInferContext_GetAttribute(const OrtShapeInferContext *c, const char *name,
                                                  const OrtOpAttr **out)
{
    if (!c || !name || !out) return sdx_ort_null("context, name or out");
    const Attr *a = sdx_node_attr(c->infer->node, name);
    if (!a) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Attribute %s does not exist.", name);
    *out = a;
    return NULL;
}

OrtStatus *sdx_ort_ShapeInferContext_SetOutputTypeShape(const OrtShapeInferContext *c, size_t i,
                                                        const OrtTensorTypeAndShapeInfo *t)
{
    if (!c || !t) return sdx_ort_null("context or info");
    if (i >= (size_t)c->infer->n_out)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "output %zu is outside [0, %d)", i, c->infer->n_out);
    Type *out = &c->infer->out[i];
    out->kind = TYPE_TENSOR;
    if (t->dtype != DT_NONE) out->elem = t->dtype;
    out->shape.rank = t->rank;
    for (int k = 0; k < t->rank; k++) {
        const char *name = t->symbols[k];
        bool named = t->dims[k] < 0 && name && *name && c->infer->syms;
        out->shape.dims[k] = t->dims[k] >= 0 ? t->dims[k]
                             : named         ? sdx_dim_named(c->infer->syms, name, strlen(name))
                                             : SDX_DIM_UNKNOWN;
    }
    return NULL;
}

typedef struct Inferring {
    const OrtCustomOp *op;
    OrtShapeInferContext *c;
} Inferring;

static OrtStatus *call_infer(void *arg)
{
    const Inferring *i = arg;
    return i->op->InferOutputShapeFn(i->op, i->c);
}

static sdx_status infer_shapes(Infer *c, const OrtCustomOp *op)
{
    OrtShapeInferContext ctx = { c, sdx_arena_array(c->arena, OrtTensorTypeAndShapeInfo, c->n_in + 1) };
    TRY_MEM(ctx.in, c->err);
    OrtStatus *st = NULL;
    for (int i = 0; !st && i < c->n_in; i++)
        if (c->in[i]) st = sdx_ort_shape_info(c->syms, c->in[i], &ctx.in[i]);
    if (!st) st = sdx_custom_guard(call_infer, &(Inferring){ op, &ctx });
    for (int i = 0; i < c->n_in; i++) sdx_free(&sdx_alloc_default, ctx.in[i].names);
    if (!st) return SDX_OK;
    sdx_status code = sdx_infer_fail(c, "%s", sdx_ort_GetErrorMessage(st));
    sdx_ort_ReleaseStatus(st);
    return code;
}

sdx_status sdx_custom_infer(Infer *c)
{
    enum { HAS_INFER = 17 };
    DType *types = sdx_arena_array(c->arena, DType, c->n_in + 1);
    TRY_MEM(types, c->err);
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i] && c->in[i]->kind == TYPE_TENSOR) types[i] = c->in[i]->elem;
    const OrtCustomOp *op = sdx_custom_pick(c->node, types, c->n_in);
    if (!op) return sdx_infer_fail(c, "no variant of this operator takes these types");
    for (int o = 0; o < c->n_out; o++) {
        c->out[o].kind = TYPE_TENSOR;
        c->out[o].elem = sdx_custom_output_type(op, types, c->n_in, o);
    }
    return op->version >= HAS_INFER && op->InferOutputShapeFn ? infer_shapes(c, op) : SDX_OK;
}
