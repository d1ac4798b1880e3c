/* Logs of environments and sessions, and the entries that custom operators write to them with. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ort/entries.h"

void sdx_ort_log_init(OrtLogger *l, OrtLogFn fn, void *user, int severity, const char *id)
{
    *l = (OrtLogger){ .fn = fn, .user = user, .severity = severity };
    snprintf(l->id, sizeof l->id, "%s", id ? id : "");
}

void sdx_ort_log_session(OrtLogger *l, const OrtSessionOptions *o)
{
    *l = *sdx_ort_env_log();
    if (!o) return;
    if (o->log.fn) l->fn = o->log.fn, l->user = o->log.user;
    if (o->log.severity >= 0) l->severity = o->log.severity;
    if (o->log.id[0]) memcpy(l->id, o->log.id, sizeof l->id);
}

void sdx_ort_log_text(const OrtLogger *l, int severity, const char *place, const char *text)
{
    static const char letters[] = "VIWEF";
    if (severity < l->severity || severity < 0 || severity > 4) return;
    if (l->fn)
        l->fn(l->user, severity, "onnxruntime", l->id, place, text);
    else
        fprintf(stderr, "[%c:onnxruntime:%s, %s] %s\n", letters[severity], l->id, place, text);
}

void sdx_ort_log(const OrtLogger *l, int severity, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    if (severity < l->severity) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    sdx_ort_log_text(l, severity, "sardonyx", text);
}

OrtStatus *sdx_ort_Logger_LogMessage(const OrtLogger *l, int severity, const char *text, const char *file, int line,
                                     const char *function)
{
    char place[256];
    if (!l || !text) return sdx_ort_null("logger or message");
    snprintf(place, sizeof place, "%s:%d %s", file ? file : "", line, function ? function : "");
    sdx_ort_log_text(l, severity, place, text);
    return NULL;
}

OrtStatus *sdx_ort_Logger_GetLoggingSeverityLevel(const OrtLogger *l, int *out)
{
    if (!l || !out) return sdx_ort_null("logger or out");
    *out = l->severity;
    return NULL;
}
