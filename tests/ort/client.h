/* What the tests of the ABI share: the table as a client sees it, sessions from text, tensors. */
#ifndef SDX_TESTS_ORT_CLIENT_H
#define SDX_TESTS_ORT_CLIENT_H

#include <stdio.h>
#include <string.h>

#include "onnx/onnx.h"
#include "ort/entries_model.h"
#include "tests/harness.h"

enum {
#define ORT_HAVE(name) AT_##name,
#define ORT_STATUS(name) AT_##name,
#include "ort/ort_api.def"
#undef ORT_HAVE
#undef ORT_STATUS
};

typedef struct OrtApiBase {
    const void *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} OrtApiBase;
const OrtApiBase *OrtGetApiBase(void);

typedef void (*Fn)(void);
extern const Fn *table; /* set by main */

/* An entry with the type of its implementation. */
#define ORT(name) ((__typeof__(&sdx_ort_##name))table[AT_##name])

static inline bool ok(OrtStatus *st)
{
    bool good = CHECK_STR(st ? ORT(GetErrorMessage)(st) : NULL, NULL);
    ORT(ReleaseStatus)(st);
    return good;
}

static inline void refused(OrtStatus *st, int code, const char *part)
{
    CHECK_INT(ORT(GetErrorCode)(st), code);
    CHECK_HAS(ORT(GetErrorMessage)(st), part);
    ORT(ReleaseStatus)(st);
}

static inline OrtAllocator *allocator(void)
{
    OrtAllocator *a = NULL;
    ok(ORT(GetAllocatorWithDefaultOptions)(&a));
    return a;
}

static inline OrtSession *session_with(const char *text, const OrtSessionOptions *o)
{
    Model *m = NULL;
    ImportOptions import = { .load = LOAD_COPY };
    Err err = { 0 };
    Buf *bytes = NULL;
    OrtSession *s = NULL;
    OrtEnv *env = NULL;
    ok(ORT(CreateEnv)(2, "test", &env));
    CHECK_INT(sdx_onnx_import_text(&sdx_alloc_default, text, strlen(text), &import, &m, &err), SDX_OK);
    if (m) CHECK_INT(sdx_onnx_export_bytes(m, &bytes, &err), SDX_OK);
    sdx_model_destroy(m);
    if (bytes) ok(ORT(CreateSessionFromArray)(env, bytes->data, bytes->nbytes, o, &s));
    sdx_buf_release(bytes);
    ORT(ReleaseEnv)(env);
    return s;
}

static inline OrtSession *session(const char *text) { return session_with(text, NULL); }

static inline OrtValue *floats(float *v, int64_t n)
{
    OrtMemoryInfo *info = NULL;
    OrtValue *out = NULL;
    ok(ORT(CreateCpuMemoryInfo)(0, 0, &info));
    ok(ORT(CreateTensorWithDataAsOrtValue)(info, v, (size_t)n * sizeof *v, &n, 1, DT_FLOAT, &out));
    ORT(ReleaseMemoryInfo)(info);
    return out;
}

void test_custom(void);
void test_values(void);
void test_editor(void);

#endif
