#include "opt/factors.h"

#include <math.h>

#include "opt/match.h"

static bool add_factor(Product *p, Value *v, int depth);

static bool add_node(Product *p, const Node *n, int depth)
{
    double c;
    if (n->n_in != 2) return false;
    if (node_is(n, "Mul")) return add_factor(p, n->in[0], depth + 1) && add_factor(p, n->in[1], depth + 1);
    if (!node_is(n, "Div") || !sdx_const_scalar(n->in[1], &c) || c == 0) return false;
    p->c /= c;
    return add_factor(p, n->in[0], depth + 1);
}

static bool add_factor(Product *p, Value *v, int depth)
{
    double c;
    if (sdx_const_scalar(v, &c)) {
        p->c *= c;
        return true;
    }
    const Node *n = v->producer;
    Product saved = *p;
    if (depth < 4 && n && is_private(v) && (node_is(n, "Mul") || node_is(n, "Div")) && add_node(p, n, depth))
        return true;
    *p = saved;
    if (n && node_is(n, "Pow") && sdx_const_scalar(n->in[1], &c) && (c == 2 || c == 3) && is_private(v)) {
        if (p->n + (int)c > SDX_FACTORS_MAX) return false;
        for (int i = 0; i < (int)c; i++) p->factor[p->n++] = n->in[0];
        return true;
    }
    if (p->n == SDX_FACTORS_MAX) return false;
    p->factor[p->n++] = v;
    return true;
}

bool sdx_product_of_node(const Node *n, Product *p)
{
    *p = (Product){ .c = 1 };
    return add_node(p, n, 0);
}

bool sdx_product_of(Value *v, Product *p)
{
    *p = (Product){ .c = 1 };
    return add_factor(p, v, 0);
}

bool sdx_product_is(const Product *p, double c, Value *const *factors, int n)
{
    bool used[SDX_FACTORS_MAX] = { false };
    if (p->n != n || fabs(p->c - c) > 1e-3 * fabs(c)) return false;
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (k < n && (used[k] || p->factor[k] != factors[i])) k++;
        if (k == n) return false;
        used[k] = true;
    }
    return true;
}

Node *sdx_product_find(const Product *p, const char *op, int *at)
{
    for (*at = 0; *at < p->n; ++*at) {
        Node *n = made_by(p->factor[*at], op);
        if (n && is_private(p->factor[*at])) return n;
    }
    return NULL;
}
