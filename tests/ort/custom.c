/* Custom operators: kernels in C, as a client's library brings them. */
#include "client.h"

static float factor;
static int n_alive;

/* Twice: x times the attribute `times`, made by the first version of the interface. */
static OrtOp *elu;
static OrtOpAttr *elu_alpha;

static void *twice_create(const OrtCustomOp *op, const void *api, const OrtKernelInfo *info)
{
    (void)op;
    CHECK(api == (const void *)table);
    int64_t sizes[2] = { 0 };
    size_t n = 0;
    char name[8];
    ok(ORT(KernelInfoGetAttribute_float)(info, "times", &factor));
    refused(ORT(KernelInfoGetAttribute_int64)(info, "none", sizes), ORT_FAIL, "none");
    ok(ORT(KernelInfoGetAttributeArray_int64)(info, "sizes", NULL, &n));
    CHECK_INT(n, 2);
    n = 1;
    refused(ORT(KernelInfoGetAttributeArray_int64)(info, "sizes", sizes, &n), ORT_INVALID_ARGUMENT, "not large enough");
    ok(ORT(KernelInfoGetAttributeArray_int64)(info, "sizes", sizes, &n));
    CHECK_INT(sizes[1], 5);
    n = sizeof name;
    ok(ORT(KernelInfo_GetInputName)(info, 0, name, &n));
    CHECK_STR(name, "x");
    refused(ORT(CreateOp)(info, "NoSuchOp", "", 17, NULL, NULL, 0, NULL, 0, 2, 1, &elu), ORT_INVALID_GRAPH, "NoSuchOp");
    float alpha = 1;
    ok(ORT(CreateOpAttr)("alpha", &alpha, 1, 3, &elu_alpha));
    const OrtOpAttr *attrs[] = { elu_alpha };
    ok(ORT(CreateOp)(info, "Elu", "", 17, NULL, NULL, 0, attrs, 1, 1, 1, &elu));
    ORT(ReleaseOpAttr)(elu_alpha);
    n_alive++;
    return &factor;
}

static const char *twice_name(const OrtCustomOp *op) { return (void)op, "Twice"; }
static const char *no_provider(const OrtCustomOp *op) { return (void)op, NULL; }
static int type_float(const OrtCustomOp *op, size_t i) { return (void)op, (void)i, 1; }
static int type_string(const OrtCustomOp *op, size_t i) { return (void)op, (void)i, 8; }
static size_t one(const OrtCustomOp *op) { return (void)op, 1; }
static void destroy(void *kernel) { (void)kernel, n_alive--; }

static void twice_compute(void *kernel, OrtKernelContext *c)
{
    const OrtValue *x = NULL;
    OrtValue *y = NULL;
    const void *from = NULL;
    void *to = NULL;
    CHECK(kernel == (void *)&factor);
    ok(ORT(KernelContext_GetInput)(c, 0, &x));
    ok(ORT(KernelContext_GetOutput)(c, 0, x->d.t.dims, (size_t)x->d.t.rank, &y));
    ok(ORT(GetTensorData)(x, &from));
    ok(ORT(GetTensorMutableData)(y, &to));
    ok(ORT(InvokeOp)(c, elu, &x, 1, &y, 1)); /* of positive numbers, the same */
    CHECK_FLOATS(to, from, x->d.t.dims[0], 0);
    for (int64_t i = 0; i < x->d.t.dims[0]; i++) ((float *)to)[i] = ((const float *)from)[i] * factor;
}

static const OrtCustomOp twice = { .version = 1,
                                   .CreateKernel = twice_create,
                                   .GetName = twice_name,
                                   .GetExecutionProviderType = no_provider,
                                   .GetInputType = type_float,
                                   .GetInputTypeCount = one,
                                   .GetOutputType = type_float,
                                   .GetOutputTypeCount = one,
                                   .KernelCompute = twice_compute,
                                   .KernelDestroy = destroy };

/* Echo: each string of any number of tensors, in one tensor; with shapes told, and a constant. */
static const char *echo_name(const OrtCustomOp *op) { return (void)op, "Echo"; }
static int variadic(const OrtCustomOp *op, size_t i) { return (void)op, (void)i, CUSTOM_VARIADIC; }
static int required(const OrtCustomOp *op, size_t i) { return (void)op, (void)i, CUSTOM_REQUIRED; }
static int least_one(const OrtCustomOp *op) { return (void)op, 1; }

static OrtStatus *echo_create(const OrtCustomOp *op, const void *api, const OrtKernelInfo *info, void **out)
{
    int is_constant = 0;
    const OrtValue *v = NULL;
    (void)op, (void)api;
    ok(ORT(KernelInfoGetConstantInput_tensor)(info, 1, &is_constant, &v));
    CHECK_INT(is_constant, 1);
    n_alive++;
    *out = &n_alive;
    return NULL;
}

static OrtStatus *echo_compute(void *kernel, OrtKernelContext *c)
{
    size_t n = 0, len = 0;
    (void)kernel;
    ok(ORT(KernelContext_GetInputCount)(c, &n));
    int64_t dims = (int64_t)n;
    OrtValue *y = NULL;
    ok(ORT(KernelContext_GetOutput)(c, 0, &dims, 1, &y));
    for (size_t i = 0; i < n; i++) {
        const OrtValue *x = NULL;
        char text[16] = { 0 };
        ok(ORT(KernelContext_GetInput)(c, i, &x));
        ok(ORT(GetStringTensorElementLength)(x, 0, &len));
        ok(ORT(GetStringTensorElement)(x, len, 0, text));
        if (strcmp(text, "fail") == 0) return ORT(CreateStatus)(ORT_FAIL, "asked to fail");
        ok(ORT(FillStringTensorElement)(y, text, i));
    }
    return NULL;
}

static OrtStatus *echo_infer(const OrtCustomOp *op, OrtShapeInferContext *c)
{
    size_t n = 0;
    OrtTensorTypeAndShapeInfo *info = NULL;
    (void)op;
    ok(ORT(ShapeInferContext_GetInputCount)(c, &n));
    int64_t dims = (int64_t)n;
    ok(ORT(CreateTensorTypeAndShapeInfo)(&info));
    ok(ORT(SetTensorElementType)(info, 8));
    ok(ORT(SetDimensions)(info, &dims, 1));
    ok(ORT(ShapeInferContext_SetOutputTypeShape)(c, 0, info));
    ORT(ReleaseTensorTypeAndShapeInfo)(info);
    return NULL;
}

static const OrtCustomOp echo = { .version = 18,
                                  .GetName = echo_name,
                                  .GetExecutionProviderType = no_provider,
                                  .GetInputType = type_string,
                                  .GetInputTypeCount = one,
                                  .GetOutputType = type_string,
                                  .GetOutputTypeCount = one,
                                  .KernelDestroy = destroy,
                                  .GetInputCharacteristic = variadic,
                                  .GetOutputCharacteristic = required,
                                  .GetVariadicInputMinArity = least_one,
                                  .GetVariadicInputHomogeneity = least_one,
                                  .CreateKernelV2 = echo_create,
                                  .KernelComputeV2 = echo_compute,
                                  .InferOutputShapeFn = echo_infer };

/* A model with custom operators has no text here: the importer of the text knows none. */
static OrtSession *custom_session(const char *text, OrtSessionOptions *o)
{
    static OpDef twice_def = { .name = "Twice", .domain = "test.custom", .sig = "any->any", .flags = OP_ANY_ATTRS };
    static OpDef echo_def = { .name = "Echo", .domain = "test.custom", .sig = "any~->any", .flags = OP_ANY_ATTRS };
    static const OpDef *const defs[] = { &twice_def, &echo_def, NULL };
    ImportOptions import = { .load = LOAD_COPY, .custom_ops = defs };
    Model *m = NULL;
    Err err = { 0 };
    Buf *bytes = NULL;
    OrtSession *s = NULL;
    OrtEnv *env = NULL;
    ok(ORT(CreateEnv)(2, "test", &env));
    if (!CHECK_INT(sdx_onnx_import_text(&sdx_alloc_default, text, strlen(text), &import, &m, &err), SDX_OK))
        CHECK_STR(err.text, "");
    if (m) CHECK_INT(sdx_onnx_export_bytes(m, &bytes, &err), SDX_OK);
    sdx_model_destroy(m);
    if (bytes) ok(ORT(CreateSessionFromArray)(env, bytes->data, bytes->nbytes, o, &s));
    sdx_buf_release(bytes);
    ORT(ReleaseEnv)(env);
    return s;
}

static OrtSessionOptions *with_domain(OrtCustomOpDomain **domain)
{
    OrtSessionOptions *o = NULL;
    ok(ORT(CreateCustomOpDomain)("test.custom", domain));
    ok(ORT(CustomOpDomain_Add)(*domain, &twice));
    ok(ORT(CustomOpDomain_Add)(*domain, &echo));
    ok(ORT(CreateSessionOptions)(&o));
    ok(ORT(AddCustomOpDomain)(o, *domain));
    return o;
}

static void numbers(void)
{
    OrtCustomOpDomain *domain = NULL;
    OrtSessionOptions *o = with_domain(&domain);
    OrtSession *s = custom_session("<ir_version: 8, opset_import: [\"\": 17, \"test.custom\": 1]>\n"
                                   "g (float[N] x) => (float[N] y) {\n"
                                   "  t = test.custom.Twice <times = 3.0, sizes = [4, 5]> (x)\n"
                                   "  y = Add (t, x)\n"
                                   "}\n",
                                   o);
    ORT(ReleaseSessionOptions)(o);
    if (!s) return;
    CHECK_INT(n_alive, 1);
    float v[] = { 1, 2 };
    const char *in_name = "x", *out_name = "y";
    OrtValue *x = floats(v, 2), *y = NULL;
    const OrtValue *in = x;
    const void *data = NULL;
    for (int round = 0; round < 2; round++) {
        ok(ORT(Run)(s, NULL, &in_name, &in, 1, &out_name, 1, &y));
        ok(ORT(GetTensorData)(y, &data));
        CHECK_FLOATS(data, ((float[]){ 4, 8 }), 2, 0);
        ORT(ReleaseValue)(y), y = NULL;
    }
    /* What outlives the session must not need the kernels. */
    OrtModelMetadata *m = NULL;
    ok(ORT(SessionGetModelMetadata)(s, &m));
    ORT(ReleaseSession)(s);
    CHECK_INT(n_alive, 0);
    ORT(ReleaseModelMetadata)(m);
    ORT(ReleaseOp)(elu);
    ORT(ReleaseCustomOpDomain)(domain);
    ORT(ReleaseValue)(x);
}

static void texts(void)
{
    OrtCustomOpDomain *domain = NULL;
    OrtSessionOptions *o = with_domain(&domain);
    OrtSession *s = custom_session("<ir_version: 8, opset_import: [\"\": 17, \"test.custom\": 1]>\n"
                                   "g (string[1] x) => (string[K] y) <string[1] c = {\"and\"}> {\n"
                                   "  y = test.custom.Echo (x, c, x)\n"
                                   "}\n",
                                   o);
    ORT(ReleaseSessionOptions)(o);
    if (!s) return;
    int64_t dims = 1;
    const char *words[] = { "one" }, *bad[] = { "fail" }, *in_name = "x", *out_name = "y";
    OrtValue *x = NULL, *y = NULL;
    const OrtValue *in;
    char text[16] = { 0 };
    size_t at[3];
    ok(ORT(CreateTensorAsOrtValue)(allocator(), &dims, 1, 8, &x));
    in = x;
    ok(ORT(FillStringTensor)(x, words, 1));
    ok(ORT(Run)(s, NULL, &in_name, &in, 1, &out_name, 1, &y));
    ok(ORT(GetStringTensorContent)(y, text, sizeof text, at, 3));
    CHECK_STR(text, "oneandone");
    ORT(ReleaseValue)(y), y = NULL;
    ok(ORT(FillStringTensor)(x, bad, 1));
    refused(ORT(Run)(s, NULL, &in_name, &in, 1, &out_name, 1, &y), ORT_FAIL, "asked to fail");
    ORT(ReleaseSession)(s);
    ORT(ReleaseCustomOpDomain)(domain);
    ORT(ReleaseValue)(x);
}

static void libraries(void)
{
    OrtSessionOptions *o = NULL;
    ok(ORT(CreateSessionOptions)(&o));
    refused(ORT(RegisterCustomOpsLibrary_V2)(o, "/nowhere.so"), ORT_FAIL, "Failed to load library");
    refused(ORT(RegisterCustomOpsLibrary_V2)(o, "libm.so.6"), ORT_FAIL, "Failed to get symbol RegisterCustomOps");
    refused(ORT(RegisterCustomOpsUsingFunction)(o, "nobody_calls_it_so"), ORT_FAIL, "Failed to get symbol");
    ORT(ReleaseSessionOptions)(o);
}

static void attributes(void)
{
    static const int64_t ints[] = { 1, 2, 3 };
    const char *words[] = { "a", "bc" };
    int64_t got[3] = { 0 };
    char text[8] = { 0 };
    size_t need = 0;
    OrtOpAttr *a = NULL;
    ok(ORT(CreateOpAttr)("n", ints, 3, 2, &a));
    refused(ORT(ReadOpAttr)(a, 2, got, 8, &need), ORT_INVALID_ARGUMENT, "not large enough");
    CHECK_INT(need, 24);
    ok(ORT(ReadOpAttr)(a, 2, got, sizeof got, &need));
    CHECK_INT(got[2], 3);
    refused(ORT(ReadOpAttr)(a, 4, got, sizeof got, &need), ORT_INVALID_ARGUMENT, "another type");
    ORT(ReleaseOpAttr)(a);
    ok(ORT(CreateOpAttr)("s", words, 2, 6, &a));
    ok(ORT(ReadOpAttr)(a, 6, text, sizeof text, &need));
    CHECK_INT(need, 5);
    CHECK_STR(text + 2, "bc");
    ORT(ReleaseOpAttr)(a);
}

void test_custom(void)
{
    RUN(numbers);
    RUN(texts);
    RUN(libraries);
    RUN(attributes);
}
