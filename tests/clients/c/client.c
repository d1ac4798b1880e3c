/* A C program compiled against ONNX Runtime's official header: its structs, not ours, are what the library must read.
 * Usage: client FOLDER-OF-MODELS */
#include "onnxruntime_c_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const OrtApi *ort;
static const char *folder;
static OrtEnv *env;
static OrtAllocator *heap;
static OrtMemoryInfo *cpu;
static int passed, failed;

static int ok(OrtStatus *st, const char *what)
{
    if (!st) return 1;
    printf("FAILED %s: %s\n", what, ort->GetErrorMessage(st));
    ort->ReleaseStatus(st);
    return 0;
}
#define OK(call) ok(ort->call, #call)

static void count(const char *name, int good)
{
    if (good)
        passed++;
    else
        failed++, printf("FAILED %s\n", name);
}

static OrtSession *open_model(const char *name, const OrtSessionOptions *o)
{
    char path[4096];
    OrtSession *s = NULL;
    snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    OK(CreateSession(env, path, o, &s));
    return s;
}

static OrtValue *floats(float *v, int64_t n)
{
    OrtValue *out = NULL;
    OK(CreateTensorWithDataAsOrtValue(cpu, v, (size_t)n * sizeof *v, &n, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &out));
    return out;
}

static int equal(const OrtValue *v, const float *want, size_t n)
{
    float *got = NULL;
    size_t have = 0;
    OrtTensorTypeAndShapeInfo *info = NULL;
    if (!v || !OK(GetTensorMutableData((OrtValue *)v, (void **)&got)) || !OK(GetTensorTypeAndShape(v, &info))) return 0;
    OK(GetTensorShapeElementCount(info, &have));
    ort->ReleaseTensorTypeAndShapeInfo(info);
    return have == n && memcmp(got, want, n * sizeof *want) == 0;
}

/* -- bindings ------------------------------------------------------------------------------------------------------ */

static void bindings(void)
{
    float x[] = { 1, 2 }, y[2] = { 0 };
    OrtSession *s = open_model("scale", NULL);
    OrtIoBinding *b = NULL;
    OrtValue *in = floats(x, 2), *out = floats(y, 2), **made = NULL;
    size_t n = 0;
    int good = s && OK(CreateIoBinding(s, &b)) && OK(BindInput(b, "x", in)) && OK(BindOutput(b, "y", out)) &&
               OK(RunWithBinding(s, NULL, b)) && y[1] == 4;
    good = good && OK(BindOutputToDevice(b, "y", cpu)) && OK(RunWithBinding(s, NULL, b)) &&
           OK(GetBoundOutputValues(b, heap, &made, &n)) && n == 1 && equal(made[0], (float[]){ 2, 4 }, 2);
    if (made) ort->ReleaseValue(made[0]);
    if (made) OK(AllocatorFree(heap, made));
    count("bindings", good);
    ort->ReleaseIoBinding(b);
    ort->ReleaseValue(out);
    ort->ReleaseValue(in);
    ort->ReleaseSession(s);
}

/* -- an allocator of ours ------------------------------------------------------------------------------------------ */

static int blocks;

static void *ORT_API_CALL own_alloc(OrtAllocator *a, size_t n)
{
    (void)a;
    __atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED);
    return malloc(n);
}

static void ORT_API_CALL own_free(OrtAllocator *a, void *p)
{
    (void)a;
    if (p) __atomic_fetch_sub(&blocks, 1, __ATOMIC_RELAXED);
    free(p);
}

static const OrtMemoryInfo *ORT_API_CALL own_info(const OrtAllocator *a) { return (void)a, cpu; }

static void own_allocator(void)
{
    OrtAllocator a = { .version = ORT_API_VERSION, .Alloc = own_alloc, .Free = own_free, .Info = own_info };
    int64_t n = 4;
    OrtValue *v = NULL;
    void *data = NULL;
    int good = OK(CreateTensorAsOrtValue(&a, &n, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &v)) && blocks == 1 &&
               OK(GetTensorMutableData(v, &data)) && data;
    ort->ReleaseValue(v);
    count("an allocator of ours", good && blocks == 0);
}

/* -- custom operators ---------------------------------------------------------------------------------------------- */

typedef struct Kernel {
    float times;
} Kernel;

static int kernels;

static const char *ORT_API_CALL twice_name(const OrtCustomOp *op) { return (void)op, "Twice"; }
static const char *ORT_API_CALL shout_name(const OrtCustomOp *op) { return (void)op, "Shout"; }
static const char *ORT_API_CALL sum_name(const OrtCustomOp *op) { return (void)op, "Sum"; }
static const char *ORT_API_CALL provider(const OrtCustomOp *op) { return (void)op, NULL; }
static size_t ORT_API_CALL one(const OrtCustomOp *op) { return (void)op, 1; }
static int ORT_API_CALL one_int(const OrtCustomOp *op) { return (void)op, 1; }
static ONNXTensorElementDataType ORT_API_CALL is_float(const OrtCustomOp *op, size_t i)
{
    return (void)op, (void)i, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}
static ONNXTensorElementDataType ORT_API_CALL is_string(const OrtCustomOp *op, size_t i)
{
    return (void)op, (void)i, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
}
static OrtCustomOpInputOutputCharacteristic ORT_API_CALL required(const OrtCustomOp *op, size_t i)
{
    return (void)op, (void)i, INPUT_OUTPUT_REQUIRED;
}
static OrtCustomOpInputOutputCharacteristic ORT_API_CALL variadic(const OrtCustomOp *op, size_t i)
{
    return (void)op, (void)i, INPUT_OUTPUT_VARIADIC;
}

static OrtStatusPtr ORT_API_CALL create(const OrtCustomOp *op, const OrtApi *api, const OrtKernelInfo *info, void **out)
{
    Kernel *k = calloc(1, sizeof *k);
    OrtStatus *st = op->GetName(op) == twice_name(op) ? api->KernelInfoGetAttribute_float(info, "times", &k->times)
                                                      : NULL;
    *out = k;
    kernels++;
    return st;
}

static void ORT_API_CALL destroy(void *kernel)
{
    free(kernel);
    kernels--;
}

/* All inputs added, times the factor when there is one. */
static OrtStatusPtr ORT_API_CALL add_up(void *kernel, OrtKernelContext *c)
{
    const Kernel *k = kernel;
    size_t n_in = 0, n = 0;
    OrtValue *y = NULL;
    float *to = NULL;
    if (!OK(KernelContext_GetInputCount(c, &n_in))) return ort->CreateStatus(ORT_FAIL, "no inputs");
    for (size_t i = 0; i < n_in; i++) {
        const OrtValue *x = NULL;
        const float *from = NULL;
        OrtTensorTypeAndShapeInfo *info = NULL;
        int64_t dims[1];
        OK(KernelContext_GetInput(c, i, &x));
        OK(GetTensorMutableData((OrtValue *)x, (void **)&from));
        OK(GetTensorTypeAndShape(x, &info));
        OK(GetTensorShapeElementCount(info, &n));
        OK(GetDimensions(info, dims, 1));
        ort->ReleaseTensorTypeAndShapeInfo(info);
        if (i == 0) {
            OK(KernelContext_GetOutput(c, 0, dims, 1, &y));
            OK(GetTensorMutableData(y, (void **)&to));
            memset(to, 0, n * sizeof *to);
        }
        for (size_t e = 0; e < n; e++) to[e] += from[e] * (k->times ? k->times : 1);
    }
    return NULL;
}

static OrtStatusPtr ORT_API_CALL shout(void *kernel, OrtKernelContext *c)
{
    const OrtValue *x = NULL;
    OrtValue *y = NULL;
    char text[16] = { 0 };
    size_t n = 0;
    int64_t dims = 1;
    (void)kernel;
    OK(KernelContext_GetInput(c, 0, &x));
    OK(GetStringTensorElementLength(x, 0, &n));
    OK(GetStringTensorElement(x, n, 0, text));
    OK(KernelContext_GetOutput(c, 0, &dims, 1, &y));
    strcat(text, "!");
    return ort->FillStringTensorElement(y, text, 0);
}

static OrtCustomOp make_op(const char *(ORT_API_CALL *name)(const OrtCustomOp *), int is_text, int is_variadic)
{
    return (OrtCustomOp){ .version = ORT_API_VERSION,
                          .GetName = name,
                          .GetExecutionProviderType = provider,
                          .GetInputType = is_text ? is_string : is_float,
                          .GetInputTypeCount = one,
                          .GetOutputType = is_text ? is_string : is_float,
                          .GetOutputTypeCount = one,
                          .KernelDestroy = destroy,
                          .GetInputCharacteristic = is_variadic ? variadic : required,
                          .GetOutputCharacteristic = required,
                          .GetVariadicInputMinArity = one_int,
                          .GetVariadicInputHomogeneity = one_int,
                          .CreateKernelV2 = create,
                          .KernelComputeV2 = is_text ? shout : add_up };
}

static void custom_ops(void)
{
    OrtCustomOp ops[] = { make_op(twice_name, 0, 0), make_op(shout_name, 1, 0), make_op(sum_name, 0, 1) };
    OrtCustomOpDomain *domain = NULL;
    OrtSessionOptions *o = NULL;
    OK(CreateCustomOpDomain("test.custom", &domain));
    for (int i = 0; i < 3; i++) OK(CustomOpDomain_Add(domain, &ops[i]));
    OK(CreateSessionOptions(&o));
    OK(AddCustomOpDomain(o, domain));
    OrtSession *s = open_model("custom", o);
    ort->ReleaseSessionOptions(o);
    float v[] = { 1, 2 };
    int64_t dims = 1;
    const char *in_names[] = { "x", "s" }, *out_names[] = { "y", "u" }, *text = "hey";
    OrtValue *in[] = { floats(v, 2), NULL }, *out[2] = { NULL };
    char got[16] = { 0 };
    OK(CreateTensorAsOrtValue(heap, &dims, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &in[1]));
    OK(FillStringTensor(in[1], &text, 1));
    int good = s && kernels == 3 && OK(Run(s, NULL, in_names, (const OrtValue *const *)in, 2, out_names, 2, out)) &&
               equal(out[0], (float[]){ 8, 16 }, 2) && OK(GetStringTensorElement(out[1], 4, 0, got)) &&
               strcmp(got, "hey!") == 0;
    for (int i = 0; i < 2; i++) ort->ReleaseValue(out[i]), ort->ReleaseValue(in[i]);
    ort->ReleaseSession(s);
    ort->ReleaseCustomOpDomain(domain);
    count("custom operators", good && kernels == 0);
}

/* -- models made here ---------------------------------------------------------------------------------------------- */

static OrtValueInfo *vector(const OrtModelEditorApi *edit, const char *name)
{
    int64_t n = 2;
    OrtTensorTypeAndShapeInfo *shape = NULL;
    OrtTypeInfo *type = NULL;
    OrtValueInfo *v = NULL;
    OK(CreateTensorTypeAndShapeInfo(&shape));
    OK(SetTensorElementType(shape, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
    OK(SetDimensions(shape, &n, 1));
    ok(edit->CreateTensorTypeInfo(shape, &type), "CreateTensorTypeInfo");
    ok(edit->CreateValueInfo(name, type, &v), "CreateValueInfo");
    ort->ReleaseTypeInfo(type);
    ort->ReleaseTensorTypeAndShapeInfo(shape);
    return v;
}

static void editor(void)
{
    const OrtModelEditorApi *edit = ort->GetModelEditorApi();
    OrtGraph *g = NULL;
    OrtNode *node = NULL;
    OrtModel *m = NULL;
    OrtSession *s = NULL;
    OrtOpAttr *alpha = NULL;
    float half = 0.5f, v[] = { 2, -2 };
    const char *domain = "", *in_name = "x", *out_name = "y";
    int version = 17;
    OrtValueInfo *in[] = { vector(edit, "x") }, *out[] = { vector(edit, "y") };
    OK(CreateOpAttr("alpha", &half, 1, ORT_OP_ATTR_FLOAT, &alpha));
    int good = ok(edit->CreateGraph(&g), "CreateGraph") && ok(edit->SetGraphInputs(g, in, 1), "SetGraphInputs") &&
               ok(edit->SetGraphOutputs(g, out, 1), "SetGraphOutputs") &&
               ok(edit->CreateNode("LeakyRelu", "", "n", &in_name, 1, &out_name, 1, &alpha, 1, &node), "CreateNode") &&
               ok(edit->AddNodeToGraph(g, node), "AddNodeToGraph") &&
               ok(edit->CreateModel(&domain, &version, 1, &m), "CreateModel") &&
               ok(edit->AddGraphToModel(m, g), "AddGraphToModel") &&
               ok(edit->CreateSessionFromModel(env, m, NULL, &s), "CreateSessionFromModel");
    OrtValue *x = floats(v, 2), *y = NULL;
    good = good && OK(Run(s, NULL, &in_name, (const OrtValue *const *)&x, 1, &out_name, 1, &y)) &&
           equal(y, (float[]){ 2, -1 }, 2);
    ort->ReleaseValue(y);
    ort->ReleaseValue(x);
    ort->ReleaseSession(s);
    ort->ReleaseModel(m);
    count("model editor", good);
}

static void compiled(void)
{
    const OrtCompileApi *compile = ort->GetCompileApi();
    OrtModelCompilationOptions *c = NULL;
    OrtSessionOptions *o = NULL;
    OrtSession *s = NULL;
    char path[4096];
    void *bytes = NULL;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/scale.onnx", folder);
    OK(CreateSessionOptions(&o));
    int good = ok(compile->CreateModelCompilationOptionsFromSessionOptions(env, o, &c), "compilation options") &&
               ok(compile->ModelCompilationOptions_SetInputModelPath(c, path), "input") &&
               ok(compile->ModelCompilationOptions_SetOutputModelBuffer(c, heap, &bytes, &n), "output") &&
               ok(compile->CompileModel(env, c), "CompileModel") && OK(CreateSessionFromArray(env, bytes, n, o, &s));
    compile->ReleaseModelCompilationOptions(c);
    ort->ReleaseSessionOptions(o);
    ort->ReleaseSession(s);
    if (bytes) OK(AllocatorFree(heap, bytes));
    count("compile", good);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);
    if (!ort || !OK(CreateEnv(ORT_LOGGING_LEVEL_WARNING, "client", &env))) return 1;
    OK(GetAllocatorWithDefaultOptions(&heap));
    OK(CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &cpu));
    bindings();
    own_allocator();
    custom_ops();
    editor();
    compiled();
    ort->ReleaseMemoryInfo(cpu);
    ort->ReleaseEnv(env);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
