/* Status codes and the error record.
 *
 * A function that can fail returns sdx_status and takes an Err *, which keeps the first failure: a code and one
 * formatted line, in place, so that even "out of memory" can be told. err may be NULL: the code alone is returned. */
#ifndef SDX_BASE_STATUS_H
#define SDX_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sdx_status {
#define STATUS(name, code, text) SDX_##name = code,
#include "base/status.def"
#undef STATUS
} sdx_status;

#define SDX_ERR_TEXT 1016

/* Same layout as the public sdx_error; src/api asserts it. */
typedef struct Err {
    int32_t code;
    int32_t reserved;
    char text[SDX_ERR_TEXT];
} Err;

#if defined(__GNUC__)
#define SDX_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define SDX_WARN_UNUSED __attribute__((warn_unused_result))
#else
#define SDX_PRINTF(fmt, args)
#define SDX_WARN_UNUSED
#endif

/* Records code and text when err holds no failure yet; returns code. */
sdx_status sdx_fail(Err *err, sdx_status code, const char *fmt, ...) SDX_PRINTF(3, 4);

/* Puts "prefix: " before the recorded text: callers add the node or file that the callee could not know. */
void sdx_err_prefix(Err *err, const char *fmt, ...) SDX_PRINTF(2, 3);

void sdx_err_clear(Err *err);

/* Stable lower-case name of a code ("invalid model"); "unknown status" for other numbers. */
const char *sdx_status_text(sdx_status code);

/* Forwards a failure to the caller. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        sdx_status try_status_ = (call);                                                                               \
        if (try_status_ != SDX_OK) return try_status_;                                                                 \
    } while (0)

/* For allocations: returns OUT_OF_MEMORY from the enclosing function when ptr is NULL. */
#define TRY_MEM(ptr, err)                                                                                              \
    do {                                                                                                               \
        if (!(ptr)) return sdx_fail((err), SDX_OUT_OF_MEMORY, "out of memory");                                        \
    } while (0)

#endif
