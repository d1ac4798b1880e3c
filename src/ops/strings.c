/* StringConcat, StringSplit, StringNormalizer. Strings are UTF-8; bytes that are not stay as they are. */
#include <inttypes.h>

#include "base/size.h"
#include "base/unicode.h"
#include "ops/elementwise.h"
#include "ops/shapes.h"

/* -- StringConcat -------------------------------------------------------------------------------------------------- */

typedef struct ConcatCall {
    Run *run;
    int failed; /* atomic */
} ConcatCall;

static void concat_strip(void *y, const void *const *x, unsigned single, int64_t n, const void *args)
{
    ConcatCall *c = (ConcatCall *)args;
    const Str *a = x[0], *b = x[1];
    for (int64_t i = 0; i < n; i++) {
        Str p = single & 1 ? *a : a[i], q = single & 2 ? *b : b[i];
        size_t size;
        char *s = sdx_add_size(&size, p.n, q.n) ? sdx_run_heap(c->run, size) : NULL;
        if (!s) {
            __atomic_store_n(&c->failed, 1, __ATOMIC_RELAXED);
            size = 0;
        } else {
            if (p.n) memcpy(s, p.p, p.n);
            if (q.n) memcpy(s + p.n, q.p, q.n);
        }
        ((Str *)y)[i] = (Str){ s, size };
    }
}

static sdx_status concat_prepare(Prepare *p)
{
    EwSpec s = { .fn = concat_strip, .in = { DT_STRING, DT_STRING }, .out = DT_STRING };
    return sdx_ew_prepare(p, &s);
}

static sdx_status concat_run(Run *r)
{
    ConcatCall c = { .run = r };
    TRY(sdx_ew_run_args(r, &c));
    return c.failed ? sdx_fail(r->err, SDX_OUT_OF_MEMORY, "out of memory") : SDX_OK;
}

static const OpVer concat_vers[] = { { 20, { TS_STR } }, { 0 } };

const OpDef sdx_op_StringConcat = {
    .name = "StringConcat",
    .sig = "T,T->T",
    .vers = concat_vers,
    .flags = OP_ELEMENTWISE,
    .infer = sdx_infer_broadcast,
    .cpu = { concat_prepare, concat_run },
};

/* -- StringSplit --------------------------------------------------------------------------------------------------- */

typedef struct SplitAttrs {
    Str delimiter;
    int64_t maxsplit;
} SplitAttrs;
static const AttrSpec split_attrs[] = { OP_STR(SplitAttrs, delimiter, NULL),
                                        OP_INT(SplitAttrs, maxsplit, OP_INT_ABSENT), OP_ATTR_END };

static sdx_status split_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0);
    if (!x) return SDX_OK;
    if (x->rank == SDX_MAX_RANK) return sdx_infer_fail(c, "the output's rank is beyond %d", SDX_MAX_RANK);
    Shape *y = shape_out(c, 0, x->rank + 1);
    for (int k = 0; k < x->rank; k++) y->dims[k] = x->dims[k];
    if (c->n_out > 1) c->out[1].shape = *x;
    return SDX_OK;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f); }

/* The parts of s into out (NULL: only counted). An empty delimiter stands for runs of white space, of which none is
 * left at the ends; after `max` cuts the rest is one part. */
static int64_t split_one(Str s, Str by, int64_t max, Str *out)
{
    const char *p = s.p, *end = s.n ? s.p + s.n : s.p;
    int64_t n = 0;
    if (by.n == 0) {
        for (;; n++) {
            while (p < end && is_space(*p)) p++;
            if (p == end) return n;
            const char *from = p;
            if (n == max) p = end;
            while (p < end && !is_space(*p)) p++;
            if (out) out[n] = (Str){ from, (size_t)(p - from) };
        }
    }
    for (const char *from = p;; p++) {
        bool cut = n != max && (size_t)(end - p) >= by.n && !memcmp(p, by.p, by.n);
        if (!cut && p < end) continue;
        if (!cut) p = end;
        if (out) out[n] = (Str){ from, (size_t)(p - from) };
        n++;
        if (!cut) return n;
        from = p + by.n;
        p = from - 1;
    }
}

static sdx_status split_run(Run *r)
{
    const SplitAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    const Str *s = x->data;
    int64_t n = sdx_tensor_count(x), widest = 0,
            max = a->maxsplit == OP_INT_ABSENT || a->maxsplit < 0 ? INT64_MAX : a->maxsplit;
    int64_t dims[SDX_MAX_RANK + 1];
    void *y, *z = NULL;
    if (r->n_out > 1 && r->out[1]) TRY(sdx_run_output(r, 1, DT_INT64, x->rank, x->dims, &z));
    for (int64_t i = 0; i < n; i++) {
        int64_t parts = split_one(s[i], a->delimiter, max, NULL);
        if (z) ((int64_t *)z)[i] = parts;
        if (parts > widest) widest = parts;
    }
    memcpy(dims, x->dims, sizeof x->dims);
    dims[x->rank] = widest;
    TRY(sdx_run_output(r, 0, DT_STRING, x->rank + 1, dims, &y));
    Str *out = y;
    for (int64_t i = 0; i < n && widest; i++, out += widest) {
        int64_t parts = split_one(s[i], a->delimiter, max, out);
        for (int64_t k = parts; k < widest; k++) out[k] = (Str){ NULL, 0 };
    }
    return SDX_OK;
}

static const OpVer split_vers[] = { { 20, { TS_STR } }, { 0 } };

const OpDef sdx_op_StringSplit = {
    .name = "StringSplit",
    .sig = "T->T,i64",
    .attrs = split_attrs,
    .attrs_size = sizeof(SplitAttrs),
    .vers = split_vers,
    .flags = OP_DATA_SHAPE,
    .infer = split_infer,
    .cpu = { NULL, split_run },
};

/* -- StringNormalizer ---------------------------------------------------------------------------------------------- */

typedef struct NormalizeAttrs {
    Str case_change_action, locale; /* the mappings of Unicode serve every locale */
    int64_t is_case_sensitive;
    StrList stopwords;
} NormalizeAttrs;
static const AttrSpec normalize_attrs[] = { OP_STR(NormalizeAttrs, case_change_action, "NONE"),
                                            OP_INT(NormalizeAttrs, is_case_sensitive, 0),
                                            OP_STR(NormalizeAttrs, locale, NULL), OP_STRS(NormalizeAttrs, stopwords),
                                            OP_ATTR_END };

/* s in the other case, on the run's heap; at most half as long again, since 2 bytes can become 3. */
static sdx_status change_case(Run *r, Str s, bool upper, Str *out)
{
    char *p = sdx_run_heap(r, s.n + s.n / 2 + 4);
    size_t n = 0;
    TRY_MEM(p, r->err);
    for (size_t i = 0; i < s.n;) {
        uint32_t c;
        int len = sdx_utf8_read(s.p + i, s.n - i, &c);
        if (len == 0) {
            p[n++] = s.p[i++];
            continue;
        }
        n += sdx_utf8_write(p + n, upper ? sdx_unicode_upper(c) : sdx_unicode_lower(c));
        i += (size_t)len;
    }
    *out = (Str){ p, n };
    return SDX_OK;
}

static sdx_status normalize_infer(Infer *c)
{
    const NormalizeAttrs *a = c->args;
    const Shape *x = shape_of(c, 0);
    if (!str_is(a->case_change_action, "NONE") && !str_is(a->case_change_action, "LOWER") &&
        !str_is(a->case_change_action, "UPPER"))
        return sdx_infer_fail(c, "case_change_action is none of LOWER, UPPER, NONE");
    if (!x) return SDX_OK;
    if (x->rank != 1 && x->rank != 2)
        return sdx_infer_fail(c, "the input has rank %d; it must be 1 or 2", (int)x->rank);
    Shape *y = shape_out(c, 0, x->rank);
    if (x->rank == 2) y->dims[0] = 1;
    return SDX_OK;
}

static bool str_equal(Str a, Str b) { return a.n == b.n && (a.n == 0 || !memcmp(a.p, b.p, a.n)); }

static sdx_status normalize_run(Run *r)
{
    const NormalizeAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    bool any_case = !a->is_case_sensitive, upper = str_is(a->case_change_action, "UPPER");
    bool change = upper || str_is(a->case_change_action, "LOWER");
    if (x->rank != 1 && !(x->rank == 2 && x->dims[0] == 1))
        return sdx_run_fail(r, "the input is neither [C] nor [1,C]");
    int64_t n = sdx_tensor_count(x), kept = 0;
    size_t nbytes;
    if (!sdx_mul_size(&nbytes, (size_t)(n + a->stopwords.n) + 1, sizeof(Str)))
        return sdx_run_fail(r, "too many strings");
    Str *out = sdx_run_heap(r, nbytes), *stop = out ? out + n + 1 : NULL;
    TRY_MEM(out, r->err);
    for (int64_t k = 0; k < a->stopwords.n; k++) {
        stop[k] = a->stopwords.v[k];
        if (any_case) TRY(change_case(r, stop[k], false, &stop[k]));
    }
    for (int64_t i = 0; i < n; i++) {
        Str s = ((const Str *)x->data)[i], key = s;
        bool drop = false;
        if (any_case && a->stopwords.n) TRY(change_case(r, s, false, &key));
        for (int64_t k = 0; k < a->stopwords.n && !drop; k++) drop = str_equal(key, stop[k]);
        if (drop) continue;
        if (change) TRY(change_case(r, s, upper, &s));
        out[kept++] = s;
    }
    if (kept == 0) out[kept++] = (Str){ NULL, 0 };
    void *y;
    int64_t dims[2] = { 1, kept };
    TRY(sdx_run_output(r, 0, DT_STRING, x->rank, x->rank == 2 ? dims : dims + 1, &y));
    memcpy(y, out, (size_t)kept * sizeof *out);
    return SDX_OK;
}

static const OpVer normalize_vers[] = { { 10, { TS_STR } }, { 0 } };

const OpDef sdx_op_StringNormalizer = {
    .name = "StringNormalizer",
    .sig = "str->str",
    .attrs = normalize_attrs,
    .attrs_size = sizeof(NormalizeAttrs),
    .vers = normalize_vers,
    .flags = OP_DATA_SHAPE,
    .infer = normalize_infer,
    .cpu = { NULL, normalize_run },
};
