/* Configuration entries that are session options by another name: they set the option and are not kept as entries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ort/entries.h"

typedef enum KeyKind { KEY_INT, KEY_BOOL, KEY_TEXT } KeyKind;

static OrtStatus *set_profiling(OrtSessionOptions *o, int on)
{
    if (!on) return sdx_ort_DisableProfiling(o);
    return o->profile_prefix ? NULL : sdx_ort_EnableProfiling(o, "onnxruntime_profile_");
}

static OrtStatus *set_mem_pattern(OrtSessionOptions *o, int on)
{
    return on ? sdx_ort_EnableMemPattern(o) : sdx_ort_DisableMemPattern(o);
}

static OrtStatus *set_arena(OrtSessionOptions *o, int on)
{
    return on ? sdx_ort_EnableCpuMemArena(o) : sdx_ort_DisableCpuMemArena(o);
}

static OrtStatus *set_deterministic(OrtSessionOptions *o, int on) { return sdx_ort_SetDeterministicCompute(o, on); }

static OrtStatus *set_own_threads(OrtSessionOptions *o, int on) { return o->shares_threads = !on, NULL; }

static OrtStatus *set_mode(OrtSessionOptions *o, const char *value)
{
    bool parallel = strcmp(value, "parallel") == 0;
    if (!parallel && strcmp(value, "sequential") != 0)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT,
                            "AddSessionConfigEntry: value for 'execution_mode' must be 'sequential' or 'parallel'; got "
                            "'%s'",
                            value);
    return sdx_ort_SetSessionExecutionMode(o, parallel);
}

static OrtStatus *set_level(OrtSessionOptions *o, const char *value)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = { { "disable_all", 0 },
                   { "enable_basic", 1 },
                   { "enable_extended", 2 },
                   { "enable_layout", 3 },
                   { "enable_all", 99 } };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(value, levels[i].name) == 0) return sdx_ort_SetSessionGraphOptimizationLevel(o, levels[i].level);
    return sdx_ort_fail(ORT_INVALID_ARGUMENT,
                        "AddSessionConfigEntry: value for 'graph_optimization_level' must be one of "
                        "disable_all/enable_basic/enable_extended/enable_layout/enable_all; got '%s'",
                        value);
}

static const struct {
    const char *key;
    KeyKind kind;
    OrtStatus *(*set)(OrtSessionOptions *o, int value);
    OrtStatus *(*set_text)(OrtSessionOptions *o, const char *value);
} keys[] = {
    { "session.enable_cpu_mem_arena", KEY_BOOL, set_arena, NULL },
    { "session.enable_mem_pattern", KEY_BOOL, set_mem_pattern, NULL },
    { "session.enable_profiling", KEY_BOOL, set_profiling, NULL },
    { "session.execution_mode", KEY_TEXT, NULL, set_mode },
    { "session.graph_optimization_level", KEY_TEXT, NULL, set_level },
    { "session.inter_op_num_threads", KEY_INT, sdx_ort_SetInterOpNumThreads, NULL },
    { "session.intra_op_num_threads", KEY_INT, sdx_ort_SetIntraOpNumThreads, NULL },
    { "session.log_id", KEY_TEXT, NULL, sdx_ort_SetSessionLogId },
    { "session.log_severity_level", KEY_INT, sdx_ort_SetSessionLogSeverityLevel, NULL },
    { "session.log_verbosity_level", KEY_INT, sdx_ort_SetSessionLogVerbosityLevel, NULL },
    { "session.optimized_model_filepath", KEY_TEXT, NULL, sdx_ort_SetOptimizedModelFilePath },
    { "session.use_deterministic_compute", KEY_BOOL, set_deterministic, NULL },
    { "session.use_per_session_threads", KEY_BOOL, set_own_threads, NULL },
};

static bool read_int(const char *text, int *out)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (end == text || *end || errno || v < INT32_MIN || v > INT32_MAX) return false;
    *out = (int)v;
    return true;
}

static bool read_bool(const char *text, int *out)
{
    *out = strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
    return *out || strcmp(text, "0") == 0 || strcmp(text, "false") == 0;
}

OrtStatus *sdx_ort_key_apply(OrtSessionOptions *o, const char *key, const char *value, bool *taken)
{
    size_t i = 0;
    int number = 0;
    while (i < sizeof keys / sizeof *keys && strcmp(keys[i].key, key) != 0) i++;
    *taken = i < sizeof keys / sizeof *keys;
    if (!*taken) return NULL;
    if (keys[i].kind == KEY_TEXT) return keys[i].set_text(o, value);
    if (keys[i].kind == KEY_INT ? read_int(value, &number) : read_bool(value, &number)) return keys[i].set(o, number);
    return sdx_ort_fail(ORT_INVALID_ARGUMENT, "AddSessionConfigEntry: value for '%s' must be %s; got '%s'", key,
                        keys[i].kind == KEY_INT ? "a base-10 int32" : "a boolean ('0'/'1' or 'true'/'false')", value);
}
