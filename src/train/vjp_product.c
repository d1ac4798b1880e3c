/* Matrix products: the adjoint of each factor is a product of dy and the other one. */
#include "train/vjp.h"

static Value *transposed(Vjp *g, Value *v)
{
    int64_t perm[SDX_MAX_RANK];
    int rank = sdx_vjp_rank(g, v);
    if (rank < 2) return NULL;
    for (int i = 0; i < rank; i++) perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return sdx_vjp_with(g, "Transpose", &v, 1, &VJP_INTS("perm", perm, rank), 1);
}

/* A vector on the left is a row, on the right a column; dy gets the axis that the product lost. */
void sdx_back_matmul(Vjp *g)
{
    Value *a = in(g, 0), *b = in(g, 1), *d = dy(g, 0);
    bool row = sdx_vjp_rank(g, a) == 1, column = sdx_vjp_rank(g, b) == 1;
    if (row) a = sdx_vjp_unsqueeze(g, a, (int64_t[]){ 0 }, 1);
    if (column) b = sdx_vjp_unsqueeze(g, b, (int64_t[]){ 1 }, 1);
    if (column) d = sdx_vjp_unsqueeze(g, d, (int64_t[]){ -1 }, 1);
    if (row) d = sdx_vjp_unsqueeze(g, d, (int64_t[]){ -2 }, 1);
    /* The row's axis of size 1 comes before its elements, and is summed as one of the batch. */
    if (sdx_vjp_wants(g, 0)) sdx_vjp_give_sum(g, 0, sdx_vjp_op(g, "MatMul", d, transposed(g, b), NULL));
    if (!sdx_vjp_wants(g, 1)) return;
    Value *db = sdx_vjp_op(g, "MatMul", transposed(g, a), d, NULL);
    if (column) db = sdx_vjp_op(g, "Squeeze", db, sdx_vjp_list(g, (int64_t[]){ -1 }, 1), NULL);
    sdx_vjp_give_sum(g, 1, db);
}

static Value *product(Vjp *g, Value *a, Value *b, bool ta, bool tb)
{
    const Attr *alpha = sdx_node_attr(g->n, "alpha");
    Attr attrs[] = { VJP_INT("transA", ta), VJP_INT("transB", tb), alpha ? *alpha : VJP_INT("transB", tb) };
    return sdx_vjp_with(g, "Gemm", (Value *[]){ a, b }, 2, attrs, 3);
}

/* y = alpha a' b' + beta c, with a' and b' transposed as the attributes say. */
void sdx_back_gemm(Vjp *g)
{
    Value *a = in(g, 0), *b = in(g, 1), *d = dy(g, 0);
    bool ta = sdx_vjp_int(g, "transA", 0), tb = sdx_vjp_int(g, "transB", 0);
    if (sdx_vjp_wants(g, 0)) sdx_vjp_give(g, 0, ta ? product(g, b, d, tb, true) : product(g, d, b, false, !tb));
    if (sdx_vjp_wants(g, 1)) sdx_vjp_give(g, 1, tb ? product(g, d, a, true, ta) : product(g, a, d, !ta, false));
    if (!sdx_vjp_wants(g, 2)) return;
    double beta = sdx_vjp_float(g, "beta", 1);
    sdx_vjp_give_sum(g, 2, beta == 1 ? d : scale(g, d, beta));
}

/* -- Einsum -------------------------------------------------------------------------------------------------------- */

enum { TERMS = 8, TERM = 32 };

/* "ij,jk->ik" as terms, of less than TERM letters; without an arrow the result has the letters that occur once, sorted. */
typedef struct Equation {
    char term[TERMS][TERM], result[2 * 26 + 1];
    int n;
} Equation;

static bool equation_read(Str text, Equation *e)
{
    int count[128] = { 0 }, len = 0;
    bool arrow = false;
    *e = (Equation){ .n = 1 };
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        char *to = arrow ? e->result : e->term[e->n - 1];
        if (c == ' ') continue;
        if (c == ',' || c == '-') {
            if (arrow || e->n == TERMS) return false;
            if (c == ',') e->n++;
            if (c == '-') arrow = true, i++;
            len = 0;
            continue;
        }
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter || strchr(to, c) || len + 1 >= TERM) return false; /* an ellipsis, a diagonal */
        to[len++] = c;
        count[(int)c] += !arrow;
    }
    for (int c = 'A', n = 0; c <= 'z' && !arrow; c++)
        if (count[c] == 1) e->result[n++] = (char)c;
    return true;
}

/* The adjoint of a term is the product of dy and the other terms, for the letters that they have; along the others the
 * term was summed alone, and all its elements get the same. */
static void einsum_give(Vjp *g, const Equation *e, int i)
{
    char text[TERMS * TERM + 4 * TERM], kept[TERM] = "";
    int64_t axes[TERM];
    Value *list[TERMS];
    int n_axes = 0, n_kept = 0, at = 0, n = 0;
    for (int k = 0; k < e->n; k++) {
        const char *term = k == i ? e->result : e->term[k];
        for (const char *c = k ? "," : ""; *c; c++) text[at++] = *c;
        for (const char *c = term; *c; c++) text[at++] = *c;
        list[n++] = k == i ? dy(g, 0) : in(g, k);
    }
    for (int c = 0; e->term[i][c]; c++) {
        text[at] = '\0';
        if (strchr(text, e->term[i][c]))
            kept[n_kept++] = e->term[i][c];
        else
            axes[n_axes++] = c;
    }
    text[at++] = '-', text[at++] = '>';
    for (int c = 0; c < n_kept; c++) text[at++] = kept[c];
    const char *copy = sdx_vjp_text(g, text, at);
    Attr equation = { .name = "equation", .type = ATTR_STRING, .n = 1, .s = { copy, (size_t)at } };
    Value *d = sdx_vjp_with(g, "Einsum", list, n, &equation, copy ? 1 : 0);
    if (n_axes) d = sdx_vjp_expand_like(g, sdx_vjp_unsqueeze(g, d, axes, n_axes), in(g, i));
    sdx_vjp_give(g, i, d);
}

void sdx_back_einsum(Vjp *g)
{
    const Attr *text = sdx_node_attr(g->n, "equation");
    Equation e;
    if (!equation_read(text->s, &e) || e.n != g->n->n_in) {
        sdx_vjp_fail(g, "its gradient is not known for an equation with an ellipsis or a letter twice in a term");
        return;
    }
    for (int i = 0; i < e.n; i++)
        if (sdx_vjp_wants(g, i)) einsum_give(g, &e, i);
}
