#include "cli/compare.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static bool differ(Difference *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool differ(Difference *d, const char *fmt, ...)
{
    if (d->text[0]) return false;
    va_list args;
    va_start(args, fmt);
    vsnprintf(d->text, sizeof d->text, fmt, args);
    va_end(args);
    return false;
}

static void shape_text(const sdx_value *v, char *buf, size_t size)
{
    snprintf(buf, size, "%s[", sdx_dtype_text(sdx_value_dtype(v)));
    for (int i = 0; i < sdx_value_rank(v); i++)
        snprintf(buf + strlen(buf), size - strlen(buf), "%s%lld", i ? "," : "", (long long)sdx_value_dims(v)[i]);
    snprintf(buf + strlen(buf), size - strlen(buf), "]");
}

static bool same_layout(const sdx_value *got, const sdx_value *want, Difference *d)
{
    int rank = sdx_value_rank(want);
    bool same = sdx_value_dtype(got) == sdx_value_dtype(want) && sdx_value_rank(got) == rank &&
                (!rank || memcmp(sdx_value_dims(got), sdx_value_dims(want), (size_t)rank * sizeof(int64_t)) == 0);
    if (same) return true;
    char a[256], b[256];
    shape_text(got, a, sizeof a);
    shape_text(want, b, sizeof b);
    return differ(d, "got %s, expected %s", a, b);
}

static bool same_strings(const sdx_value *got, const sdx_value *want, Difference *d)
{
    for (int64_t i = 0; i < sdx_value_count(want); i++) {
        const char *a = "", *b = "";
        size_t n = 0, m = 0;
        sdx_value_string(got, i, &a, &n, NULL);
        sdx_value_string(want, i, &b, &m, NULL);
        if (n != m || memcmp(a, b, n) != 0)
            return differ(d, "element %lld: got \"%.*s\", expected \"%.*s\"", (long long)i, (int)n, a, (int)m, b);
    }
    return true;
}

static bool close_enough(double got, double want, const Tolerance *tol, Difference *d)
{
    if (tol->binary) return got == 0 || got == 1;
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got)) return got == want;
    double gap = fabs(got - want);
    if (gap > d->max_abs) d->max_abs = gap;
    if (want != 0 && gap / fabs(want) > d->max_rel) d->max_rel = gap / fabs(want);
    return gap <= tol->atol + tol->rtol * fabs(want);
}

/* 64-bit integers lose bits as doubles: equal bytes settle it. */
static bool same_numbers(const sdx_value *got, const sdx_value *want, const Tolerance *tol, Difference *d)
{
    int64_t count = sdx_value_count(want), wrong = 0, first = 0;
    size_t nbytes = sdx_value_nbytes(want);
    if (!tol->binary && nbytes && memcmp(sdx_value_data(got), sdx_value_data(want), nbytes) == 0) return true;
    for (int64_t i = 0; i < count; i++)
        if (!close_enough(sdx_value_get(got, i), sdx_value_get(want, i), tol, d) && wrong++ == 0) first = i;
    if (!wrong) return true;
    return differ(d, "%lld of %lld elements differ; element %lld: got %.9g, expected %.9g (rtol %g, atol %g)",
                  (long long)wrong, (long long)count, (long long)first, sdx_value_get(got, first),
                  sdx_value_get(want, first), tol->rtol, tol->atol);
}

/* The imaginary parts, which sdx_value_get does not show. */
static bool same_complex(const sdx_value *got, const sdx_value *want, const Tolerance *tol, Difference *d)
{
    bool wide = sdx_value_dtype(want) == SDX_COMPLEX128;
    for (int64_t i = 0; i < 2 * sdx_value_count(want); i++) {
        double a = wide ? ((double *)sdx_value_data(got))[i] : ((float *)sdx_value_data(got))[i];
        double b = wide ? ((double *)sdx_value_data(want))[i] : ((float *)sdx_value_data(want))[i];
        if (!close_enough(a, b, tol, d))
            return differ(d, "element %lld (%s): got %.9g, expected %.9g", (long long)i / 2,
                          i % 2 ? "imaginary" : "real", a, b);
    }
    return true;
}

static bool same_tensor(const sdx_value *got, const sdx_value *want, const Tolerance *tol, Difference *d)
{
    if (!same_layout(got, want, d)) return false;
    switch (sdx_value_dtype(want)) {
    case SDX_STRING: return same_strings(got, want, d);
    case SDX_COMPLEX64:
    case SDX_COMPLEX128: return same_complex(got, want, tol, d);
    default: return same_numbers(got, want, tol, d);
    }
}

static bool same_sequence(const sdx_value *got, const sdx_value *want, const Tolerance *tol, Difference *d)
{
    int64_t n = sdx_sequence_count(want);
    if (sdx_sequence_count(got) != n)
        return differ(d, "got %lld elements, expected %lld", (long long)sdx_sequence_count(got), (long long)n);
    bool same = true;
    for (int64_t i = 0; same && i < n; i++) {
        sdx_value *a = NULL, *b = NULL;
        same = sdx_sequence_get(got, i, &a, NULL) == SDX_OK && sdx_sequence_get(want, i, &b, NULL) == SDX_OK &&
               compare_values(a, b, tol, d);
        sdx_value_release(a);
        sdx_value_release(b);
    }
    return same;
}

static bool same_map(const sdx_value *got, const sdx_value *want, const Tolerance *tol, Difference *d)
{
    sdx_value *parts[4] = { NULL };
    bool same = sdx_map_keys(got, &parts[0], NULL) == SDX_OK && sdx_map_keys(want, &parts[1], NULL) == SDX_OK &&
                sdx_map_values(got, &parts[2], NULL) == SDX_OK && sdx_map_values(want, &parts[3], NULL) == SDX_OK &&
                compare_values(parts[0], parts[1], tol, d) && compare_values(parts[2], parts[3], tol, d);
    for (int i = 0; i < 4; i++) sdx_value_release(parts[i]);
    return same;
}

bool compare_values(const sdx_value *got, const sdx_value *want, const Tolerance *tol, Difference *d)
{
    static const char *const kinds[] = { "nothing", "a tensor", "a sequence", "a map", "a sparse tensor", "?", "?" };
    sdx_kind kind = sdx_value_kind(want);
    if (sdx_value_kind(got) != kind) return differ(d, "got %s, expected %s", kinds[sdx_value_kind(got)], kinds[kind]);
    switch (kind) {
    case SDX_TENSOR: return same_tensor(got, want, tol, d);
    case SDX_SEQUENCE: return same_sequence(got, want, tol, d);
    case SDX_MAP: return same_map(got, want, tol, d);
    default: return true;
    }
}
