/* Unicode: UTF-8, simple case mappings, general categories. Tables by tools/unicode_case.py and tools/unicode_class.py. */
#ifndef SDX_BASE_UNICODE_H
#define SDX_BASE_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNICODE_END = 0x110000 };

/* One code point of at most `left` >= 1 bytes; its length, or 0 for bytes that are no UTF-8. */
int sdx_utf8_read(const char *p, size_t left, uint32_t *c);
/* 1 to 4 bytes; returns their number. */
size_t sdx_utf8_write(char *p, uint32_t c);

uint32_t sdx_unicode_lower(uint32_t c);
uint32_t sdx_unicode_upper(uint32_t c);
/* Characters that differ in case alone have the same fold. */
uint32_t sdx_unicode_fold(uint32_t c);

/* General categories, a bit each. The set that a name of one letter or two stands for, "Lu" or "L"; 0: no such name. */
uint32_t sdx_unicode_categories(const char *name, size_t n);
/* The category of a code point, as a set of one. */
uint32_t sdx_unicode_category(uint32_t c);

#endif
