/* Calls into C++ code that may throw.
 *
 * Plugins are often written in C++ and report failure by an exception that ends in their host. C cannot catch one, but
 * a frame of ours can ask the unwinder to stop at it, as the tables of any language may. */
#ifndef SDX_BASE_GUARD_H
#define SDX_BASE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Calls fn(arg). false: an exception came out of it; what it says goes to text, cut to size. Where the platform's way to
 * stop one is not known, it goes on to the caller's frames. */
bool sdx_guard_call(void (*fn)(void *arg), void *arg, char *text, size_t size);

#endif
