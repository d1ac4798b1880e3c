#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/entries.h"

/* Told when no status can be allocated; ReleaseStatus leaves it alone. */
static union {
    OrtStatus status;
    char bytes[64];
} no_memory = { .bytes = { 0 } };

OrtStatus *sdx_ort_no_memory(void) { return &no_memory.status; }

OrtStatus *sdx_ort_CreateStatus(OrtErrorCode code, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    OrtStatus *s = sdx_alloc(&sdx_alloc_default, sizeof *s + n + 1);
    if (!s) return sdx_ort_no_memory();
    s->code = code;
    memcpy(s->text, text ? text : "", n + 1);
    return s;
}

OrtStatus *sdx_ort_fail(OrtErrorCode code, const char *fmt, ...)
{
    char text[1100];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return sdx_ort_CreateStatus(code, text);
}

/* Above every status of the engine. */
enum { FOREIGN = 64 };

sdx_status sdx_ort_foreign(OrtErrorCode code)
{
    return code > ORT_OK && (int)code < FOREIGN ? (sdx_status)(FOREIGN + (int)code) : SDX_RUN_FAILED;
}

OrtStatus *sdx_ort_status(sdx_status st, const Err *err)
{
    static const OrtErrorCode codes[] = {
        [SDX_INVALID_ARGUMENT] = ORT_INVALID_ARGUMENT,
        [SDX_INVALID_MODEL] = ORT_INVALID_GRAPH,
        [SDX_UNSUPPORTED] = ORT_NOT_IMPLEMENTED,
        [SDX_IO] = ORT_NO_SUCHFILE,
        [SDX_NOT_FOUND] = ORT_NO_SUCHFILE,
        [SDX_RUN_FAILED] = ORT_RUNTIME_EXCEPTION,
        [SDX_INTERNAL] = ORT_RUNTIME_EXCEPTION,
    };
    if (st == SDX_OK) return NULL;
    if ((int)st > FOREIGN) return sdx_ort_CreateStatus((OrtErrorCode)((int)st - FOREIGN), err->text);
    OrtErrorCode code = (size_t)st < sizeof codes / sizeof *codes ? codes[st] : ORT_FAIL;
    return sdx_ort_CreateStatus(code == ORT_OK ? ORT_FAIL : code, err->text);
}

OrtErrorCode sdx_ort_GetErrorCode(const OrtStatus *s)
{
    return !s ? ORT_OK : s == &no_memory.status ? ORT_FAIL : s->code;
}

const char *sdx_ort_GetErrorMessage(const OrtStatus *s)
{
    return !s ? "" : s == &no_memory.status ? "out of memory" : s->text;
}

void sdx_ort_ReleaseStatus(OrtStatus *s)
{
    if (s != &no_memory.status) sdx_free(&sdx_alloc_default, s);
}

OrtStatus *sdx_ort_null(const char *what) { return sdx_ort_fail(ORT_INVALID_ARGUMENT, "%s is NULL", what); }
