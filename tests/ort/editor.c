/* Building models, adding to them, and writing them optimized. */
#include "client.h"

enum {
#define SUB_edit(kind, name) EDIT_##name,
#include "ort/sub_tables.def"
};
enum {
#define SUB_compile(kind, name) COMPILE_##name,
#include "ort/sub_tables.def"
};
#define EDIT(name) ((__typeof__(&sdx_edit_##name))((const Fn *)ORT(GetModelEditorApi)())[EDIT_##name])
#define COMPILE(name) ((__typeof__(&sdx_compile_##name))((const Fn *)ORT(GetCompileApi)())[COMPILE_##name])

static OrtValueInfo *vector(const char *name, int64_t n)
{
    OrtTensorTypeAndShapeInfo *shape = NULL;
    OrtTypeInfo *type = NULL;
    OrtValueInfo *v = NULL;
    ok(ORT(CreateTensorTypeAndShapeInfo)(&shape));
    ok(ORT(SetTensorElementType)(shape, 1));
    ok(ORT(SetDimensions)(shape, &n, 1));
    ok(EDIT(CreateTensorTypeInfo)(shape, &type));
    ok(EDIT(CreateValueInfo)(name, type, &v));
    ORT(ReleaseTypeInfo)(type);
    ORT(ReleaseTensorTypeAndShapeInfo)(shape);
    return v;
}

/* y = LeakyRelu <alpha> (x * w), for x and y of n floats. */
static OrtGraph *leaky(int64_t n)
{
    OrtGraph *g = NULL;
    OrtNode *mul = NULL, *relu = NULL;
    OrtOpAttr *alpha = NULL;
    OrtValue *w = NULL;
    OrtValueInfo *in[] = { vector("x", n) }, *out[] = { vector("y", n) };
    void *data = NULL;
    float half = 0.5F;
    ok(EDIT(CreateGraph)(&g));
    ok(EDIT(SetGraphInputs)(g, in, 1));
    ok(EDIT(SetGraphOutputs)(g, out, 1));
    ok(ORT(CreateTensorAsOrtValue)(allocator(), &n, 1, 1, &w));
    ok(ORT(GetTensorMutableData)(w, &data));
    for (int64_t i = 0; i < n; i++) ((float *)data)[i] = (float)(i + 1);
    ok(EDIT(AddInitializerToGraph)(g, "w", w, false));
    static const char *const mul_in[] = { "x", "w" }, *const mul_out[] = { "t" }, *const relu_out[] = { "y" };
    ok(ORT(CreateOpAttr)("alpha", &half, 1, 3, &alpha));
    ok(EDIT(CreateNode)("Mul", "", "mul", mul_in, 2, mul_out, 1, NULL, 0, &mul));
    ok(EDIT(CreateNode)("LeakyRelu", "", "relu", mul_out, 1, relu_out, 1, &alpha, 1, &relu));
    ok(EDIT(AddNodeToGraph)(g, mul));
    ok(EDIT(AddNodeToGraph)(g, relu));
    return g;
}

static OrtModel *model_of(OrtGraph *g)
{
    static const char *const domains[] = { "" };
    static const int versions[] = { 17 };
    OrtModel *m = NULL;
    ok(EDIT(CreateModel)(domains, versions, 1, &m));
    ok(EDIT(AddGraphToModel)(m, g));
    return m;
}

static void check_run(OrtSession *s, const char *out_name, const float *want)
{
    float v[] = { 1, -1 };
    OrtValue *x = floats(v, 2), *y = NULL;
    const OrtValue *in = x;
    const char *in_name = "x";
    const void *data = NULL;
    ok(ORT(Run)(s, NULL, &in_name, &in, 1, &out_name, 1, &y));
    if (y) {
        ok(ORT(GetTensorData)(y, &data));
        CHECK_FLOATS(data, want, 2, 0);
    }
    ORT(ReleaseValue)(y);
    ORT(ReleaseValue)(x);
}

static OrtEnv *env_new(void)
{
    OrtEnv *env = NULL;
    ok(ORT(CreateEnv)(2, "", &env));
    return env;
}

static void built(void)
{
    OrtEnv *env = env_new();
    OrtModel *m = model_of(leaky(2));
    OrtSession *s = NULL;
    ok(EDIT(CreateSessionFromModel)(env, m, NULL, &s));
    ORT(ReleaseModel)(m);
    if (s) check_run(s, "y", (float[]){ 1, -1 });
    ORT(ReleaseSession)(s);
    static const char *const domains[] = { "" };
    static const int versions[] = { 17 };
    ok(EDIT(CreateModel)(domains, versions, 1, &m));
    refused(EDIT(CreateSessionFromModel)(env, m, NULL, &s), ORT_INVALID_ARGUMENT, "no graph");
    ORT(ReleaseModel)(m);
    ORT(ReleaseEnv)(env);
}

/* The bytes of y = 2 x, made final with z = -y instead of y. */
static void augmented(void)
{
    OrtEnv *env = env_new();
    OrtSession *s = NULL;
    Model *m = NULL;
    ImportOptions import = { .load = LOAD_COPY };
    Err err = { 0 };
    Buf *bytes = NULL;
    static const char text[] = "<ir_version: 8, opset_import: [\"\": 17]>\n"
                               "g (float[2] x) => (float[2] y) { y = Add (x, x) }\n";
    CHECK_INT(sdx_onnx_import_text(&sdx_alloc_default, text, sizeof text - 1, &import, &m, &err), SDX_OK);
    CHECK_INT(sdx_onnx_export_bytes(m, &bytes, &err), SDX_OK);
    sdx_model_destroy(m);
    ok(EDIT(CreateModelEditorSessionFromArray)(env, bytes->data, bytes->nbytes, NULL, &s));
    sdx_buf_release(bytes);
    if (!s) return;
    int opset = 0;
    ok(EDIT(SessionGetOpsetForDomain)(s, "", &opset));
    CHECK(opset > 0);
    refused(EDIT(SessionGetOpsetForDomain)(s, "none", &opset), ORT_INVALID_ARGUMENT, "none");

    OrtGraph *g = NULL;
    OrtNode *neg = NULL;
    OrtValueInfo *out[] = { vector("z", 2) };
    static const char *const in_names[] = { "y" }, *const out_names[] = { "z" };
    ok(EDIT(CreateGraph)(&g));
    ok(EDIT(SetGraphOutputs)(g, out, 1));
    ok(EDIT(CreateNode)("Neg", "", "neg", in_names, 1, out_names, 1, NULL, 0, &neg));
    ok(EDIT(AddNodeToGraph)(g, neg));
    OrtModel *more = NULL;
    ok(EDIT(CreateModel)(NULL, NULL, 0, &more));
    ok(EDIT(AddGraphToModel)(more, g));
    ok(EDIT(ApplyModelToModelEditorSession)(s, more));
    ORT(ReleaseModel)(more);
    ok(EDIT(FinalizeModelEditorSession)(s, NULL, NULL));
    refused(EDIT(FinalizeModelEditorSession)(s, NULL, NULL), ORT_FAIL, "final");
    check_run(s, "z", (float[]){ -2, 2 });
    ORT(ReleaseSession)(s);
    ORT(ReleaseEnv)(env);
}

static void compiled(void)
{
    OrtEnv *env = env_new();
    OrtSessionOptions *o = NULL;
    OrtModelCompilationOptions *c = NULL;
    OrtModel *m = model_of(leaky(2));
    OrtSession *s = NULL;
    void *bytes = NULL;
    size_t n = 0;
    ok(ORT(CreateSessionOptions)(&o));
    ok(COMPILE(CreateModelCompilationOptionsFromSessionOptions)(env, o, &c));
    ORT(ReleaseSessionOptions)(o);
    refused(COMPILE(CompileModel)(env, c), ORT_INVALID_ARGUMENT, "Input model");
    ok(COMPILE(ModelCompilationOptions_SetInputModel)(c, m));
    refused(COMPILE(CompileModel)(env, c), ORT_INVALID_ARGUMENT, "output");
    ok(COMPILE(ModelCompilationOptions_SetOutputModelBuffer)(c, allocator(), &bytes, &n));
    ok(COMPILE(CompileModel)(env, c));
    COMPILE(ReleaseModelCompilationOptions)(c);
    ORT(ReleaseModel)(m);
    if (bytes) ok(ORT(CreateSessionFromArray)(env, bytes, n, NULL, &s));
    ok(ORT(AllocatorFree)(allocator(), bytes));
    if (s) check_run(s, "y", (float[]){ 1, -1 });
    ORT(ReleaseSession)(s);
    ORT(ReleaseEnv)(env);
}

void test_editor(void)
{
    RUN(built);
    RUN(augmented);
    RUN(compiled);
}
