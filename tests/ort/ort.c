/* The C ABI as a client sees it: through the table that OrtGetApiBase gives. */
#include "client.h"

const Fn *table;

static const char doubling[] = "<ir_version: 8, opset_import: [\"\": 17]>\n"
                               "g (float[N] x) => (float[N] y) { y = Add (x, x) }\n";

static void versions(void)
{
    const OrtApiBase *base = OrtGetApiBase();
    CHECK(base->GetApi(1) == (const void *)table);
    CHECK(base->GetApi(0) == NULL);
    CHECK(base->GetApi(ORT_API_VERSION + 1) == NULL);
    CHECK_STR(base->GetVersionString(), ORT_VERSION_TEXT);
    OrtStatus *(*missing)(void) = (OrtStatus * (*)(void)) table[AT_Graph_GetGraphView];
    refused(missing(), ORT_NOT_IMPLEMENTED, "Graph_GetGraphView");
}

static void run_and_cancel(void)
{
    const char *in_name = "x", *out_name = "y";
    float v[] = { 1, 2, 3 };
    OrtSession *s = session(doubling);
    OrtValue *x = floats(v, 3), *y = NULL;
    const OrtValue *in = x;
    OrtRunOptions *ro = NULL;
    const void *data = NULL;
    if (!s) return;
    ok(ORT(CreateRunOptions)(&ro));
    ok(ORT(Run)(s, ro, &in_name, &in, 1, &out_name, 1, &y));
    ok(ORT(GetTensorData)(y, &data));
    CHECK_FLOATS(data, ((float[]){ 2, 4, 6 }), 3, 0);
    ORT(ReleaseValue)(y), y = NULL;
    ok(ORT(RunOptionsSetTerminate)(ro));
    refused(ORT(Run)(s, ro, &in_name, &in, 1, &out_name, 1, &y), ORT_FAIL, "terminate flag");
    ok(ORT(RunOptionsUnsetTerminate)(ro));
    ok(ORT(AddRunConfigEntry)(ro, "memory.enable_memory_arena_shrinkage", "cpu:0"));
    ok(ORT(Run)(s, ro, &in_name, &in, 1, &out_name, 1, &y));
    ORT(ReleaseValue)(y);
    ORT(ReleaseValue)(x);
    ORT(ReleaseRunOptions)(ro);
    ORT(ReleaseSession)(s);
}

static void bindings(void)
{
    float v[] = { 1, 2 }, w[2] = { 0 };
    OrtSession *s = session(doubling);
    OrtValue *x = floats(v, 2), *y = floats(w, 2), **got = NULL;
    OrtIoBinding *b = NULL;
    size_t n = 0;
    const void *data = NULL;
    if (!s) return;
    ok(ORT(CreateIoBinding)(s, &b));
    refused(ORT(BindInput)(b, "nobody", x), ORT_FAIL, "Unknown input name");
    ok(ORT(BindInput)(b, "x", x));
    ok(ORT(BindOutput)(b, "y", y));
    ok(ORT(RunWithBinding)(s, NULL, b));
    CHECK_FLOATS(w, ((float[]){ 2, 4 }), 2, 0);
    ok(ORT(BindOutputToDevice)(b, "y", &sdx_ort_cpu_info));
    refused(ORT(GetBoundOutputValues)(b, allocator(), &got, &n), ORT_INVALID_ARGUMENT, "before a run");
    for (int round = 0; round < 2; round++) {
        v[0] += 1;
        ok(ORT(RunWithBinding)(s, NULL, b));
        ok(ORT(GetBoundOutputValues)(b, allocator(), &got, &n));
        if (!CHECK_INT(n, 1)) break;
        ok(ORT(GetTensorData)(got[0], &data));
        CHECK_FLOATS(data, ((float[]){ 2 * v[0], 4 }), 2, 0);
        ORT(ReleaseValue)(got[0]);
        ok(ORT(AllocatorFree)(allocator(), got));
    }
    ORT(ReleaseIoBinding)(b);
    ORT(ReleaseValue)(x);
    ORT(ReleaseValue)(y);
    ORT(ReleaseSession)(s);
}

static void strings(void)
{
    const char *text[] = { "one", "", "three" };
    int64_t three = 3;
    size_t n = 0, offsets[3];
    char bytes[16] = { 0 };
    OrtValue *v = NULL;
    ok(ORT(CreateTensorAsOrtValue)(allocator(), &three, 1, DT_STRING, &v));
    if (!v) return;
    refused(ORT(FillStringTensor)(v, text, 2), ORT_INVALID_ARGUMENT, "tensor size");
    ok(ORT(FillStringTensor)(v, text, 3));
    ok(ORT(FillStringTensorElement)(v, "zwei", 1));
    ok(ORT(GetStringTensorDataLength)(v, &n));
    CHECK_INT(n, 12);
    refused(ORT(GetStringTensorContent)(v, bytes, 4, offsets, 3), ORT_FAIL, "too small");
    ok(ORT(GetStringTensorContent)(v, bytes, sizeof bytes, offsets, 3));
    CHECK_STR(bytes, "onezweithree");
    CHECK_INT(offsets[2], 7);
    refused(ORT(GetStringTensorElementLength)(v, 3, &n), ORT_INVALID_ARGUMENT, "out of bounds");
    ORT(ReleaseValue)(v);
}

/* A caller's tensor of strings receives the result. */
static void strings_out(void)
{
    OrtSession *s = session("<ir_version: 8, opset_import: [\"\": 17]>\n"
                            "g (string[N] x) => (string[N] y) { y = Identity (x) }\n");
    const char *text[] = { "a", "bc" }, *in_name = "x", *out_name = "y";
    OrtValue *v[3] = { NULL };
    if (!s) return;
    static const int64_t sizes[] = { 2, 2, 1 };
    for (int i = 0; i < 3; i++) ok(ORT(CreateTensorAsOrtValue)(allocator(), &sizes[i], 1, DT_STRING, &v[i]));
    ok(ORT(FillStringTensor)(v[0], text, 2));
    const OrtValue *in = v[0];
    size_t len = 0;
    ok(ORT(Run)(s, NULL, &in_name, &in, 1, &out_name, 1, &v[1]));
    ok(ORT(GetStringTensorDataLength)(v[1], &len));
    CHECK_INT(len, 3);
    refused(ORT(Run)(s, NULL, &in_name, &in, 1, &out_name, 1, &v[2]), ORT_INVALID_ARGUMENT, "output `y`");
    for (int i = 0; i < 3; i++) ORT(ReleaseValue)(v[i]);
    ORT(ReleaseSession)(s);
}

static void sequences(void)
{
    float v[] = { 1, 2 };
    OrtValue *x = floats(v, 2), *seq = NULL, *item = NULL;
    const OrtValue *in[] = { x, x };
    OrtTypeInfo *info = NULL, *of = NULL;
    const OrtTypeInfo *as_seq = NULL;
    size_t n = 0;
    int kind = 0;
    ok(ORT(CreateValue)(in, 2, 2, &seq));
    if (!seq) return;
    ok(ORT(GetValueCount)(seq, &n));
    CHECK_INT(n, 2);
    ok(ORT(GetValueType)(seq, &kind));
    CHECK_INT(kind, 2);
    ok(ORT(GetValue)(seq, 1, allocator(), &item));
    in[0] = in[1] = seq;
    refused(ORT(CreateValue)(in, 2, 2, &item), ORT_FAIL, "tensors or maps");
    refused(ORT(GetValue)(seq, 2, allocator(), &item), ORT_FAIL, "outside");
    ok(ORT(GetTypeInfo)(seq, &info));
    ok(ORT(CastTypeInfoToSequenceTypeInfo)(info, &as_seq));
    ok(ORT(GetSequenceElementType)(as_seq, &of));
    ORT(ReleaseTypeInfo)(info);
    ok(ORT(GetOnnxTypeFromTypeInfo)(of, &kind));
    CHECK_INT(kind, 1);
    ORT(ReleaseTypeInfo)(of);
    ORT(ReleaseValue)(item);
    ORT(ReleaseValue)(seq);
    ORT(ReleaseValue)(x);
}

static void configuration(void)
{
    OrtSessionOptions *o = NULL, *copy = NULL;
    char text[8];
    size_t size = sizeof text;
    int has = 0;
    ok(ORT(CreateSessionOptions)(&o));
    ok(ORT(AddSessionConfigEntry)(o, "a.key", "1"));
    refused(ORT(AddSessionConfigEntry)(o, "", "1"), ORT_INVALID_ARGUMENT, "Config key is empty");
    refused(ORT(AddSessionConfigEntry)(o, "session.intra_op_num_threads", "two"), ORT_INVALID_ARGUMENT, "int32");
    ok(ORT(AddSessionConfigEntry)(o, "session.intra_op_num_threads", "2"));
    refused(ORT(AddSessionConfigEntry)(o, "session.execution_mode", "x"), ORT_INVALID_ARGUMENT, "parallel");
    ok(ORT(AddSessionConfigEntry)(o, "session.enable_mem_pattern", "false"));
    ok(ORT(GetMemPatternEnabled)(o, &has));
    CHECK_INT(has, 0);
    ok(ORT(HasSessionConfigEntry)(o, "session.enable_mem_pattern", &has));
    CHECK_INT(has, 0);
    ok(ORT(CloneSessionOptions)(o, &copy));
    ORT(ReleaseSessionOptions)(o);
    ok(ORT(HasSessionConfigEntry)(copy, "a.key", &has));
    CHECK_INT(has, 1);
    ok(ORT(GetSessionConfigEntry)(copy, "a.key", text, &size));
    CHECK_STR(text, "1");
    ORT(ReleaseSessionOptions)(copy);
}

static void affinities(void)
{
    static const struct {
        const char *text, *part;
    } bad[] = { { "", "must not be empty" }, { "0;1", "start from 1" },  { "2-1;1", "interval" },
                { "a;1", "only digits" },    { "1,x;1", "only digits" }, { "1", "affinities: 1" },
                { "1;2;3", "affinities: 3" } };
    OrtEnv *env = NULL;
    OrtSession *s = NULL;
    ok(ORT(CreateEnv)(2, "", &env));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        OrtSessionOptions *o = NULL;
        ok(ORT(CreateSessionOptions)(&o));
        ok(ORT(SetIntraOpNumThreads)(o, 3));
        ok(ORT(AddSessionConfigEntry)(o, "session.intra_op_thread_affinities", bad[i].text));
        refused(ORT(CreateSessionFromArray)(env, "none", 4, o, &s), ORT_FAIL, bad[i].part);
        ok(ORT(AddSessionConfigEntry)(o, "session.intra_op_thread_affinities", "1,2;3-4"));
        refused(ORT(CreateSessionFromArray)(env, "none", 4, o, &s), ORT_INVALID_PROTOBUF, "");
        ok(ORT(DisablePerSessionThreads)(o));
        refused(ORT(CreateSessionFromArray)(env, "none", 4, o, &s), ORT_FAIL, "CreateEnvWithGlobalThreadPools");
        ORT(ReleaseSessionOptions)(o);
    }
    ORT(ReleaseEnv)(env);
}

static void metadata(void)
{
    OrtSession *s = session(doubling);
    OrtModelMetadata *m = NULL;
    char *name = NULL;
    if (!s) return;
    ok(ORT(SessionGetModelMetadata)(s, &m));
    ORT(ReleaseSession)(s);
    ok(ORT(ModelMetadataGetGraphName)(m, allocator(), &name));
    CHECK_STR(name, "g");
    ok(ORT(AllocatorFree)(allocator(), name));
    ok(ORT(ModelMetadataLookupCustomMetadataMap)(m, allocator(), "none", &name));
    CHECK(name == NULL);
    ORT(ReleaseModelMetadata)(m);
}

static void nothing_given(void)
{
    refused(ORT(Run)(NULL, NULL, NULL, NULL, 0, NULL, 0, NULL), ORT_INVALID_ARGUMENT, "NULL");
    refused(ORT(GetTypeInfo)(NULL, NULL), ORT_INVALID_ARGUMENT, "NULL");
    refused(ORT(CreateIoBinding)(NULL, NULL), ORT_INVALID_ARGUMENT, "NULL");
    refused(ORT(CreateSession)(NULL, NULL, NULL, NULL), ORT_INVALID_ARGUMENT, "NULL");
    refused(ORT(SessionGetInputName)(NULL, 0, NULL, NULL), ORT_INVALID_ARGUMENT, "NULL");
    refused(ORT(GetDimensions)(NULL, NULL, 0), ORT_INVALID_ARGUMENT, "NULL");
    ORT(ReleaseValue)(NULL);
    ORT(ReleaseIoBinding)(NULL);
    ORT(ReleaseTypeInfo)(NULL);
    ORT(ReleaseRunOptions)(NULL);
    ORT(ReleaseModelMetadata)(NULL);
}

int main(void)
{
    table = OrtGetApiBase()->GetApi(ORT_API_VERSION);
    RUN(versions);
    RUN(run_and_cancel);
    RUN(bindings);
    RUN(strings);
    RUN(strings_out);
    RUN(sequences);
    RUN(configuration);
    RUN(affinities);
    RUN(metadata);
    RUN(nothing_given);
    test_custom();
    test_values();
    test_editor();
    return sdx_harness_finish();
}
