/* Cast, CastLike, BitCast. Numbers to numbers: cast_block.c. Strings here. */
#include "ops/cast.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "ops/elementwise.h"
#include "ops/shapes.h"
#include "ops/typesets.h"
#include "ops/upgrade.h"

typedef struct CastAttrs {
    int64_t to, saturate;
    Str round_mode;
} CastAttrs;

static const AttrSpec cast_attrs[] = { OP_INT_REQ(CastAttrs, to), OP_INT(CastAttrs, saturate, 1),
                                       OP_STR(CastAttrs, round_mode, "up"), OP_ATTR_END };
static const AttrSpec castlike_attrs[] = { OP_INT(CastAttrs, saturate, 1), OP_STR(CastAttrs, round_mode, "up"),
                                           OP_ATTR_END };

/* -- inference ----------------------------------------------------------------------------------------------------- */

static bool round_of(Str s, CastRound *out)
{
    if (str_is(s, "up"))
        *out = CAST_UP;
    else if (str_is(s, "down"))
        *out = CAST_DOWN;
    else if (str_is(s, "nearest"))
        *out = CAST_NEAREST;
    else
        return false;
    return true;
}

/* The output has the shape of input 0; integers stay known where the target holds them. */
static sdx_status cast_infer_to(Infer *c, DType to)
{
    DimVec v;
    CastRound r;
    if (!round_of(((const CastAttrs *)c->args)->round_mode, &r))
        return sdx_infer_fail(c, "round_mode is none of up, down, nearest");
    c->out[0].elem = to;
    TRY(sdx_infer_same_shape(c));
    if (!sdx_dtype_in(to, TS_IDX | TS_BOOL) || !sdx_infer_ints(c, 0, &v)) return SDX_OK;
    DimVal *y = sdx_arena_array(c->arena, DimVal, v.n);
    TRY_MEM(y, c->err);
    for (int i = 0; i < v.n; i++) {
        bool fits = !v.v[i].known || to == DT_INT64 || (v.v[i].v >= INT32_MIN && v.v[i].v <= INT32_MAX);
        if (to == DT_BOOL)
            y[i] = v.v[i].known ? sdx_dimval_num(v.v[i].v != 0) : sdx_dimval_unknown();
        else
            y[i] = fits ? v.v[i] : sdx_dimval_unknown();
    }
    return sdx_infer_set_ints(c, 0, y, v.n);
}

static sdx_status cast_infer(Infer *c)
{
    int64_t to = ((const CastAttrs *)c->args)->to;
    if (to <= 0 || to >= DT_COUNT || sdx_dtype_in((DType)to, TS_CPX))
        return sdx_infer_fail(c, "to = %lld is not a type to cast to", (long long)to);
    return cast_infer_to(c, (DType)to);
}

static sdx_status castlike_infer(Infer *c) { return cast_infer_to(c, c->in[1]->elem); }

/* -- strings ------------------------------------------------------------------------------------------------------- */

/* printf and strtod follow the host's locale; tensors do not. */
static char decimal_point(void)
{
    const struct lconv *l = localeconv();
    return l->decimal_point && l->decimal_point[0] ? l->decimal_point[0] : '.';
}

static bool parse_double(Str s, double *out)
{
    char buf[128], *end;
    if (s.n == 0 || s.n >= sizeof buf) return false;
    memcpy(buf, s.p, s.n);
    buf[s.n] = '\0';
    char point = decimal_point();
    for (char *p = buf; point != '.' && *p; p++)
        if (*p == '.') *p = point;
    *out = strtod(buf, &end);
    while (*end == ' ') end++;
    return end == buf + s.n && end != buf;
}

static bool parse_bool(Str s, double *out)
{
    bool yes = s.n == 4 && !strncasecmp(s.p, "true", 4), no = s.n == 5 && !strncasecmp(s.p, "false", 5);
    *out = yes;
    return yes || no;
}

/* Integers of 64 bits, as their bits; anything else as a number, truncated. */
static bool parse_int(Str s, bool is_unsigned, int64_t *out)
{
    char buf[64], *end;
    if (s.n && s.n < sizeof buf) {
        memcpy(buf, s.p, s.n);
        buf[s.n] = '\0';
        *out = is_unsigned ? (int64_t)strtoull(buf, &end, 10) : (int64_t)strtoll(buf, &end, 10);
        if (end == buf + s.n) return true;
    }
    double d;
    if (!parse_double(s, &d) && !parse_bool(s, &d)) return false;
    sdx_cast_block(is_unsigned ? DT_UINT64 : DT_INT64, out, 0, DT_DOUBLE, &d, 0, 1);
    return true;
}

static sdx_status from_strings(Run *r, const Tensor *x, DType to, void *y, CastMode mode)
{
    const Str *s = x->data;
    int64_t n = sdx_tensor_count(x);
    char cls = sdx_dtype_class(to);
    bool whole = cls == 'I' || cls == 'U';
    for (int64_t i = 0; i < n; i++) {
        double d;
        int64_t v;
        if (whole ? !parse_int(s[i], cls == 'U', &v) : !parse_double(s[i], &d) && !parse_bool(s[i], &d))
            return sdx_run_fail(r, "element %lld, \"%.*s\", is not a number", (long long)i,
                                (int)(s[i].n < 40 ? s[i].n : 40), s[i].p ? s[i].p : "");
        if (whole)
            sdx_cast_block_mode(to, y, i, DT_INT64, &v, 0, 1, mode);
        else
            sdx_cast_block_mode(to, y, i, DT_DOUBLE, &d, 0, 1, mode);
    }
    return SDX_OK;
}

/* The shortest decimal that reads back as the same element. */
static int print_float(char *buf, size_t size, DType d, double v)
{
    if (isnan(v)) return snprintf(buf, size, "NaN");
    if (isinf(v)) return snprintf(buf, size, v > 0 ? "INF" : "-INF");
    int n = 0;
    for (int digits = 1; digits <= 17; digits++) {
        n = snprintf(buf, size, "%.*g", digits, v);
        double back = strtod(buf, NULL);
        if (d != DT_DOUBLE) {
            uint32_t bits;
            float f;
            sdx_cast_block(d, &bits, 0, DT_DOUBLE, &back, 0, 1);
            sdx_cast_block(DT_FLOAT, &f, 0, d, &bits, 0, 1);
            back = f;
        }
        if (back == v) break;
    }
    char point = decimal_point();
    for (char *p = buf; point != '.' && *p; p++)
        if (*p == point) *p = '.';
    return n;
}

static sdx_status to_strings(Run *r, const Tensor *x, Str *y)
{
    int64_t n = sdx_tensor_count(x);
    char buf[64], cls = sdx_dtype_class(x->dtype);
    for (int64_t i = 0; i < n; i++) {
        int len;
        if (cls == 'F' || cls == 'S')
            len = print_float(buf, sizeof buf, x->dtype, sdx_tensor_get_double(x, i));
        else if (cls == 'U')
            len = snprintf(buf, sizeof buf, "%llu", (unsigned long long)sdx_tensor_get_int(x, i));
        else
            len = snprintf(buf, sizeof buf, "%lld", (long long)sdx_tensor_get_int(x, i));
        char *p = sdx_run_heap(r, (size_t)len);
        TRY_MEM(p, r->err);
        memcpy(p, buf, (size_t)len);
        y[i] = (Str){ p, (size_t)len };
    }
    return SDX_OK;
}

/* -- running ------------------------------------------------------------------------------------------------------- */

typedef struct CastJob {
    DType to, from;
    void *y;
    const void *x;
    CastMode mode;
} CastJob;

static void cast_range(void *arg, int64_t from, int64_t to, int worker)
{
    const CastJob *j = arg;
    sdx_cast_block_mode(j->to, j->y, from, j->from, j->x, from, to - from, j->mode);
}

static sdx_status cast_to(Run *r, DType to)
{
    const CastAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    CastJob j = { .to = to, .from = x->dtype, .x = x->data, .mode = { .no_saturate = !a->saturate } };
    size_t nbytes;
    round_of(a->round_mode, &j.mode.e8m0);
    TRY(sdx_run_output(r, 0, to, x->rank, x->dims, &j.y));
    if (to == j.from) {
        if (sdx_tensor_nbytes(x, &nbytes) && nbytes && j.y != j.x) memmove(j.y, j.x, nbytes);
        return SDX_OK;
    }
    if (j.from == DT_STRING) return from_strings(r, x, to, j.y, j.mode);
    if (to == DT_STRING) return to_strings(r, x, j.y);
    sdx_run_range(r, sdx_tensor_count(x), SDX_EW_GRAIN, cast_range, &j);
    return SDX_OK;
}

static sdx_status cast_run(Run *r) { return cast_to(r, (DType)((const CastAttrs *)r->args)->to); }
static sdx_status castlike_run(Run *r) { return cast_to(r, r->in[1]->t.dtype); }

/* Version 1 names the type. */
static sdx_status cast_from_1(Node *n, Err *err)
{
    static const char *const names[DT_COUNT] = {
#define DTYPE(name, code, bits, text, cls) [code] = #name,
#include "tensor/dtype.def"
#undef DTYPE
    };
    const Attr *a = sdx_node_attr(n, "to");
    if (!a || a->type != ATTR_STRING) return SDX_OK;
    for (int d = 1; d < DT_COUNT; d++)
        if (strlen(names[d]) == a->s.n && !strncasecmp(names[d], a->s.p, a->s.n)) {
            Attr to = { .name = "to", .type = ATTR_INT, .n = 1, .i = d };
            sdx_node_drop_attr(n, "to");
            TRY_MEM(sdx_node_set_attr(n, &to) ? n : NULL, err);
            return SDX_OK;
        }
    char text[256];
    return sdx_fail(err, SDX_INVALID_MODEL, "%s: to names no type", sdx_node_text(n, text, sizeof text));
}

/* What floats out of range become in 4 bits the texts leave open. The test data of versions 21 and 23 saturates, and makes
 * NaN the largest float4; since 24 integers keep their low bits. */
static sdx_status cast_from_23(Node *n, Err *err)
{
    const Attr *a = sdx_node_attr(n, "to");
    TRY(sdx_upgrade_needs(n, 1, err));
    Value *x = n->in[0];
    DType to = a && a->type == ATTR_INT ? (DType)a->i : n->n_in > 1 && n->in[1] ? n->in[1]->type.elem : DT_NONE;
    bool integer = to == DT_INT4 || to == DT_UINT4;
    if (!sdx_dtype_in(x->type.elem, TS_FLTB) || (!integer && to != DT_FLOAT4E2M1)) return SDX_OK;
    Value *low = sdx_upgrade_const_like(n, to == DT_INT4 ? -8 : 0, x, err);
    Value *high = sdx_upgrade_const_like(n, to == DT_INT4 ? 7 : to == DT_UINT4 ? 15 : 6, x, err), *bounded;
    if (!low || !high) return SDX_OUT_OF_MEMORY;
    if (integer) {
        bounded = sdx_upgrade_before(n, "Clip", (Value *[]){ x, low, high }, 3, err);
    } else {
        Value *nan = sdx_upgrade_before(n, "IsNaN", &x, 1, err);
        bounded = nan ? sdx_upgrade_before(n, "Where", (Value *[]){ nan, high, x }, 3, err) : NULL;
    }
    if (!bounded) return SDX_OUT_OF_MEMORY;
    bool set = sdx_node_set_input(n, 0, bounded);
    TRY_MEM(set ? n : NULL, err);
    return SDX_OK;
}

#define TS_CAST_6 (TS_NUM | TS_BOOL)
#define TS_CAST_13 (TS_CAST_6 | TS_STR | TS_BF16)
#define TS_CAST_19 (TS_CAST_13 | TS_F8)
#define TS_CAST_21 (TS_CAST_19 | TS_INT4)
#define TS_CAST_23 (TS_CAST_21 | TS_F4)
#define TS_CAST_24 (TS_CAST_23 | TS_E8M0)
#define TS_CAST_25 (TS_CAST_24 | TS_INT2)
#define TS_CAST_28 (TS_CAST_25 | TS_F6)

static const OpVer cast_vers[] = { { 28, { TS_CAST_28, TS_CAST_28 } },
                                   { 25, { TS_CAST_25, TS_CAST_25 } },
                                   { 24, { TS_CAST_24, TS_CAST_24 } },
                                   { 23, { TS_CAST_23, TS_CAST_23 }, cast_from_23 },
                                   { 21, { TS_CAST_21, TS_CAST_21 } },
                                   { 19, { TS_CAST_19, TS_CAST_19 } },
                                   { 13, { TS_CAST_13, TS_CAST_13 } },
                                   { 9, { TS_CAST_6 | TS_STR, TS_CAST_6 | TS_STR } },
                                   { 6, { TS_CAST_6, TS_CAST_6 } },
                                   { 1, { TS_CAST_6, TS_CAST_6 }, cast_from_1 },
                                   { 0 } };

static const OpVer castlike_vers[] = { { 25, { TS_CAST_25, TS_CAST_25 } },
                                       { 24, { TS_CAST_24, TS_CAST_24 } },
                                       { 23, { TS_CAST_23, TS_CAST_23 }, cast_from_23 },
                                       { 21, { TS_CAST_21, TS_CAST_21 } },
                                       { 19, { TS_CAST_19, TS_CAST_19 } },
                                       { 15, { TS_CAST_13, TS_CAST_13 } },
                                       { 0 } };

const OpDef sdx_op_Cast = {
    .name = "Cast",
    .sig = "T->U",
    .attrs = cast_attrs,
    .attrs_size = sizeof(CastAttrs),
    .vers = cast_vers,
    .flags = OP_ELEMENTWISE | OP_INPLACE,
    .infer = cast_infer,
    .cpu = { NULL, cast_run },
};

const OpDef sdx_op_CastLike = {
    .name = "CastLike",
    .sig = "T,U->U",
    .attrs = castlike_attrs,
    .attrs_size = sizeof(CastAttrs),
    .vers = castlike_vers,
    .flags = OP_INPLACE,
    .infer = castlike_infer,
    .cpu = { NULL, castlike_run },
};

/* -- BitCast ------------------------------------------------------------------------------------------------------- */

typedef struct BitCastAttrs {
    int64_t to;
} BitCastAttrs;
static const AttrSpec bitcast_attrs[] = { OP_INT_REQ(BitCastAttrs, to), OP_ATTR_END };

static sdx_status bitcast_infer(Infer *c)
{
    int64_t to = ((const BitCastAttrs *)c->args)->to;
    if (to <= 0 || to >= DT_COUNT || to == DT_STRING)
        return sdx_infer_fail(c, "to = %lld is not a type to cast to", (long long)to);
    DType from = c->in[0]->elem;
    if (from != DT_NONE && sdx_dtype_bits(from) != sdx_dtype_bits((DType)to))
        return sdx_infer_fail(c, "%s and %s differ in width", sdx_dtype_name(from), sdx_dtype_name((DType)to));
    c->out[0].elem = (DType)to;
    return sdx_infer_same_shape(c);
}

static sdx_status bitcast_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    DType to = (DType)((const BitCastAttrs *)r->args)->to;
    size_t nbytes;
    void *y;
    if (sdx_dtype_bits(to) != sdx_dtype_bits(x->dtype)) return sdx_run_fail(r, "the types differ in width");
    TRY(sdx_run_output(r, 0, to, x->rank, x->dims, &y));
    if (sdx_tensor_nbytes(x, &nbytes) && nbytes && y != x->data) memmove(y, x->data, nbytes);
    return SDX_OK;
}

#define TS_BITCAST (TS_ALL_25 & ~TS_STR)
static const OpVer bitcast_vers[] = { { 26, { TS_BITCAST, TS_BITCAST } }, { 0 } };

const OpDef sdx_op_BitCast = {
    .name = "BitCast",
    .sig = "T->U",
    .attrs = bitcast_attrs,
    .attrs_size = sizeof(BitCastAttrs),
    .vers = bitcast_vers,
    .flags = OP_VIEW | OP_INPLACE,
    .infer = bitcast_infer,
    .cpu = { NULL, bitcast_run },
};
