/* Symbolic dimensions.
 *
 * A Dim is a number (>= 0) or the handle of an expression (< 0) in a SymTab: named symbols ("batch"), fresh ones, and
 * sums, products, quotients, minima and maxima of them. Expressions are hash-consed in a normal form (a polynomial with
 * integer coefficients over atoms), so equal handles mean equal sizes; different handles mean "not known equal". */
#ifndef SDX_GRAPH_DIM_H
#define SDX_GRAPH_DIM_H

#include "base/alloc.h"

typedef int64_t Dim;
#define SDX_DIM_UNKNOWN INT64_MIN /* only while inferring: the driver replaces it by a fresh symbol */

typedef struct SymTab SymTab;

static inline bool sdx_dim_is_const(Dim d) { return d >= 0; }

/* With a NULL table all dims must be numbers; operations on anything else give SDX_DIM_UNKNOWN. Values inside shape
 * arithmetic may be negative numbers: a DimVal carries those (see below); Dim itself is a size. */
SymTab *sdx_symtab_create(Arena *arena);
Dim sdx_dim_named(SymTab *s, const char *name, size_t n); /* same name, same handle */
Dim sdx_dim_fresh(SymTab *s);                             /* a new unknown */
int sdx_symtab_fresh(const SymTab *s);                    /* how many there were */

/* A symbolic integer of any sign, as shape arithmetic needs: same handles, but numbers are stored apart from them. */
typedef struct DimVal {
    bool known; /* true: the number v; false: the expression or unknown `sym` */
    int64_t v;
    Dim sym; /* handle, or SDX_DIM_UNKNOWN */
} DimVal;

static inline DimVal sdx_dimval_num(int64_t v) { return (DimVal){ .known = true, .v = v }; }
static inline DimVal sdx_dimval_unknown(void) { return (DimVal){ .sym = SDX_DIM_UNKNOWN }; }
DimVal sdx_dimval_of(Dim d);
Dim sdx_dim_of(DimVal v); /* a negative number gives SDX_DIM_UNKNOWN */

DimVal sdx_dimval_add(SymTab *s, DimVal a, DimVal b);
DimVal sdx_dimval_sub(SymTab *s, DimVal a, DimVal b);
DimVal sdx_dimval_mul(SymTab *s, DimVal a, DimVal b);
DimVal sdx_dimval_div(SymTab *s, DimVal a, DimVal b); /* truncating, as ONNX Div on integers; exact when provable */
DimVal sdx_dimval_floordiv(SymTab *s, DimVal a, DimVal b);
DimVal sdx_dimval_ceildiv(SymTab *s, DimVal a, DimVal b);
DimVal sdx_dimval_mod(SymTab *s, DimVal a, DimVal b);
DimVal sdx_dimval_min(SymTab *s, DimVal a, DimVal b);
DimVal sdx_dimval_max(SymTab *s, DimVal a, DimVal b);
bool sdx_dimval_equal(DimVal a, DimVal b); /* known equal */
/* A number that v is known not to go below; INT64_MIN when there is none. Symbols are sizes: at least 0. */
int64_t sdx_dimval_lower(const SymTab *s, DimVal v);

/* ONNX multidirectional broadcasting of two sizes: 1 yields; equal stays; a number > 1 wins over a symbol, and N over
 * min(N, 512), which cannot be larger (that it is 0 where N is 1 is taken not to happen); other symbols give an
 * expression of both. false: provably incompatible. */
bool sdx_dim_broadcast(SymTab *s, Dim a, Dim b, Dim *out);

/* "N", "2*N+1", "7" into buf, always terminated; returns buf. */
char *sdx_dim_text(const SymTab *s, Dim d, char *buf, size_t size);
/* The declared name when d is a plain named symbol, else NULL. */
const char *sdx_dim_name(const SymTab *s, Dim d);

/* Value of d when each named symbol has the number `value(user, name)` (negative: unbound). -1 when not computable. */
int64_t sdx_dim_eval(const SymTab *s, Dim d, int64_t (*value)(void *user, const char *name), void *user);

#endif
