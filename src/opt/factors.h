/* A value as a product: constant times factors. */
#ifndef SDX_OPT_FACTORS_H
#define SDX_OPT_FACTORS_H

#include "opt/opt.h"

enum { SDX_FACTORS_MAX = 6 };

typedef struct Product {
    double c;
    int n;
    Value *factor[SDX_FACTORS_MAX];
} Product;

/* Takes apart what n (Mul or Div) computes: products, quotients by constant scalars and powers by small constants that
 * nobody else reads. false when it has too many factors. Scalars must not enlarge the result: shapes are for the
 * caller to compare. */
bool sdx_product_of_node(const Node *n, Product *p);
/* The same for a value, which is a factor itself when it is no product. */
bool sdx_product_of(Value *v, Product *p);
/* Is p c times exactly these n factors, in any order, c up to rounding? */
bool sdx_product_is(const Product *p, double c, Value *const *factors, int n);
/* The factor of p that `op` makes and the others; NULL when there is none. */
Node *sdx_product_find(const Product *p, const char *op, int *at);

#endif
