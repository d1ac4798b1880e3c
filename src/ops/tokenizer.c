/* ops/tokenizer.c - com.microsoft Tokenizer
 *
 * Each string becomes a row of tokens. tokenexp: the tokens are the leftmost-longest matches. separators: the string is
 * cut at the matches of the first expression, its pieces at those of the second, and so on; empty pieces go. One empty
 * separator: every character is a token. Tokens of fewer than mincharnum characters go. Rows are filled up with
 * pad_value; mark = 1 puts U+0002 before the tokens of a row and U+0003 behind them. */
#include <string.h>

#include "base/regex.h"
#include "base/size.h"
#include "base/unicode.h"
#include "ops/dims.h"
#include "ops/shapes.h"

typedef struct TokenizerAttrs {
    int64_t mark, mincharnum;
    Str pad_value, tokenexp;
    StrList separators;
} TokenizerAttrs;

static const AttrSpec tokenizer_attrs[] = {
    OP_INT_REQ(TokenizerAttrs, mark),    OP_INT_REQ(TokenizerAttrs, mincharnum), OP_STR_REQ(TokenizerAttrs, pad_value),
    OP_STRS(TokenizerAttrs, separators), OP_STR(TokenizerAttrs, tokenexp, ""),   OP_ATTR_END
};

static sdx_status tokenizer_infer(Infer *c)
{
    const TokenizerAttrs *a = c->args;
    if (!a->separators.n == !a->tokenexp.n)
        return sdx_infer_fail(c, "one of separators and tokenexp must be given, and not both");
    if (a->mincharnum < 1)
        return sdx_infer_fail(c, "mincharnum is %lld; it must be positive", (long long)a->mincharnum);
    TRY(infer_rank_between(c, 0, 1, 2, "X"));
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    Dim *y = infer_out_rank(c, 0, x->rank + 1);
    for (int k = 0; k < x->rank; k++) y[k] = x->dims[k];
    return SDX_OK;
}

typedef struct TokenizerState {
    Regex **expressions; /* tokenexp, or the separators; none: characters */
    int n;
} TokenizerState;

static sdx_status tokenizer_prepare(Prepare *p)
{
    const TokenizerAttrs *a = p->args;
    TokenizerState *st = sdx_arena_new(p->arena, TokenizerState);
    TRY_MEM(st, p->err);
    p->state = st;
    bool characters = a->separators.n == 1 && !a->separators.v[0].n;
    st->n = characters ? 0 : a->tokenexp.n ? 1 : (int)a->separators.n;
    st->expressions = sdx_arena_array(p->arena, Regex *, st->n);
    TRY_MEM(st->expressions, p->err);
    for (int i = 0; i < st->n; i++) {
        Str e = a->tokenexp.n ? a->tokenexp : a->separators.v[i];
        if (!e.n) return sdx_prepare_fail(p, SDX_INVALID_MODEL, "separator %d is empty", i);
        TRY(sdx_regex_compile(&st->expressions[i], e.p, e.n, p->arena, p->err));
        if (sdx_regex_work(st->expressions[i]) > p->scratch) p->scratch = sdx_regex_work(st->expressions[i]);
    }
    return SDX_OK;
}

/* Spans of one or more strings, one after the other. */
typedef struct Tokens {
    Str *v;
    int64_t n, cap;
} Tokens;

typedef struct Tokenize {
    Run *r;
    Tokens *out;
    sdx_status status;
} Tokenize;

static bool tokenize_stop(void *user)
{
    Tokenize *t = user;
    return (t->status = sdx_run_poll(t->r)) != SDX_OK;
}

static sdx_status add_token(Tokenize *t, Tokens *list, Str s)
{
    if (list->n == list->cap) {
        int64_t cap = list->cap * 2 + 64;
        size_t nbytes;
        Str *v = sdx_mul_size(&nbytes, (size_t)cap, sizeof *v) ? sdx_run_heap(t->r, nbytes) : NULL;
        if (!v) return sdx_fail(t->r->err, SDX_OUT_OF_MEMORY, "out of memory");
        if (list->n) memcpy(v, list->v, (size_t)list->n * sizeof *v);
        list->v = v;
        list->cap = cap;
    }
    list->v[list->n++] = s;
    return SDX_OK;
}

/* The characters of s; -1: it is no UTF-8. */
static int64_t count_chars(Str s)
{
    int64_t count = 0;
    uint32_t c;
    for (size_t i = 0; i < s.n; count++) {
        int len = sdx_utf8_read(s.p + i, s.n - i, &c);
        if (!len) return -1;
        i += (size_t)len;
    }
    return count;
}

static size_t char_length(Str s, size_t at)
{
    uint32_t c;
    return at < s.n ? (size_t)sdx_utf8_read(s.p + at, s.n - at, &c) : 1;
}

/* The first match of e in s from `at` on: [*from, *to). A match of nothing is none. */
static sdx_status find_match(Tokenize *t, const Regex *e, Str s, size_t at, size_t *from, size_t *to, bool *found)
{
    for (*from = at; *from < s.n; *from += char_length(s, *from)) {
        RegexMatch m = sdx_regex_longest(e, s.p, s.n, *from, t->r->scratch, tokenize_stop, t, to);
        if (m == REGEX_STOPPED) return t->status;
        *found = m == REGEX_YES && *to > *from;
        if (*found) return SDX_OK;
        if (*from % 4096 == 4095) TRY(sdx_run_poll(t->r));
    }
    *found = false;
    return SDX_OK;
}

/* Pieces of s between matches of e (tokens false), or the matches. */
static sdx_status cut(Tokenize *t, const Regex *e, bool tokens, int64_t least, Str s, Tokens *out)
{
    size_t at = 0, from, to;
    bool found = true;
    while (found) {
        TRY(find_match(t, e, s, at, &from, &to, &found));
        Str piece = { s.p + at, (found ? from : s.n) - at };
        if (tokens) piece = found ? (Str){ s.p + from, to - from } : (Str){ s.p, 0 };
        if (piece.n && count_chars(piece) >= least) TRY(add_token(t, out, piece));
        at = to;
    }
    return SDX_OK;
}

static sdx_status tokenize(Tokenize *t, Str s)
{
    const TokenizerAttrs *a = t->r->args;
    const TokenizerState *st = t->r->state;
    Tokens pieces = { 0 };
    if (!st->n)
        for (size_t i = 0; i < s.n && a->mincharnum <= 1; i += char_length(s, i))
            TRY(add_token(t, t->out, (Str){ s.p + i, char_length(s, i) }));
    if (st->n) TRY(add_token(t, &pieces, s));
    for (int i = 0; i < st->n; i++) {
        Tokens next = { 0 };
        for (int64_t k = 0; k < pieces.n; k++)
            TRY(cut(t, st->expressions[i], a->tokenexp.n != 0, a->mincharnum, pieces.v[k],
                    i == st->n - 1 ? t->out : &next));
        pieces = next;
    }
    return SDX_OK;
}

static sdx_status tokenizer_run(Run *r)
{
    const TokenizerAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    const Str *s = x->data;
    int64_t rows = sdx_tensor_count(x), most = 0, dims[3];
    Tokens all = { 0 };
    Tokenize t = { .r = r, .out = &all };
    size_t nbytes;
    if (!sdx_mul_size(&nbytes, (size_t)rows + 1, sizeof(int64_t))) return sdx_run_fail(r, "too many strings");
    int64_t *first = sdx_run_heap(r, nbytes); /* row i has tokens [first[i], first[i + 1]) */
    if (!first) return sdx_fail(r->err, SDX_OUT_OF_MEMORY, "out of memory");
    first[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        if (count_chars(s[i]) < 0) return sdx_run_fail(r, "string %lld is no UTF-8", (long long)i);
        TRY(tokenize(&t, s[i]));
        first[i + 1] = all.n;
        if (all.n - first[i] > most) most = all.n - first[i];
    }
    int64_t width = most + (a->mark ? 2 : 0);
    for (int k = 0; k < x->rank; k++) dims[k] = x->dims[k];
    dims[x->rank] = width;
    void *out;
    TRY(sdx_run_output(r, 0, DT_STRING, x->rank + 1, dims, &out));
    Str *y = out;
    for (int64_t i = 0; i < rows; i++) {
        int64_t n = first[i + 1] - first[i], k = 0;
        if (a->mark) y[k++] = (Str){ "\002", 1 };
        for (int64_t j = 0; j < n; j++) y[k++] = all.v[first[i] + j];
        if (a->mark) y[k++] = (Str){ "\003", 1 };
        while (k < width) y[k++] = a->pad_value;
        y += width;
    }
    return SDX_OK;
}

static const OpVer tokenizer_vers[] = { { 1, { 0 } }, { 0 } };

const OpDef sdx_op_ms_Tokenizer = {
    .name = "Tokenizer",
    .domain = "com.microsoft",
    .sig = "str->str",
    .attrs = tokenizer_attrs,
    .attrs_size = sizeof(TokenizerAttrs),
    .vers = tokenizer_vers,
    .flags = OP_DATA_SHAPE,
    .infer = tokenizer_infer,
    .cpu = { tokenizer_prepare, tokenizer_run },
};
