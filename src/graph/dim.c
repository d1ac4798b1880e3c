/* Normal form. An expression is a polynomial: a sum of terms, each an integer times a product of atoms, in a fixed
 * order of products. Atoms are
 *
 *     symbols           named, or fresh
 *     floor(p / q)      p reduced modulo q when q is a number
 *     trunc(p / q)      only when the signs are not known; otherwise it is a floor
 *     relu(p)           max(p, 0), of the one of p and -p that has the positive leading coefficient
 *     broadcast(p, q)   what two sizes give that must be equal unless one of them is 1
 *
 * The rest is written with them: max(a,b) = b + relu(a-b), min(a,b) = a - relu(a-b), mod(a,b) = a - b floor(a/b). So
 * x[1:] of size N - min(1,N) and x[:-1] of size max(N-1,0) come out equal. Symbols are sizes: at least 0; bounds follow
 * from that and decide relu and trunc where they can. Everything is checked for overflow and bounded in size: what
 * grows too large is unknown. */
#include "graph/dim.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"

enum { MAX_TERMS = 24, MAX_DEGREE = 6, MAX_WEIGHT = 200, MAX_EXPRS = 1 << 20 };

typedef struct Term {
    int64_t coef;
    int degree;           /* 0: the constant term, always the last */
    int atom[MAX_DEGREE]; /* ascending; repeated for powers */
} Term;

typedef struct Poly {
    int n;
    Term t[MAX_TERMS];
} Poly;

typedef enum AtomKind { ATOM_NAMED, ATOM_FRESH, ATOM_FLOOR, ATOM_TRUNC, ATOM_RELU, ATOM_BROADCAST } AtomKind;

typedef struct Atom {
    AtomKind kind;
    int weight;       /* atoms in it, counted as a tree */
    int64_t lo, hi;   /* bounds; INT64_MIN and INT64_MAX: none */
    const char *name; /* NAMED */
    size_t name_n;
    DimVal p, q; /* FLOOR, TRUNC, BROADCAST; RELU: p */
} Atom;

typedef struct Expr {
    int n, weight;
    int64_t lo, hi;
    Term *t;
} Expr;

typedef struct Hash {
    int *slot; /* 1 + index, 0 empty */
    int n, cap;
} Hash;

struct SymTab {
    Arena *arena;
    Atom *atoms;
    int n_atoms, cap_atoms;
    Expr *exprs; /* handle d is exprs[-1 - d] */
    int n_exprs, cap_exprs;
    int n_fresh;
    Hash atom_hash, expr_hash;
};

SymTab *sdx_symtab_create(Arena *arena)
{
    SymTab *s = sdx_arena_new(arena, SymTab);
    if (s) s->arena = arena;
    return s;
}

DimVal sdx_dimval_of(Dim d) { return d >= 0 ? sdx_dimval_num(d) : (DimVal){ .sym = d }; }

Dim sdx_dim_of(DimVal v) { return !v.known ? v.sym : v.v >= 0 ? v.v : SDX_DIM_UNKNOWN; }

static bool is_unknown(DimVal v) { return !v.known && v.sym == SDX_DIM_UNKNOWN; }

bool sdx_dimval_equal(DimVal a, DimVal b)
{
    if (a.known || b.known) return a.known && b.known && a.v == b.v;
    return a.sym == b.sym && a.sym != SDX_DIM_UNKNOWN;
}

/* -- bounds: saturating interval arithmetic; the two extremes stand for "none" -------------------------------------- */

static int64_t sat_add(int64_t a, int64_t b, bool up)
{
    int64_t r;
    if (up ? a == INT64_MAX || b == INT64_MAX : a == INT64_MIN || b == INT64_MIN) return up ? INT64_MAX : INT64_MIN;
    return sdx_add_i64(&r, a, b) ? r : a > 0 ? INT64_MAX : INT64_MIN;
}

static int64_t sat_mul(int64_t a, int64_t b)
{
    int64_t r;
    if (a == 0 || b == 0) return 0;
    bool infinite = a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX;
    if (!infinite && sdx_mul_i64(&r, a, b)) return r;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static void bounds_mul(int64_t *lo, int64_t *hi, int64_t lo2, int64_t hi2)
{
    int64_t c[4] = { sat_mul(*lo, lo2), sat_mul(*lo, hi2), sat_mul(*hi, lo2), sat_mul(*hi, hi2) };
    *lo = *hi = c[0];
    for (int i = 1; i < 4; i++) {
        if (c[i] < *lo) *lo = c[i];
        if (c[i] > *hi) *hi = c[i];
    }
}

static void poly_bounds(const SymTab *s, const Term *t, int n, int64_t *lo, int64_t *hi)
{
    *lo = *hi = 0;
    for (int i = 0; i < n; i++) {
        int64_t l = t[i].coef, h = t[i].coef;
        for (int k = 0; k < t[i].degree; k++) bounds_mul(&l, &h, s->atoms[t[i].atom[k]].lo, s->atoms[t[i].atom[k]].hi);
        *lo = sat_add(*lo, l, false);
        *hi = sat_add(*hi, h, true);
    }
}

static void val_bounds(const SymTab *s, DimVal v, int64_t *lo, int64_t *hi)
{
    *lo = INT64_MIN;
    *hi = INT64_MAX;
    if (v.known)
        *lo = *hi = v.v;
    else if (s && v.sym != SDX_DIM_UNKNOWN) {
        *lo = s->exprs[-1 - v.sym].lo;
        *hi = s->exprs[-1 - v.sym].hi;
    }
}

int64_t sdx_dimval_lower(const SymTab *s, DimVal v)
{
    int64_t lo, hi;
    val_bounds(s, v, &lo, &hi);
    return lo;
}

/* -- hash-consing -------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
    return h ^ h >> 29;
}

static uint64_t terms_hash(const Term *t, int n)
{
    uint64_t h = (uint64_t)n;
    for (int i = 0; i < n; i++) {
        h = mix(h, (uint64_t)t[i].coef);
        for (int k = 0; k < t[i].degree; k++) h = mix(h, (uint64_t)t[i].atom[k] + 1);
    }
    return h;
}

static uint64_t val_hash(uint64_t h, DimVal v) { return mix(h, v.known ? (uint64_t)v.v * 2 : (uint64_t)v.sym * 2 + 1); }

static uint64_t atom_hash(const Atom *a)
{
    uint64_t h = (uint64_t)a->kind;
    for (size_t i = 0; i < a->name_n; i++) h = mix(h, (unsigned char)a->name[i]);
    return a->kind == ATOM_NAMED ? h : val_hash(val_hash(h, a->p), a->q);
}

static bool val_same(DimVal a, DimVal b) { return a.known == b.known && (a.known ? a.v == b.v : a.sym == b.sym); }

static bool atom_same(const Atom *a, const Atom *b)
{
    if (a->kind != b->kind) return false;
    if (a->kind == ATOM_NAMED) return a->name_n == b->name_n && memcmp(a->name, b->name, a->name_n) == 0;
    return a->kind != ATOM_FRESH && val_same(a->p, b->p) && val_same(a->q, b->q);
}

static bool terms_same(const Term *a, const Term *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i].coef != b[i].coef || a[i].degree != b[i].degree ||
            memcmp(a[i].atom, b[i].atom, (size_t)a[i].degree * sizeof a[i].atom[0]) != 0)
            return false;
    return true;
}

static bool hash_reserve(SymTab *s, Hash *h, uint64_t (*key)(const SymTab *s, int i))
{
    if (2 * h->n < h->cap) return true;
    int cap = h->cap ? 2 * h->cap : 32;
    int *slot = sdx_arena_array(s->arena, int, cap);
    if (!slot) return false;
    for (int i = 0; i < h->n; i++) {
        size_t at = key(s, i) & (size_t)(cap - 1);
        while (slot[at]) at = (at + 1) & (size_t)(cap - 1);
        slot[at] = i + 1;
    }
    h->slot = slot;
    h->cap = cap;
    return true;
}

static uint64_t atom_key(const SymTab *s, int i) { return atom_hash(&s->atoms[i]); }
static uint64_t expr_key(const SymTab *s, int i) { return terms_hash(s->exprs[i].t, s->exprs[i].n); }

/* The index of the atom, added when new. -1: no room. */
static int atom_intern(SymTab *s, const Atom *a)
{
    if (!hash_reserve(s, &s->atom_hash, atom_key)) return -1;
    size_t mask = (size_t)s->atom_hash.cap - 1, at = atom_hash(a) & mask;
    for (; s->atom_hash.slot[at]; at = (at + 1) & mask)
        if (atom_same(&s->atoms[s->atom_hash.slot[at] - 1], a)) return s->atom_hash.slot[at] - 1;
    if (s->n_atoms >= MAX_EXPRS || !sdx_arena_grow(s->arena, s->atoms, s->n_atoms, s->cap_atoms)) return -1;
    Atom *dst = &s->atoms[s->n_atoms];
    *dst = *a;
    if (a->name && !(dst->name = sdx_arena_strndup(s->arena, a->name, a->name_n))) return -1;
    s->atom_hash.slot[at] = ++s->n_atoms;
    s->atom_hash.n++;
    return s->n_atoms - 1;
}

/* The value of a polynomial in normal form. */
static DimVal poly_intern(SymTab *s, const Poly *p)
{
    if (p->n == 0) return sdx_dimval_num(0);
    if (p->n == 1 && p->t[0].degree == 0) return sdx_dimval_num(p->t[0].coef);
    if (!hash_reserve(s, &s->expr_hash, expr_key)) return sdx_dimval_unknown();
    size_t mask = (size_t)s->expr_hash.cap - 1, at = terms_hash(p->t, p->n) & mask;
    for (; s->expr_hash.slot[at]; at = (at + 1) & mask) {
        int i = s->expr_hash.slot[at] - 1;
        if (s->exprs[i].n == p->n && terms_same(s->exprs[i].t, p->t, p->n)) return (DimVal){ .sym = -1 - i };
    }
    Expr e = { .n = p->n };
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->t[i].degree; k++) e.weight += s->atoms[p->t[i].atom[k]].weight;
    if (e.weight > MAX_WEIGHT || s->n_exprs >= MAX_EXPRS) return sdx_dimval_unknown();
    e.t = sdx_arena_array(s->arena, Term, p->n);
    if (!e.t || !sdx_arena_grow(s->arena, s->exprs, s->n_exprs, s->cap_exprs)) return sdx_dimval_unknown();
    memcpy(e.t, p->t, (size_t)p->n * sizeof *e.t);
    poly_bounds(s, e.t, e.n, &e.lo, &e.hi);
    s->exprs[s->n_exprs] = e;
    s->expr_hash.slot[at] = ++s->n_exprs;
    s->expr_hash.n++;
    return (DimVal){ .sym = -s->n_exprs };
}

/* -- polynomials --------------------------------------------------------------------------------------------------- */

static bool poly_of(const SymTab *s, DimVal v, Poly *p)
{
    p->n = 0;
    if (v.known) {
        if (v.v) p->t[p->n++] = (Term){ .coef = v.v };
        return true;
    }
    if (!s || v.sym == SDX_DIM_UNKNOWN) return false;
    const Expr *e = &s->exprs[-1 - v.sym];
    memcpy(p->t, e->t, (size_t)e->n * sizeof *e->t);
    p->n = e->n;
    return true;
}

/* Higher degrees first, then older atoms first: the constant is last. */
static int term_order(const Term *a, const Term *b)
{
    if (a->degree != b->degree) return b->degree - a->degree;
    for (int i = 0; i < a->degree; i++)
        if (a->atom[i] != b->atom[i]) return a->atom[i] < b->atom[i] ? -1 : 1;
    return 0;
}

/* p += t. false: overflow or too many terms. */
static bool poly_add_term(Poly *p, const Term *t)
{
    if (t->coef == 0) return true;
    int i = 0;
    while (i < p->n && term_order(&p->t[i], t) < 0) i++;
    if (i < p->n && term_order(&p->t[i], t) == 0) {
        if (!sdx_add_i64(&p->t[i].coef, p->t[i].coef, t->coef)) return false;
        if (p->t[i].coef == 0) {
            memmove(&p->t[i], &p->t[i + 1], (size_t)(p->n - i - 1) * sizeof *p->t);
            p->n--;
        }
        return true;
    }
    if (p->n == MAX_TERMS) return false;
    memmove(&p->t[i + 1], &p->t[i], (size_t)(p->n - i) * sizeof *p->t);
    p->t[i] = *t;
    p->n++;
    return true;
}

static bool term_mul(Term *r, const Term *a, const Term *b)
{
    if (a->degree + b->degree > MAX_DEGREE || !sdx_mul_i64(&r->coef, a->coef, b->coef)) return false;
    r->degree = 0;
    for (int i = 0, k = 0; i < a->degree || k < b->degree;) {
        bool first = k == b->degree || (i < a->degree && a->atom[i] <= b->atom[k]);
        r->atom[r->degree++] = first ? a->atom[i++] : b->atom[k++];
    }
    return true;
}

/* p += a * t */
static bool poly_add_product(Poly *p, const Poly *a, const Term *t)
{
    for (int i = 0; i < a->n; i++) {
        Term r;
        if (!term_mul(&r, &a->t[i], t) || !poly_add_term(p, &r)) return false;
    }
    return true;
}

static DimVal atom_val(SymTab *s, const Atom *a)
{
    int i = atom_intern(s, a);
    if (i < 0) return sdx_dimval_unknown();
    return poly_intern(s, &(Poly){ .n = 1, .t = { { .coef = 1, .degree = 1, .atom = { i } } } });
}

static int val_weight(const SymTab *s, DimVal v) { return v.known ? 0 : s->exprs[-1 - v.sym].weight; }

Dim sdx_dim_named(SymTab *s, const char *name, size_t n)
{
    Atom a = { .kind = ATOM_NAMED, .weight = 1, .hi = INT64_MAX, .name = name, .name_n = n };
    return atom_val(s, &a).sym;
}

Dim sdx_dim_fresh(SymTab *s)
{
    Atom a = { .kind = ATOM_FRESH, .weight = 1, .hi = INT64_MAX, .p = sdx_dimval_num(++s->n_fresh) };
    return atom_val(s, &a).sym;
}

int sdx_symtab_fresh(const SymTab *s) { return s->n_fresh; }

/* -- arithmetic ---------------------------------------------------------------------------------------------------- */

static DimVal val_linear(SymTab *s, DimVal a, int64_t factor, DimVal b)
{
    Poly p, q;
    int64_t r;
    if (a.known && b.known && sdx_mul_i64(&r, factor, b.v) && sdx_add_i64(&r, a.v, r)) return sdx_dimval_num(r);
    if (!s || !poly_of(s, a, &p) || !poly_of(s, b, &q)) return sdx_dimval_unknown();
    return poly_add_product(&p, &q, &(Term){ .coef = factor }) ? poly_intern(s, &p) : sdx_dimval_unknown();
}

DimVal sdx_dimval_add(SymTab *s, DimVal a, DimVal b) { return val_linear(s, a, 1, b); }
DimVal sdx_dimval_sub(SymTab *s, DimVal a, DimVal b) { return val_linear(s, a, -1, b); }

DimVal sdx_dimval_mul(SymTab *s, DimVal a, DimVal b)
{
    Poly p, q, r = { .n = 0 };
    int64_t v;
    if (a.known && b.known) return sdx_mul_i64(&v, a.v, b.v) ? sdx_dimval_num(v) : sdx_dimval_unknown();
    if ((a.known && a.v == 0) || (b.known && b.v == 0)) return sdx_dimval_num(0);
    if (a.known && a.v == 1) return b;
    if (b.known && b.v == 1) return a;
    if (!s || !poly_of(s, a, &p) || !poly_of(s, b, &q)) return sdx_dimval_unknown();
    for (int i = 0; i < q.n; i++)
        if (!poly_add_product(&r, &p, &q.t[i])) return sdx_dimval_unknown();
    return poly_intern(s, &r);
}

static int64_t floor_div(int64_t a, int64_t b) /* b > 0 */ { return a / b - (a % b < 0); }

static int64_t gcd(int64_t a, int64_t b) /* both > INT64_MIN */
{
    for (a = a < 0 ? -a : a, b = b < 0 ? -b : b; b;) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Polynomial division without remainder: p = q r. */
static bool poly_divides(const Poly *num, const Poly *q, Poly *r)
{
    Poly p = *num;
    r->n = 0;
    for (int steps = 0; p.n && steps < 2 * MAX_TERMS; steps++) {
        const Term *a = &p.t[0], *b = &q->t[0];
        if (a->coef == INT64_MIN || a->coef % b->coef) return false;
        Term t = { .coef = a->coef / b->coef };
        int k = 0;
        for (int i = 0; i < a->degree; i++) {
            if (k < b->degree && a->atom[i] == b->atom[k])
                k++;
            else
                t.atom[t.degree++] = a->atom[i];
        }
        if (k < b->degree || !poly_add_term(r, &t)) return false;
        t.coef = -t.coef;
        if (!poly_add_product(&p, q, &t)) return false;
    }
    return p.n == 0;
}

static DimVal floor_atom(SymTab *s, DimVal p, DimVal q)
{
    Atom a = { .kind = ATOM_FLOOR, .p = p, .q = q };
    int64_t lo, hi, qlo, qhi;
    a.weight = 1 + val_weight(s, p) + val_weight(s, q);
    val_bounds(s, p, &lo, &hi);
    val_bounds(s, q, &qlo, &qhi);
    a.lo = INT64_MIN;
    a.hi = INT64_MAX;
    if (qlo >= 0) { /* a zero divisor is not defined, so it is at least 1 */
        if (qlo == 0) qlo = 1;
        if (lo >= 0)
            a.lo = q.known ? lo / q.v : 0;
        else if (lo != INT64_MIN)
            a.lo = floor_div(lo, qlo);
        if (hi != INT64_MAX) a.hi = hi >= 0 ? hi / qlo : -1;
    }
    return atom_val(s, &a);
}

/* floor(p / c), c > 0: whole multiples of c come out, the rest is reduced. */
static DimVal floor_by_number(SymTab *s, const Poly *p, int64_t c)
{
    Poly out = { .n = 0 }, rest = { .n = 0 };
    int64_t g = c;
    for (int i = 0; i < p->n; i++) {
        Term whole = p->t[i], part = p->t[i];
        whole.coef = floor_div(p->t[i].coef, c);
        part.coef = p->t[i].coef % c;
        if (part.coef < 0) part.coef += c;
        if (!poly_add_term(&out, &whole) || !poly_add_term(&rest, &part)) return sdx_dimval_unknown();
        if (part.degree) g = gcd(g, part.coef);
    }
    bool has_const = rest.n && rest.t[rest.n - 1].degree == 0;
    int n_var = rest.n - has_const;
    if (n_var == 0) return poly_intern(s, &out); /* 0 <= constant < c */

    if (g > 1) { /* floor((g r + k) / (g c')) = floor((r + floor(k / g)) / c') */
        for (int i = 0; i < rest.n; i++) rest.t[i].coef /= g;
        if (has_const && rest.t[rest.n - 1].coef == 0) rest.n--;
        c /= g;
    }
    const Term *t = &rest.t[0];
    if (n_var == 1 && t->degree == 1 && t->coef == 1) { /* floor((floor(x / a) + k) / c) = floor((x + k a) / (a c)) */
        Atom in = s->atoms[t->atom[0]];
        int64_t k = rest.n > 1 ? rest.t[1].coef : 0, by, shift;
        if (in.kind == ATOM_FLOOR && in.q.known && in.q.v > 0 && sdx_mul_i64(&by, in.q.v, c) &&
            sdx_mul_i64(&shift, k, in.q.v)) {
            DimVal x = sdx_dimval_add(s, in.p, sdx_dimval_num(shift));
            return sdx_dimval_add(s, poly_intern(s, &out), sdx_dimval_floordiv(s, x, sdx_dimval_num(by)));
        }
    }
    DimVal r = poly_intern(s, &rest);
    if (is_unknown(r)) return r;
    int64_t lo, hi;
    val_bounds(s, r, &lo, &hi);
    if (lo >= 0 && hi < c) return poly_intern(s, &out);
    return sdx_dimval_add(s, poly_intern(s, &out), floor_atom(s, r, sdx_dimval_num(c)));
}

DimVal sdx_dimval_floordiv(SymTab *s, DimVal a, DimVal b)
{
    Poly p, q, r;
    if (b.known && b.v == 0) return sdx_dimval_unknown();
    if (b.known && b.v == 1) return a;
    if (a.known && b.known) {
        if (b.v > 0) return sdx_dimval_num(floor_div(a.v, b.v));
        if (a.v == INT64_MIN || b.v == INT64_MIN) return sdx_dimval_unknown();
        return sdx_dimval_num(floor_div(-a.v, -b.v));
    }
    if (a.known && a.v == 0) return a;
    if (!s || !poly_of(s, a, &p) || !poly_of(s, b, &q)) return sdx_dimval_unknown();
    if (b.known && b.v > 0) return floor_by_number(s, &p, b.v);
    if (poly_divides(&p, &q, &r)) return poly_intern(s, &r);
    return floor_atom(s, a, b);
}

DimVal sdx_dimval_ceildiv(SymTab *s, DimVal a, DimVal b)
{
    if (b.known && b.v > 0) return sdx_dimval_floordiv(s, sdx_dimval_add(s, a, sdx_dimval_num(b.v - 1)), b);
    DimVal zero = sdx_dimval_num(0);
    return sdx_dimval_sub(s, zero, sdx_dimval_floordiv(s, sdx_dimval_sub(s, zero, a), b));
}

DimVal sdx_dimval_div(SymTab *s, DimVal a, DimVal b)
{
    if (a.known && b.known) {
        if (b.v == 0 || (b.v == -1 && a.v == INT64_MIN)) return sdx_dimval_unknown();
        return sdx_dimval_num(a.v / b.v);
    }
    if (!s || is_unknown(a) || is_unknown(b) || (b.known && b.v == 0)) return sdx_dimval_unknown();
    Poly p, q, r;
    if (poly_of(s, a, &p) && poly_of(s, b, &q) && poly_divides(&p, &q, &r)) return poly_intern(s, &r);
    int64_t lo, hi, blo, bhi;
    val_bounds(s, a, &lo, &hi);
    val_bounds(s, b, &blo, &bhi);
    if (lo >= 0 && blo >= 0) return sdx_dimval_floordiv(s, a, b);
    Atom t = { .kind = ATOM_TRUNC, .p = a, .q = b, .lo = INT64_MIN, .hi = INT64_MAX };
    t.weight = 1 + val_weight(s, a) + val_weight(s, b);
    return atom_val(s, &t);
}

DimVal sdx_dimval_mod(SymTab *s, DimVal a, DimVal b)
{
    return sdx_dimval_sub(s, a, sdx_dimval_mul(s, b, sdx_dimval_floordiv(s, a, b)));
}

/* Is v known not to be negative? Beyond its bounds by cases: relu(p) is 0 or p, and not below either. */
static bool is_size(SymTab *s, DimVal v, int depth)
{
    Poly p;
    if (sdx_dimval_lower(s, v) >= 0) return true;
    if (depth == 0 || !poly_of(s, v, &p)) return false;
    for (int i = 0; i < p.n; i++) {
        const Atom *a = p.t[i].degree == 1 ? &s->atoms[p.t[i].atom[0]] : NULL;
        if (!a || a->kind != ATOM_RELU) continue;
        Poly term = { .n = 1, .t = { p.t[i] } };
        DimVal arg = sdx_dimval_mul(s, sdx_dimval_num(p.t[i].coef), a->p);
        DimVal rest = sdx_dimval_sub(s, v, poly_intern(s, &term)), with = sdx_dimval_add(s, rest, arg);
        if ((p.t[i].coef > 0 || is_size(s, rest, depth - 1)) && is_size(s, with, depth - 1)) return true;
    }
    return false;
}

/* max(p, 0) */
static DimVal val_relu(SymTab *s, DimVal v)
{
    Poly p;
    if (v.known) return sdx_dimval_num(v.v > 0 ? v.v : 0);
    if (!s || !poly_of(s, v, &p)) return sdx_dimval_unknown();
    int64_t lo, hi, g = 0;
    val_bounds(s, v, &lo, &hi);
    if (is_size(s, v, 3)) return v;
    if (hi <= 0 || is_size(s, sdx_dimval_sub(s, sdx_dimval_num(0), v), 3)) return sdx_dimval_num(0);
    for (int i = 0; i < p.n; i++) {
        if (p.t[i].coef == INT64_MIN) return sdx_dimval_unknown();
        g = gcd(g, p.t[i].coef);
    }
    bool flip = p.t[0].coef < 0; /* relu(p) = p + relu(-p) */
    for (int i = 0; i < p.n; i++) p.t[i].coef /= flip ? -g : g;
    DimVal inner = poly_intern(s, &p);
    if (is_unknown(inner)) return inner;
    Atom a = { .kind = ATOM_RELU, .p = inner, .weight = 1 + val_weight(s, inner) };
    val_bounds(s, inner, &a.lo, &a.hi);
    if (a.lo < 0) a.lo = 0;
    if (a.hi < 0) a.hi = 0;
    DimVal r = sdx_dimval_mul(s, sdx_dimval_num(g), atom_val(s, &a));
    return flip ? sdx_dimval_add(s, v, r) : r;
}

DimVal sdx_dimval_max(SymTab *s, DimVal a, DimVal b)
{
    if (a.known && b.known) return a.v > b.v ? a : b;
    if (sdx_dimval_equal(a, b)) return a;
    return sdx_dimval_add(s, b, val_relu(s, sdx_dimval_sub(s, a, b)));
}

DimVal sdx_dimval_min(SymTab *s, DimVal a, DimVal b)
{
    if (a.known && b.known) return a.v < b.v ? a : b;
    if (sdx_dimval_equal(a, b)) return a;
    return sdx_dimval_sub(s, a, val_relu(s, sdx_dimval_sub(s, a, b)));
}

/* The only atom of v, when v is nothing else. */
static const Atom *atom_of(const SymTab *s, DimVal v)
{
    if (v.known || v.sym == SDX_DIM_UNKNOWN) return NULL;
    const Expr *e = &s->exprs[-1 - v.sym];
    return e->n == 1 && e->t[0].degree == 1 && e->t[0].coef == 1 ? &s->atoms[e->t[0].atom[0]] : NULL;
}

static bool has_part(const SymTab *s, DimVal v, DimVal part)
{
    const Atom *a = atom_of(s, v);
    return a && a->kind == ATOM_BROADCAST && (sdx_dimval_equal(a->p, part) || sdx_dimval_equal(a->q, part));
}

static Dim broadcast_symbols(SymTab *s, Dim da, Dim db)
{
    DimVal a = sdx_dimval_of(da), b = sdx_dimval_of(db);
    DimVal more = sdx_dimval_sub(s, a, b), less = sdx_dimval_sub(s, b, a);
    if (has_part(s, a, b) || is_size(s, more, 3)) return da;
    if (has_part(s, b, a) || is_size(s, less, 3)) return db;
    bool swap = da < db;
    Atom atom = { .kind = ATOM_BROADCAST, .p = swap ? b : a, .q = swap ? a : b, .hi = INT64_MAX };
    atom.weight = 1 + val_weight(s, a) + val_weight(s, b);
    return atom_val(s, &atom).sym;
}

bool sdx_dim_broadcast(SymTab *s, Dim a, Dim b, Dim *out)
{
    *out = a;
    if (b == 1 || (a == b && a != SDX_DIM_UNKNOWN)) return true;
    *out = b;
    if (a == 1) return true;
    if (a >= 0 && b >= 0) return false;
    if (a >= 0 || b >= 0) {
        *out = a >= 0 ? a : b;
        return true;
    }
    *out = s && a != SDX_DIM_UNKNOWN && b != SDX_DIM_UNKNOWN ? broadcast_symbols(s, a, b) : SDX_DIM_UNKNOWN;
    return true;
}

/* -- text and value ------------------------------------------------------------------------------------------------ */

typedef struct Text {
    char *p;
    size_t n, size;
} Text;

static void text_put(Text *t, const char *fmt, ...) SDX_PRINTF(2, 3);
static void text_put(Text *t, const char *fmt, ...)
{
    if (t->n + 1 >= t->size) return;
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(t->p + t->n, t->size - t->n, fmt, args);
    va_end(args);
    if (n > 0) t->n = (size_t)n < t->size - t->n ? t->n + (size_t)n : t->size - 1;
}

static void val_put(const SymTab *s, DimVal v, Text *out);

static void atom_put(const SymTab *s, const Atom *a, Text *out)
{
    switch (a->kind) {
    case ATOM_NAMED: text_put(out, "%s", a->name); return;
    case ATOM_FRESH: text_put(out, "?%lld", (long long)a->p.v); return;
    case ATOM_RELU: text_put(out, "max(0,"); break;
    case ATOM_FLOOR: text_put(out, "floor("); break;
    case ATOM_TRUNC: text_put(out, "trunc("); break;
    case ATOM_BROADCAST:
        text_put(out, "broadcast(");
        val_put(s, a->p, out);
        text_put(out, ",");
        val_put(s, a->q, out);
        text_put(out, ")");
        return;
    }
    bool sum = a->kind != ATOM_RELU && !a->p.known && s->exprs[-1 - a->p.sym].n > 1;
    text_put(out, "%s", sum ? "(" : "");
    val_put(s, a->p, out);
    text_put(out, "%s", sum ? ")" : "");
    if (a->kind != ATOM_RELU) {
        bool product = !a->q.known;
        text_put(out, "%s", product ? "/(" : "/");
        val_put(s, a->q, out);
        text_put(out, "%s", product ? ")" : "");
    }
    text_put(out, ")");
}

static void val_put(const SymTab *s, DimVal v, Text *out)
{
    if (v.known || v.sym == SDX_DIM_UNKNOWN || !s) {
        if (v.known)
            text_put(out, "%lld", (long long)v.v);
        else
            text_put(out, "?");
        return;
    }
    const Expr *e = &s->exprs[-1 - v.sym];
    for (int i = 0; i < e->n; i++) {
        const Term *t = &e->t[i];
        if (i && t->coef > 0) text_put(out, "+");
        if (t->degree == 0 || (t->coef != 1 && t->coef != -1)) {
            text_put(out, "%lld%s", (long long)t->coef, t->degree ? "*" : "");
        } else if (t->coef == -1) {
            text_put(out, "-");
        }
        for (int k = 0; k < t->degree; k++) {
            if (k) text_put(out, "*");
            atom_put(s, &s->atoms[t->atom[k]], out);
        }
    }
}

char *sdx_dim_text(const SymTab *s, Dim d, char *buf, size_t size)
{
    if (!size) return buf;
    buf[0] = '\0';
    val_put(s, sdx_dimval_of(d), &(Text){ .p = buf, .size = size });
    return buf;
}

const char *sdx_dim_name(const SymTab *s, Dim d)
{
    if (!s || d >= 0 || d == SDX_DIM_UNKNOWN) return NULL;
    const Expr *e = &s->exprs[-1 - d];
    if (e->n != 1 || e->t[0].degree != 1 || e->t[0].coef != 1) return NULL;
    const Atom *a = &s->atoms[e->t[0].atom[0]];
    return a->kind == ATOM_NAMED ? a->name : NULL;
}

typedef struct Binding {
    const SymTab *s;
    int64_t (*value)(void *user, const char *name);
    void *user;
} Binding;

static bool val_eval(const Binding *b, DimVal v, int64_t *out);

static bool atom_eval(const Binding *b, const Atom *a, int64_t *out)
{
    int64_t p, q;
    if (a->kind == ATOM_NAMED) return (*out = b->value(b->user, a->name)) >= 0;
    if (a->kind == ATOM_FRESH || !val_eval(b, a->p, &p)) return false;
    if (a->kind == ATOM_RELU) {
        *out = p > 0 ? p : 0;
        return true;
    }
    if (!val_eval(b, a->q, &q)) return false;
    if (a->kind == ATOM_BROADCAST) {
        *out = p == 1 ? q : p;
        return p == q || p == 1 || q == 1;
    }
    DimVal r = a->kind == ATOM_FLOOR ? sdx_dimval_floordiv(NULL, sdx_dimval_num(p), sdx_dimval_num(q))
                                     : sdx_dimval_div(NULL, sdx_dimval_num(p), sdx_dimval_num(q));
    *out = r.v;
    return r.known;
}

static bool val_eval(const Binding *b, DimVal v, int64_t *out)
{
    *out = v.v;
    if (v.known) return true;
    if (v.sym == SDX_DIM_UNKNOWN || !b->s) return false;
    const Expr *e = &b->s->exprs[-1 - v.sym];
    int64_t sum = 0;
    for (int i = 0; i < e->n; i++) {
        int64_t product = e->t[i].coef, f;
        for (int k = 0; k < e->t[i].degree; k++)
            if (!atom_eval(b, &b->s->atoms[e->t[i].atom[k]], &f) || !sdx_mul_i64(&product, product, f)) return false;
        if (!sdx_add_i64(&sum, sum, product)) return false;
    }
    *out = sum;
    return true;
}

int64_t sdx_dim_eval(const SymTab *s, Dim d, int64_t (*value)(void *user, const char *name), void *user)
{
    int64_t r;
    return val_eval(&(Binding){ s, value, user }, sdx_dimval_of(d), &r) && r >= 0 ? r : -1;
}
