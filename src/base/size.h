/* Size arithmetic that cannot wrap. Each function stores the result and returns true, or returns false. */
#ifndef SDX_BASE_SIZE_H
#define SDX_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool sdx_mul_size(size_t *out, size_t a, size_t b) { return !__builtin_mul_overflow(a, b, out); }
static inline bool sdx_add_size(size_t *out, size_t a, size_t b) { return !__builtin_add_overflow(a, b, out); }
static inline bool sdx_mul_i64(int64_t *out, int64_t a, int64_t b) { return !__builtin_mul_overflow(a, b, out); }
static inline bool sdx_add_i64(int64_t *out, int64_t a, int64_t b) { return !__builtin_add_overflow(a, b, out); }
static inline bool sdx_sub_i64(int64_t *out, int64_t a, int64_t b) { return !__builtin_sub_overflow(a, b, out); }

/* Rounds n up to a multiple of align, a power of two. The caller knows that n + align fits. */
static inline size_t sdx_round_up(size_t n, size_t align) { return (n + align - 1) & ~(align - 1); }

#endif
