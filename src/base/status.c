#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

sdx_status sdx_fail(Err *err, sdx_status code, const char *fmt, ...)
{
    if (!err || err->code != SDX_OK) return code;
    err->code = (int32_t)code;
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    return code;
}

void sdx_err_prefix(Err *err, const char *fmt, ...)
{
    if (!err || err->code == SDX_OK) return;
    char head[SDX_ERR_TEXT];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(head, sizeof head - 2, fmt, args);
    va_end(args);
    if (n < 0) return;
    size_t len = strlen(head), room = sizeof err->text - len - 3, old = strlen(err->text);
    if (old > room) old = room;
    memmove(err->text + len + 2, err->text, old);
    memcpy(err->text, head, len);
    memcpy(err->text + len, ": ", 2);
    err->text[len + 2 + old] = '\0';
}

void sdx_err_clear(Err *err)
{
    if (!err) return;
    err->code = SDX_OK;
    err->reserved = 0;
    err->text[0] = '\0';
}

const char *sdx_status_text(sdx_status code)
{
    switch (code) {
#define STATUS(name, number, text)                                                                                     \
    case SDX_##name:                                                                                                   \
        return text;
#include "base/status.def"
#undef STATUS
    }
    return "unknown status";
}
