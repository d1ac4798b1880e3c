/* opt/unused.c      y, m = MaxPool(x), nobody reads m   =>   y = MaxPool(x)
 *
 * Optional outputs without readers are not asked for. */
#include "opt/match.h"

/* Is output o marked optional in the signature? */
static bool is_optional(const char *sig, int o)
{
    const char *p = strstr(sig, "->");
    int depth = 0;
    if (!p) return false;
    for (p += 2; *p && (o > 0 || *p != '?'); p++) {
        depth += (*p == '(') - (*p == ')');
        if (*p == ',' && depth == 0 && o-- == 0) return false;
    }
    return *p == '?' && o == 0;
}

sdx_status sdx_pass_unused(Opt *o, Node *n, bool *changed)
{
    if (n->n_out < 2 || !n->def->sig) return SDX_OK;
    for (int i = n->n_out - 1; i > 0; i--) {
        Value *v = n->out[i];
        if (!v || v->n_uses || (v->flags & VALUE_GRAPH_OUTPUT) || !is_optional(n->def->sig, i)) continue;
        TRY(sdx_opt_note(o, "output `%s`", v->name));
        sdx_node_set_output(n, i, NULL); /* shrinking needs no memory */
        sdx_value_remove(v);
        *changed = true;
    }
    return SDX_OK;
}
