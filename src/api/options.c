/* Session options: defaults, setting by name, and translation to the engine's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

_Static_assert((int)SDX_LEVEL_FAST == (int)OPT_FAST, "levels agree");

void sdx_session_options_init(sdx_session_options *o)
{
    *o = (sdx_session_options){ .struct_size = sizeof *o, .level = SDX_LEVEL_DEFAULT };
}

static const char *const level_names[] = { "none", "exact", "default", "fast" };

typedef enum OptionKind {
    OPTION_LEVEL,
    OPTION_INT,
    OPTION_INT64,
    OPTION_SIZE,
    OPTION_FLAG,
    OPTION_CPU_LEVEL
} OptionKind;

static const struct OptionRow {
    const char *name;
    OptionKind kind;
    size_t offset;
} option_rows[] = {
    { "level", OPTION_LEVEL, offsetof(sdx_session_options, level) },
    { "threads", OPTION_INT, offsetof(sdx_session_options, threads) },
    { "max_bytes", OPTION_SIZE, offsetof(sdx_session_options, max_bytes) },
    { "max_nodes", OPTION_INT64, offsetof(sdx_session_options, max_nodes) },
    { "plan_cache", OPTION_INT, offsetof(sdx_session_options, plan_cache) },
    { "keep_subnormals", OPTION_FLAG, offsetof(sdx_session_options, keep_subnormals) },
    { "cpu_level", OPTION_CPU_LEVEL, offsetof(sdx_session_options, cpu_level) },
};

static sdx_status set_level(sdx_session_options *o, const char *value, Err *err)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(value, level_names[i]) == 0) {
            o->level = (sdx_level)i;
            return SDX_OK;
        }
    return sdx_fail(err, SDX_INVALID_ARGUMENT, "level \"%s\" is none of none, exact, default, fast", value);
}

/* The CPU level names are literals of the table, so the pointer may stay in the options. */
static sdx_status set_cpu_level(sdx_session_options *o, const char *value, Err *err)
{
    unsigned level = sdx_cpu_level_find(value);
    if (level >= SDX_CPU_LEVELS) return sdx_fail(err, SDX_INVALID_ARGUMENT, "cpu_level \"%s\" does not exist", value);
    o->cpu_level = sdx_cpu_level_name(level);
    return SDX_OK;
}

sdx_status sdx_session_options_set(sdx_session_options *o, const char *name, const char *value, sdx_error *error)
{
    Err *err = api_err(error);
    const struct OptionRow *row = NULL;
    for (size_t i = 0; i < sizeof option_rows / sizeof *option_rows; i++)
        if (name && strcmp(name, option_rows[i].name) == 0) row = &option_rows[i];
    if (!row) return sdx_fail(err, SDX_INVALID_ARGUMENT, "option \"%s\" does not exist", name ? name : "(null)");
    if (!value) return sdx_fail(err, SDX_INVALID_ARGUMENT, "option \"%s\" has no value", name);
    if (row->kind == OPTION_LEVEL) return set_level(o, value, err);
    if (row->kind == OPTION_CPU_LEVEL) return set_cpu_level(o, value, err);
    char *end;
    errno = 0;
    long long v = strtoll(value, &end, 10);
    if (end == value || *end || errno || v < 0)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "option \"%s\": \"%s\" is no number >= 0", name, value);
    void *field = (char *)o + row->offset;
    if (row->kind == OPTION_INT64)
        *(int64_t *)field = v;
    else if (row->kind == OPTION_SIZE)
        *(size_t *)field = (size_t)v;
    else if (v > INT32_MAX || (row->kind == OPTION_FLAG && v > 1))
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "option \"%s\": %s is too large", name, value);
    else
        *(int *)field = (int)v;
    return SDX_OK;
}

static sdx_status options_dims(Arena *a, const sdx_session_options *o, SessionOptions *out, Err *err)
{
    if (!o->n_dims) return SDX_OK;
    DimOverride *dims = sdx_arena_array(a, DimOverride, o->n_dims);
    TRY_MEM(dims, err);
    for (size_t i = 0; i < o->n_dims; i++) {
        if (!o->dims[i].symbol || o->dims[i].size < 0)
            return sdx_fail(err, SDX_INVALID_ARGUMENT, "dims[%zu]: needs a symbol and a size >= 0", i);
        dims[i] = (DimOverride){ o->dims[i].symbol, o->dims[i].size };
    }
    out->dims = dims;
    out->n_dims = (int)o->n_dims;
    return SDX_OK;
}

static sdx_status options_given(Arena *a, const sdx_session_options *o, SessionOptions *out, Err *err)
{
    if (!o->n_initializers) return SDX_OK;
    if (o->n_initializers > INT32_MAX) return sdx_fail(err, SDX_INVALID_ARGUMENT, "too many initializers");
    TRY_MEM(out->given = sdx_arena_array(a, GivenInit, o->n_initializers), err);
    for (size_t i = 0; i < o->n_initializers; i++) {
        const sdx_initializer *g = &o->initializers[i];
        if (!g->name || !g->value || g->value->d.kind != DATUM_TENSOR)
            return sdx_fail(err, SDX_INVALID_ARGUMENT, "initializers[%zu]: needs a name and a tensor", i);
        out->given[i] = (GivenInit){ .name = g->name, .t = g->value->d.t };
    }
    out->n_given = (int)o->n_initializers;
    return SDX_OK;
}

static sdx_status options_cpu_level(const char *name, SessionOptions *out, Err *err)
{
    if (!name) return SDX_OK;
    unsigned level = sdx_cpu_level_find(name);
    if (level >= SDX_CPU_LEVELS) return sdx_fail(err, SDX_INVALID_ARGUMENT, "cpu_level \"%s\" does not exist", name);
    out->kern = sdx_kern_at(level);
    bool ok = out->kern != NULL;
    return ok ? SDX_OK : sdx_fail(err, SDX_UNSUPPORTED, "cpu_level \"%s\" is not available on this machine", name);
}

sdx_status sdx_api_options(sdx_session *s, const sdx_session_options *o, SessionOptions *out, Err *err)
{
    sdx_session_options defaults;
    sdx_session_options_init(&defaults);
    if (!o) o = &defaults;
    if (o->struct_size != sizeof *o)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "options.struct_size is %zu, this library's is %zu", o->struct_size,
                        sizeof *o);
    if (o->level < SDX_LEVEL_NONE || o->level > SDX_LEVEL_FAST || o->threads < 0 || o->plan_cache < 0 ||
        o->max_nodes < 0)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "options: level, threads, plan_cache or max_nodes out of range");
    sdx_ses_options_init(out);
    out->level = (OptLevel)o->level;
    out->disabled = o->disabled;
    out->threads = o->threads;
    out->providers = o->providers;
    out->max_bytes = o->max_bytes;
    out->max_nodes = o->max_nodes;
    out->plan_cache = o->plan_cache;
    out->keep_subnormals = o->keep_subnormals != 0;
    TRY(options_cpu_level(o->cpu_level, out, err));
    TRY(options_dims(&s->arena, o, out, err));
    TRY(options_given(&s->arena, o, out, err));
    if (o->allocator) {
        s->allocator = (Alloc){ o->allocator->alloc, o->allocator->free, o->allocator->user };
        out->alloc = &s->allocator;
    }
    if (o->pool) {
        PoolHost host = { o->pool->parallel, o->pool->threads, o->pool->user };
        if (!host.parallel || host.threads < 1)
            return sdx_fail(err, SDX_INVALID_ARGUMENT, "options.pool needs a function and at least one thread");
        TRY(sdx_pool_wrap(&sdx_alloc_default, &host, &s->pool, err));
        out->pool = s->pool;
    }
    return SDX_OK;
}
