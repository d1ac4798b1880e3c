#include "base/unicode.h"

/* -- UTF-8 ----------------------------------------------------------------------------------------------------------- */

int sdx_utf8_read(const char *text, size_t left, uint32_t *c)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *p = (const unsigned char *)text;
    int n = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf8 ? 4 : 0;
    if (n == 0 || (size_t)n > left) return 0;
    *c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        *c = *c << 6 | (p[i] & 0x3f);
    }
    return *c >= least[n] && *c < UNICODE_END ? n : 0;
}

size_t sdx_utf8_write(char *p, uint32_t c)
{
    if (c < 0x80) return p[0] = (char)c, 1;
    if (c < 0x800) return p[0] = (char)(0xc0 | c >> 6), p[1] = (char)(0x80 | (c & 0x3f)), 2;
    if (c < 0x10000) {
        p[0] = (char)(0xe0 | c >> 12);
        p[1] = (char)(0x80 | (c >> 6 & 0x3f));
        p[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    p[0] = (char)(0xf0 | c >> 18);
    p[1] = (char)(0x80 | (c >> 12 & 0x3f));
    p[2] = (char)(0x80 | (c >> 6 & 0x3f));
    p[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* -- case ------------------------------------------------------------------------------------------------------------ */

typedef struct CaseRange {
    uint32_t first : 20, count : 11, step_2 : 1; /* count, of code points from first on, one or two apart */
    int32_t delta;
} CaseRange;
#define CASE_RANGE(first, last, step, delta) { first, ((last) - (first)) / (step) + 1, (step) == 2, delta },
#define CASE_LOWER
static const CaseRange lower_ranges[] = {
#include "base/unicode_case.def"
};
#undef CASE_LOWER
#define CASE_UPPER
static const CaseRange upper_ranges[] = {
#include "base/unicode_case.def"
};
#undef CASE_UPPER
#undef CASE_RANGE

static uint32_t case_map(const CaseRange *ranges, size_t n, uint32_t c)
{
    size_t lo = 0, hi = n;
    while (lo < hi) { /* ranges are sorted by their first, and overlap only where steps of 2 interleave */
        size_t mid = (lo + hi) / 2;
        if (ranges[mid].first <= c)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (size_t i = lo; i > 0 && i + 2 > lo; i--) {
        const CaseRange *r = &ranges[i - 1];
        uint32_t step = 1 + r->step_2, off = c - r->first;
        if (c >= r->first && off / step < r->count && off % step == 0) return c + (uint32_t)r->delta;
    }
    return c;
}

uint32_t sdx_unicode_lower(uint32_t c) { return case_map(lower_ranges, sizeof lower_ranges / sizeof *lower_ranges, c); }
uint32_t sdx_unicode_upper(uint32_t c) { return case_map(upper_ranges, sizeof upper_ranges / sizeof *upper_ranges, c); }

uint32_t sdx_unicode_fold(uint32_t c)
{
    if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
    /* The dotless i is a letter of its own, as CaseFolding.txt has it outside of Turkish. */
    return c == 0x131 ? c : sdx_unicode_lower(sdx_unicode_upper(c));
}

/* -- general categories ---------------------------------------------------------------------------------------------- */

#define CATEGORY(name) CATEGORY_##name,
enum {
#include "base/unicode_class.def"
    CATEGORY_LuLl /* one after the other, from a capital letter on */
};
#undef CATEGORY
#define CATEGORY(name) #name,
static const char category_names[][3] = {
#include "base/unicode_class.def"
};
#undef CATEGORY
#define CATEGORY_RUN(length, name) (length) << 5 | CATEGORY_##name,
static const uint16_t category_runs[] = {
#include "base/unicode_class.def"
};
#undef CATEGORY_RUN
#define CATEGORY_MARK(first) first,
static const uint32_t category_marks[] = {
#include "base/unicode_class.def"
};
#undef CATEGORY_MARK

uint32_t sdx_unicode_categories(const char *name, size_t n)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < sizeof category_names / sizeof *category_names; i++)
        if ((n == 1 || (n == 2 && category_names[i][1] == name[1])) && category_names[i][0] == name[0]) set |= 1u << i;
    return set;
}

uint32_t sdx_unicode_category(uint32_t c)
{
    size_t lo = 0, hi = sizeof category_marks / sizeof *category_marks;
    if (c >= UNICODE_END) return 0;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (category_marks[mid] <= c)
            lo = mid;
        else
            hi = mid;
    }
    uint32_t at = category_marks[lo], i = (uint32_t)lo * 64;
    while (at + (category_runs[i] >> 5) <= c) at += category_runs[i++] >> 5;
    uint32_t category = category_runs[i] & 31;
    if (category == CATEGORY_LuLl) category = (c - at) % 2 ? CATEGORY_Ll : CATEGORY_Lu;
    return 1u << category;
}
