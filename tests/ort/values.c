/* Values, options and runs beyond the everyday. */
#include "client.h"

#include <pthread.h>
#include <stdlib.h>

static void key_values(void)
{
    OrtKeyValuePairs *kv = NULL;
    const char *const *keys, *const *values;
    size_t n = 0;
    ORT(CreateKeyValuePairs)(&kv);
    ORT(AddKeyValuePair)(kv, "a", "1");
    ORT(AddKeyValuePair)(kv, "b", "2");
    ORT(AddKeyValuePair)(kv, "a", "3");
    ORT(AddKeyValuePair)(kv, "", "4");
    CHECK_STR(ORT(GetKeyValue)(kv, "a"), "3");
    CHECK_STR(ORT(GetKeyValue)(kv, "c"), NULL);
    ORT(RemoveKeyValuePair)(kv, "a");
    ORT(GetKeyValuePairs)(kv, &keys, &values, &n);
    if (CHECK_INT(n, 1)) CHECK_STR(keys[0], "b");
    ORT(ReleaseKeyValuePairs)(kv);
}

static void memory_infos(void)
{
    OrtMemoryInfo *info = NULL;
    refused(ORT(CreateMemoryInfo)("Foo", 0, 0, 0, &info), ORT_INVALID_ARGUMENT, "not supported");
    ok(ORT(CreateMemoryInfo)("WebGPU_Buffer", 0, 0, 0, &info));
    int device = 0;
    ORT(MemoryInfoGetDeviceType)(info, &device);
    CHECK_INT(device, 1);
    ORT(ReleaseMemoryInfo)(info);
}

static void types(void)
{
    int64_t dims[] = { 2 };
    OrtValue *v = NULL;
    OrtTensorTypeAndShapeInfo *info = NULL;
    refused(ORT(CreateTensorAsOrtValue)(allocator(), dims, 1, 99, &v), ORT_NOT_IMPLEMENTED, "99");
    for (int code = 1; code <= 26; code++) {
        int got = 0;
        ok(ORT(CreateTensorAsOrtValue)(allocator(), dims, 1, code, &v));
        ok(ORT(GetTensorTypeAndShape)(v, &info));
        ok(ORT(GetTensorElementType)(info, &got));
        CHECK_INT(got, code);
        ORT(ReleaseTensorTypeAndShapeInfo)(info);
        ORT(ReleaseValue)(v);
    }
}

static void string_buffers(void)
{
    int64_t two = 2;
    OrtValue *v = NULL;
    char *buffer = NULL, text[8] = { 0 };
    ok(ORT(CreateTensorAsOrtValue)(allocator(), &two, 1, DT_STRING, &v));
    ok(ORT(FillStringTensorElement)(v, "first", 0));
    ok(ORT(GetResizedStringTensorElementBuffer)(v, 1, 3, &buffer));
    memcpy(buffer, "two", 3);
    ok(ORT(GetStringTensorElement)(v, 3, 1, text));
    CHECK_STR(text, "two");
    refused(ORT(GetResizedStringTensorElementBuffer)(v, 2, 3, &buffer), ORT_INVALID_ARGUMENT, "out of bounds");
    /* A value that shares the texts keeps its own when they change. */
    const OrtValue *in = v;
    OrtValue *seq = NULL, *item = NULL;
    ok(ORT(CreateValue)(&in, 1, 2, &seq));
    ok(ORT(FillStringTensorElement)(v, "changed", 0));
    ok(ORT(GetValue)(seq, 0, allocator(), &item));
    memset(text, 0, sizeof text);
    ok(ORT(GetStringTensorElement)(item, 5, 0, text));
    CHECK_STR(text, "first");
    ORT(ReleaseValue)(item);
    ORT(ReleaseValue)(seq);
    ORT(ReleaseValue)(v);
}

static const char scaling[] = "<ir_version: 8, opset_import: [\"\": 17]>\n"
                              "g (float[N] x) => (float[N] y) <float[1] two = {2}> { y = Mul (x, two) }\n";

static void initializers(void)
{
    float v[] = { 1, 2 }, five[] = { 5 }, wrong[] = { 1, 2 };
    OrtSessionOptions *o = NULL;
    OrtValue *x = floats(v, 2), *w = floats(five, 1), *bad = floats(wrong, 2), *y = NULL;
    const OrtValue *in = x;
    const char *in_name = "x", *out_name = "y";
    const void *data;
    ok(ORT(CreateSessionOptions)(&o));
    ok(ORT(AddInitializer)(o, "two", w));
    refused(ORT(AddInitializer)(o, "two", w), ORT_INVALID_ARGUMENT, "already been added");
    OrtSession *s = session_with(scaling, o);
    if (s) {
        ok(ORT(Run)(s, NULL, &in_name, &in, 1, &out_name, 1, &y));
        ok(ORT(GetTensorData)(y, &data));
        CHECK_FLOATS(data, ((float[]){ 5, 10 }), 2, 0);
        ORT(ReleaseValue)(y);
    }
    ORT(ReleaseSession)(s);
    ORT(ReleaseSessionOptions)(o);
    ok(ORT(CreateSessionOptions)(&o));
    const OrtValue *list[] = { w };
    const char *names[] = { "nobody" };
    ok(ORT(AddExternalInitializers)(o, names, list, 1));
    ORT(ReleaseSessionOptions)(o);
    ORT(ReleaseValue)(bad);
    ORT(ReleaseValue)(w);
    ORT(ReleaseValue)(x);
}

/* An adapter with the parameter `two` = {10}, as ONNX Runtime's converter writes it. */
static const uint8_t adapter[] = { 0x08, 0x00, 0x00, 0x00, 0x54, 0x4f, 0x52, 0x54, 0xe4, 0xff, 0xff, 0xff, 0x01, 0x00,
                                   0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00,
                                   0x01, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x14, 0x00, 0x04, 0x00,
                                   0x08, 0x00, 0x0c, 0x00, 0x10, 0x00, 0x0c, 0x00, 0x00, 0x00, 0x24, 0x00, 0x00, 0x00,
                                   0x14, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x04, 0x00,
                                   0x00, 0x00, 0x00, 0x00, 0x20, 0x41, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
                                   0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x74, 0x77, 0x6f, 0x00 };

static void adapters(void)
{
    float v[] = { 1, 2 };
    OrtSession *s = session("<ir_version: 8, opset_import: [\"\": 17]>\n"
                            "g (float[N] x, float[1] two = {2}) => (float[N] y) { y = Mul (x, two) }\n");
    OrtValue *x = floats(v, 2), *y = NULL;
    const OrtValue *in = x;
    const char *in_name = "x", *out_name = "y";
    OrtLoraAdapter *a = NULL;
    OrtRunOptions *ro = NULL;
    const void *data;
    uint8_t bad[sizeof adapter];
    refused(ORT(CreateLoraAdapterFromArray)(v, sizeof v, NULL, &a), ORT_FAIL, "valid lora parameter format");
    for (size_t i = 0; i < sizeof adapter; i++) {
        memcpy(bad, adapter, sizeof bad);
        bad[i] ^= 0xff;
        OrtStatus *st = ORT(CreateLoraAdapterFromArray)(bad, sizeof bad, NULL, &a);
        if (!st) ORT(ReleaseLoraAdapter)(a);
        ORT(ReleaseStatus)(st);
    }
    ok(ORT(CreateLoraAdapterFromArray)(adapter, sizeof adapter, NULL, &a));
    ok(ORT(CreateRunOptions)(&ro));
    ok(ORT(RunOptionsAddActiveLoraAdapter)(ro, a));
    if (s) ok(ORT(Run)(s, ro, &in_name, &in, 1, &out_name, 1, &y));
    if (y) {
        ok(ORT(GetTensorData)(y, &data));
        CHECK_FLOATS(data, ((float[]){ 10, 20 }), 2, 0);
    }
    ORT(ReleaseValue)(y);
    ORT(ReleaseValue)(x);
    ORT(ReleaseRunOptions)(ro);
    ORT(ReleaseLoraAdapter)(a);
    ORT(ReleaseSession)(s);
}

static void sparse(void)
{
    int64_t dense[] = { 2, 3 }, nnz = 2, coo[] = { 1, 5 }, inner[] = { 1, 2 }, outer[] = { 0, 1, 2 };
    float v[] = { 7, 8 };
    OrtValue *s = NULL;
    OrtTensorTypeAndShapeInfo *info = NULL;
    int format = 0;
    size_t n = 0;
    const void *data = NULL;
    ok(ORT(CreateSparseTensorAsOrtValue)(allocator(), dense, 2, 1, &s));
    ok(ORT(GetSparseTensorFormat)(s, &format));
    CHECK_INT(format, 0);
    refused(ORT(FillSparseTensorCoo)(s, &sdx_ort_cpu_info, &nnz, 1, v, coo, 3), ORT_INVALID_ARGUMENT, "3 indices");
    ok(ORT(FillSparseTensorCoo)(s, &sdx_ort_cpu_info, &nnz, 1, v, coo, 2));
    refused(ORT(FillSparseTensorCoo)(s, &sdx_ort_cpu_info, &nnz, 1, v, coo, 2), ORT_FAIL, "format");
    ok(ORT(GetSparseTensorIndices)(s, 0, &n, &data));
    CHECK_INT(((const int64_t *)data)[1], 5);
    refused(ORT(GetSparseTensorIndices)(s, 1, &n, &data), ORT_FAIL, "format 1");
    ok(ORT(GetSparseTensorValues)(s, &data));
    CHECK_FLOATS(data, v, 2, 0);
    ok(ORT(GetTensorTypeAndShape)(s, &info));
    ok(ORT(GetTensorShapeElementCount)(info, &n));
    CHECK_INT(n, 6);
    ORT(ReleaseTensorTypeAndShapeInfo)(info);
    ORT(ReleaseValue)(s);
    ok(ORT(CreateSparseTensorWithValuesAsOrtValue)(&sdx_ort_cpu_info, v, dense, 2, &nnz, 1, 1, &s));
    ok(ORT(UseCsrIndices)(s, inner, 2, outer, 3));
    ok(ORT(GetSparseTensorIndices)(s, 2, &n, &data));
    CHECK(data == outer && n == 3);
    ORT(ReleaseValue)(s);
}

static pthread_mutex_t async_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t async_done = PTHREAD_COND_INITIALIZER;

static void count_run(void *user, OrtValue **out, size_t n, OrtStatus *st)
{
    bool good = !st && n == 1 && out[0];
    ORT(ReleaseStatus)(st);
    pthread_mutex_lock(&async_lock);
    *(int *)user += good;
    pthread_cond_signal(&async_done);
    pthread_mutex_unlock(&async_lock);
}

static void async_runs(void)
{
    enum { RUNS = 20 };
    float v[] = { 1, 2 };
    OrtValue *x = floats(v, 2), *y[RUNS] = { NULL };
    const OrtValue *in = x;
    static const char *const in_name[] = { "x" }, *const out_name[] = { "y" };
    OrtSession *s = session(scaling);
    int good = 0;
    if (!s) return;
    refused(ORT(RunAsync)(s, NULL, in_name, &in, 1, out_name, 1, y, NULL, NULL), ORT_INVALID_ARGUMENT, "NULL");
    for (int i = 0; i < RUNS; i++) ok(ORT(RunAsync)(s, NULL, in_name, &in, 1, out_name, 1, &y[i], count_run, &good));
    pthread_mutex_lock(&async_lock);
    while (good < RUNS) pthread_cond_wait(&async_done, &async_lock);
    pthread_mutex_unlock(&async_lock);
    ORT(ReleaseSession)(s);
    for (int i = 0; i < RUNS; i++) ORT(ReleaseValue)(y[i]);
    ORT(ReleaseValue)(x);
}

static int n_blocks;

static void *counted_alloc(OrtAllocator *self, size_t n)
{
    (void)self;
    __atomic_fetch_add(&n_blocks, 1, __ATOMIC_RELAXED);
    return malloc(n);
}

static void counted_free(OrtAllocator *self, void *p)
{
    (void)self;
    if (p) __atomic_fetch_sub(&n_blocks, 1, __ATOMIC_RELAXED);
    free(p);
}

static const OrtMemoryInfo *counted_info(const OrtAllocator *self) { return (void)self, &sdx_ort_cpu_info; }

static void registered_allocator(void)
{
    OrtAllocator mine = { .version = 18, .Alloc = counted_alloc, .Free = counted_free, .Info = counted_info };
    OrtEnv *env = NULL;
    OrtSessionOptions *o = NULL;
    ok(ORT(CreateEnv)(2, "", &env));
    ok(ORT(RegisterAllocator)(env, &mine));
    ok(ORT(CreateSessionOptions)(&o));
    ok(ORT(AddSessionConfigEntry)(o, "session.use_env_allocators", "1"));
    OrtSession *s = session_with(scaling, o);
    CHECK(n_blocks > 0);
    ORT(ReleaseSession)(s);
    CHECK_INT(n_blocks, 0);
    ok(ORT(UnregisterAllocator)(env, &sdx_ort_cpu_info));
    refused(ORT(UnregisterAllocator)(env, &sdx_ort_cpu_info), ORT_INVALID_ARGUMENT, "registered");
    ORT(ReleaseSessionOptions)(o);
    ORT(ReleaseEnv)(env);
}

static void other_providers(void)
{
    OrtSessionOptions *o = NULL;
    void *cuda = NULL;
    OrtEnv *env = NULL;
    const OrtEpDevice *const *devices = NULL;
    size_t n = 0;
    ok(ORT(CreateEnv)(2, "", &env));
    ok(ORT(CreateSessionOptions)(&o));
    refused(ORT(CreateCUDAProviderOptions)(&cuda), ORT_FAIL, "CUDA execution provider is not enabled");
    refused(ORT(SessionOptionsAppendExecutionProvider)(o, "XNNPACK", NULL, NULL, 0), ORT_INVALID_ARGUMENT, "XNNPACK");
    ok(ORT(SessionOptionsAppendExecutionProvider)(o, "CPU", NULL, NULL, 0));
    ok(ORT(GetEpDevices)(env, &devices, &n));
    if (CHECK_INT(n, 1)) {
        CHECK_STR(ORT(EpDevice_EpName)(devices[0]), "CPUExecutionProvider");
        CHECK_STR(ORT(GetKeyValue)(ORT(EpDevice_EpMetadata)(devices[0]), "version"), ORT_VERSION_TEXT);
        ok(ORT(SessionOptionsAppendExecutionProvider_V2)(o, env, devices, 1, NULL, NULL, 0));
    }
    ORT(ReleaseSessionOptions)(o);
    ORT(ReleaseEnv)(env);
}

static void open_failures(void)
{
    OrtEnv *env = NULL;
    OrtSession *s = NULL;
    ok(ORT(CreateEnv)(2, "", &env));
    refused(ORT(CreateSession)(env, "/nowhere.onnx", NULL, &s), ORT_NO_SUCHFILE, "File doesn't exist");
    refused(ORT(CreateSessionFromArray)(env, "no model", 8, NULL, &s), ORT_INVALID_PROTOBUF, "protobuf");
    OrtSessionOptions *o = NULL;
    ok(ORT(CreateSessionOptions)(&o));
    ok(ORT(SetOptimizedModelFilePath)(o, "ort_test.ort"));
    refused(ORT(CreateSession)(env, SDX_TEST_DATA "/scale.ort", o, &s), ORT_NOT_IMPLEMENTED, "ORT format");
    ORT(ReleaseSessionOptions)(o);
    ok(ORT(CreateSession)(env, SDX_TEST_DATA "/scale.ort", NULL, &s));
    ORT(ReleaseSession)(s);
    ORT(ReleaseEnv)(env);
}

static void log_count(void *user, int severity, const char *category, const char *id, const char *place,
                      const char *text)
{
    (void)severity, (void)category, (void)id, (void)place;
    *(int *)user += strstr(text, "successfully") != NULL;
}

static void logs(void)
{
    OrtSessionOptions *o = NULL;
    int n = 0;
    ok(ORT(CreateSessionOptions)(&o));
    ok(ORT(SetUserLoggingFunction)(o, log_count, &n));
    ORT(ReleaseSession)(session_with(scaling, o));
    CHECK_INT(n, 0); /* below the environment's severity */
    ok(ORT(SetSessionLogSeverityLevel)(o, 0));
    ORT(ReleaseSession)(session_with(scaling, o));
    CHECK_INT(n, 1);
    ORT(ReleaseSessionOptions)(o);
}

static void profiles(void)
{
    float v[] = { 1, 2 };
    OrtSessionOptions *o = NULL;
    char *path = NULL, text[4096] = { 0 };
    const char *in_name = "x", *out_name = "y";
    OrtValue *x = floats(v, 2), *y = NULL;
    const OrtValue *in = x;
    ok(ORT(CreateSessionOptions)(&o));
    ok(ORT(EnableProfiling)(o, "ort_test_profile"));
    OrtSession *s = session_with(scaling, o);
    ORT(ReleaseSessionOptions)(o);
    if (!s) return;
    ok(ORT(Run)(s, NULL, &in_name, &in, 1, &out_name, 1, &y));
    ok(ORT(SessionEndProfiling)(s, allocator(), &path));
    FILE *f = fopen(path, "r");
    if (CHECK(f != NULL)) {
        CHECK(fread(text, 1, sizeof text - 1, f) > 0);
        fclose(f);
    }
    CHECK_HAS(text, "_kernel_time");
    CHECK_HAS(text, "\"input_type_shape\":[{\"float\":[2]},{\"float\":[1]}]");
    CHECK_HAS(text, "session_initialization");
    remove(path);
    ok(ORT(AllocatorFree)(allocator(), path));
    ORT(ReleaseValue)(y);
    ORT(ReleaseValue)(x);
    ORT(ReleaseSession)(s);
}

typedef struct OwnThread {
    void (*main)(void *arg);
    void *arg;
    pthread_t id;
} OwnThread;
static int n_started, n_joined;

static void *thread_main(void *p)
{
    OwnThread *t = p;
    t->main(t->arg);
    return NULL;
}

static const void *thread_create(void *options, void (*main)(void *arg), void *arg)
{
    OwnThread *t = malloc(sizeof *t);
    CHECK(options == &n_started);
    *t = (OwnThread){ .main = main, .arg = arg };
    n_started++;
    return pthread_create(&t->id, NULL, thread_main, t) == 0 ? t : NULL;
}

static void thread_join(const void *thread)
{
    pthread_join(((const OwnThread *)thread)->id, NULL);
    free((void *)thread);
    n_joined++;
}

static void own_threads(void)
{
    OrtSessionOptions *o = NULL;
    OrtEnv *env = NULL;
    OrtSession *s = NULL;
    ok(ORT(CreateEnv)(2, "", &env));
    ok(ORT(CreateSessionOptions)(&o));
    ok(ORT(SetIntraOpNumThreads)(o, 3));
    ok(ORT(SessionOptionsSetCustomCreateThreadFn)(o, thread_create));
    ok(ORT(SessionOptionsSetCustomThreadCreationOptions)(o, &n_started));
    refused(ORT(CreateSessionFromArray)(env, "no model", 8, o, &s), ORT_INVALID_ARGUMENT, "joins threads");
    ok(ORT(SessionOptionsSetCustomJoinThreadFn)(o, thread_join));
    refused(ORT(CreateSessionFromArray)(env, "no model", 8, o, &s), ORT_INVALID_PROTOBUF, "");
    CHECK_INT(n_started, n_joined);
    s = session_with(scaling, o);
    CHECK_INT(n_started - n_joined, 2);
    ORT(ReleaseSession)(s);
    CHECK_INT(n_started, n_joined);
    ORT(ReleaseSessionOptions)(o);
    OrtThreadingOptions *t = NULL;
    OrtEnv *shared = NULL, *pinned = NULL;
    ok(ORT(CreateThreadingOptions)(&t));
    ok(ORT(SetGlobalIntraOpNumThreads)(t, 3));
    ok(ORT(SetGlobalIntraOpThreadAffinity)(t, "1;1-2"));
    ok(ORT(CreateEnvWithGlobalThreadPools)(2, "", t, &pinned));
    ok(ORT(CreateSessionOptions)(&o));
    ok(ORT(DisablePerSessionThreads)(o));
    ORT(ReleaseSession)(session_with(scaling, o));
    ORT(ReleaseSessionOptions)(o);
    ORT(ReleaseEnv)(pinned);
    ORT(ReleaseEnv)(env);
    ORT(ReleaseThreadingOptions)(t);
    ok(ORT(CreateThreadingOptions)(&t));
    ok(ORT(SetGlobalIntraOpNumThreads)(t, 2));
    ok(ORT(SetGlobalCustomCreateThreadFn)(t, thread_create));
    ok(ORT(SetGlobalCustomThreadCreationOptions)(t, &n_started));
    ok(ORT(SetGlobalCustomJoinThreadFn)(t, thread_join));
    ok(ORT(CreateEnvWithGlobalThreadPools)(2, "", t, &shared));
    ORT(ReleaseThreadingOptions)(t);
    CHECK_INT(n_started - n_joined, 1);
    ORT(ReleaseEnv)(shared);
    CHECK_INT(n_started, n_joined);
}

void test_values(void)
{
    RUN(key_values);
    RUN(memory_infos);
    RUN(types);
    RUN(string_buffers);
    RUN(initializers);
    RUN(adapters);
    RUN(sparse);
    RUN(async_runs);
    RUN(registered_allocator);
    RUN(other_providers);
    RUN(open_failures);
    RUN(logs);
    RUN(profiles);
    RUN(own_threads);
}
