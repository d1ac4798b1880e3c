/* opt/gemm_bias.c      y = MatMul(a, b) + c   =>   y = Gemm(a, b, c)
 *
 * For matrices, and a c that Gemm's one-way broadcasting takes. Skipped when the product has another reader. */
#include "opt/match.h"

sdx_status sdx_pass_gemm_bias(Opt *o, Node *n, bool *changed)
{
    Value *c;
    const Node *p = sdx_split_pair(n, "MatMul", true, &c);
    if (!p || p->graph != n->graph || rank_of(p->in[0]) != 2 || rank_of(p->in[1]) != 2) return SDX_OK;
    if (rank_of(c) < 0 || rank_of(c) > 2 || c == p->out[0]) return SDX_OK;
    if (!sdx_same_type(&p->out[0]->type, &n->out[0]->type)) return SDX_OK; /* c does not enlarge the product */
    Node *y = sdx_opt_node(o, n, "", "Gemm", (Value *[]){ p->in[0], p->in[1], c }, 3);
    if (!y) return (sdx_status)sdx_opt_err(o)->code;
    *changed = true;
    return sdx_opt_supersede(o, n, y);
}
