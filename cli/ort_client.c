#include "cli/ort_client.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct Opaque Opaque; /* every type of the ABI that only travels as a pointer */
typedef Opaque *Status;

/* position, result, name, parameters */
#define ORT_ENTRIES(X)                                                                                                 \
    X(2, const char *, GetErrorMessage, (Status))                                                                      \
    X(3, Status, CreateEnv, (int severity, const char *id, Opaque **))                                                 \
    X(7, Status, CreateSession, (Opaque * env, const char *path, Opaque *options, Opaque **))                          \
    X(9, Status, Run,                                                                                                  \
      (Opaque *, Opaque *, const char *const *, Opaque *const *, size_t, const char *const *, size_t, Opaque **))      \
    X(10, Status, CreateSessionOptions, (Opaque **))                                                                   \
    X(24, Status, SetIntraOpNumThreads, (Opaque *, int))                                                               \
    X(31, Status, SessionGetOutputCount, (Opaque *, size_t *))                                                         \
    X(37, Status, SessionGetOutputName, (Opaque *, size_t, Opaque *, char **))                                         \
    X(49, Status, CreateTensorWithDataAsOrtValue, (Opaque *, void *, size_t, const int64_t *, size_t, int, Opaque **)) \
    X(69, Status, CreateCpuMemoryInfo, (int, int, Opaque **))                                                          \
    X(78, Status, GetAllocatorWithDefaultOptions, (Opaque **))                                                         \
    X(96, void, ReleaseValue, (Opaque *))

typedef struct OrtEntries {
#define ENTRY(position, result, name, params) result(*name) params;
    ORT_ENTRIES(ENTRY)
#undef ENTRY
} OrtEntries;

typedef struct OrtBase {
    const void *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} OrtBase;

struct OrtClient {
    OrtEntries ort;
    const OrtBase *base;
    Opaque *session;
    size_t n_in, n_out;
    const char **in_names;
    char **out_names;
    Opaque **in, **out;
};

static bool failed(OrtClient *c, Status st, sdx_error *err)
{
    if (st) cli_error_set(err, SDX_RUN_FAILED, "%.1000s", c->ort.GetErrorMessage(st));
    return st != NULL;
}

static bool load(OrtClient *c, const char *library, sdx_error *err)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    const OrtBase *(*get_base)(void) = NULL;
    if (handle) *(void **)&get_base = dlsym(handle, "OrtGetApiBase");
    if (!get_base) {
        cli_error_set(err, SDX_IO, "%.900s", handle ? "the library has no OrtGetApiBase" : dlerror());
        return false;
    }
    c->base = get_base();
    const char *table = c->base->GetApi(4); /* the youngest entry used here came with version 1 */
    if (!table) {
        cli_error_set(err, SDX_UNSUPPORTED, "the library refuses API version 4");
        return false;
    }
#define ENTRY(position, result, name, params) memcpy(&c->ort.name, table + (position) * sizeof(void *), sizeof(void *));
    ORT_ENTRIES(ENTRY)
#undef ENTRY
    return true;
}

static bool open_session(OrtClient *c, const char *model, int threads, sdx_error *err)
{
    Opaque *env, *options, *allocator;
    if (failed(c, c->ort.CreateEnv(3, "sdx", &env), err) || failed(c, c->ort.CreateSessionOptions(&options), err) ||
        failed(c, c->ort.SetIntraOpNumThreads(options, threads), err) ||
        failed(c, c->ort.CreateSession(env, model, options, &c->session), err) ||
        failed(c, c->ort.GetAllocatorWithDefaultOptions(&allocator), err) ||
        failed(c, c->ort.SessionGetOutputCount(c->session, &c->n_out), err))
        return false;
    c->out_names = cli_alloc(c->n_out * sizeof *c->out_names);
    c->out = cli_alloc(c->n_out * sizeof *c->out);
    for (size_t i = 0; i < c->n_out; i++)
        if (failed(c, c->ort.SessionGetOutputName(c->session, i, allocator, &c->out_names[i]), err)) return false;
    return true;
}

static bool make_inputs(OrtClient *c, const FeedSet *f, sdx_error *err)
{
    Opaque *info;
    c->n_in = f->n;
    c->in_names = f->names;
    c->in = cli_alloc(f->n * sizeof *c->in);
    if (failed(c, c->ort.CreateCpuMemoryInfo(1, 0, &info), err)) return false;
    for (size_t i = 0; i < f->n; i++) {
        const sdx_value *v = f->values[i];
        if (failed(c,
                   c->ort.CreateTensorWithDataAsOrtValue(info, sdx_value_data(v), sdx_value_nbytes(v),
                                                         sdx_value_dims(v), (size_t)sdx_value_rank(v),
                                                         (int)sdx_value_dtype(v), &c->in[i]),
                   err))
            return false;
    }
    return true;
}

OrtClient *ort_client_open(const char *library, const char *model, int threads, const FeedSet *feeds, sdx_error *err)
{
    OrtClient *c = cli_alloc(sizeof *c);
    memset(c, 0, sizeof *c);
    bool ok = load(c, library, err) && open_session(c, model, threads, err) && make_inputs(c, feeds, err);
    return ok ? c : NULL; /* the process ends soon: nothing is given back */
}

bool ort_client_run(OrtClient *c, sdx_error *err)
{
    for (size_t i = 0; i < c->n_out; i++) c->out[i] = NULL;
    if (failed(c,
               c->ort.Run(c->session, NULL, c->in_names, c->in, c->n_in, (const char *const *)c->out_names, c->n_out,
                          c->out),
               err))
        return false;
    for (size_t i = 0; i < c->n_out; i++) c->ort.ReleaseValue(c->out[i]);
    return true;
}

const char *ort_client_version(const OrtClient *c) { return c->base->GetVersionString(); }
