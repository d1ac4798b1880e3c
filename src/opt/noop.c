/* opt/noop.c - nodes that return their input: y = op(x)   =>   x for y
 *
 *     Identity, CastLike or Cast to the same type, Dropout without training, views that keep the shape
 *     Transpose in order; Expand, Tile, Slice forward, Pad by nothing, that keep the shape
 *     Concat, Split, Sum, Max, Min, Mean of one; Clip without bounds
 *     x * 1, x / 1, x - 0; x + 0 where rounding is allowed (-0 + 0 is 0); x ^ 1
 *
 * Skipped when y is an output of the main graph and x an input, an output or a constant. */
#include "opt/match.h"

static bool keeps_shape(const Node *n) { return n->in[0] && sdx_same_type(&n->in[0]->type, &n->out[0]->type); }

static bool always(Opt *o, const Node *n)
{
    (void)o;
    return n->n_in == 1;
}

static bool if_same_type(Opt *o, const Node *n)
{
    (void)o;
    return keeps_shape(n);
}

/* Cast keeps shapes, so the element type is all. */
static bool if_same_elem(Opt *o, const Node *n)
{
    const Type *x = &n->in[0]->type, *y = &n->out[0]->type;
    (void)o;
    return x->kind == TYPE_TENSOR && y->kind == TYPE_TENSOR && x->elem == y->elem && x->elem != DT_NONE;
}

static bool if_inference(Opt *o, const Node *n)
{
    int64_t training;
    (void)o;
    if (n->n_out > 1 && n->out[1]) return false;
    return !node_in(n, 2) || (sdx_known_ints(n->in[2], &training, 1) == 1 && training == 0);
}

static bool if_in_order(Opt *o, const Node *n)
{
    const Attr *perm = sdx_node_attr(n, "perm");
    (void)o;
    if (!perm) return rank_of(n->in[0]) == 0 || rank_of(n->in[0]) == 1;
    for (int64_t i = 0; i < perm->n; i++)
        if (perm->ints[i] != i) return false;
    return true;
}

static bool if_forward(Opt *o, const Node *n)
{
    int64_t steps[SDX_MAX_RANK];
    int count = node_in(n, 4) ? sdx_known_ints(n->in[4], steps, SDX_MAX_RANK) : 0;
    (void)o;
    for (int i = 0; i < count; i++)
        if (steps[i] < 1) return false;
    return count >= 0 && keeps_shape(n);
}

static bool if_pads_zero(Opt *o, const Node *n)
{
    int64_t pads[2 * SDX_MAX_RANK];
    int count = sdx_known_ints(node_in(n, 1), pads, 2 * SDX_MAX_RANK);
    (void)o;
    for (int i = 0; i < count; i++)
        if (pads[i] != 0) return false;
    return count >= 0;
}

static bool if_one(Opt *o, const Node *n)
{
    (void)o;
    return n->n_in == 1 && n->n_out == 1;
}

static bool if_one_part(Opt *o, const Node *n)
{
    (void)o;
    return n->n_out == 1 && keeps_shape(n);
}

/* x op c where c is neutral. */
static bool neutral(const Node *n, double c)
{
    double have;
    return n->n_in == 2 && keeps_shape(n) && sdx_const_scalar(n->in[1], &have) && have == c;
}

static bool if_one_right(Opt *o, const Node *n)
{
    (void)o;
    return neutral(n, 1);
}

static bool if_zero_right(Opt *o, const Node *n)
{
    (void)o;
    return neutral(n, 0);
}

static bool if_zero_added(Opt *o, const Node *n)
{
    char class = sdx_dtype_class(n->in[0] ? n->in[0]->type.elem : DT_NONE);
    bool exact = class == 'I' || class == 'U';
    return neutral(n, 0) && (exact || sdx_opt_options(o)->level >= OPT_DEFAULT);
}

static const struct {
    const char *op;
    bool (*is_noop)(Opt *o, const Node *n);
    bool commutes; /* input 1 may be the one that is returned */
} rules[] = {
    { "Identity", always, false },
    { "Dropout", if_inference, false },
    { "Cast", if_same_elem, false },
    { "CastLike", if_same_elem, false },
    { "Reshape", if_same_type, false },
    { "Squeeze", if_same_type, false },
    { "Unsqueeze", if_same_type, false },
    { "Flatten", if_same_type, false },
    { "Expand", if_same_type, false },
    { "Tile", if_same_type, false },
    { "Transpose", if_in_order, false },
    { "Slice", if_forward, false },
    { "Pad", if_pads_zero, false },
    { "Concat", if_one, false },
    { "Split", if_one_part, false },
    { "Sum", if_one, false },
    { "Max", if_one, false },
    { "Min", if_one, false },
    { "Mean", if_one, false },
    { "Clip", if_one, false },
    { "Mul", if_one_right, true },
    { "Div", if_one_right, false },
    { "Sub", if_zero_right, false },
    { "Add", if_zero_added, true },
    { "Pow", if_one_right, false },
};

static bool is_noop(Opt *o, const Node *n, int rule)
{
    if (n->n_in < 1 || !n->in[0] || n->n_out < 1 || !n->out[0]) return false;
    return rules[rule].is_noop(o, n);
}

sdx_status sdx_pass_noop(Opt *o, Node *n, bool *changed)
{
    if (*n->domain) return SDX_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(rules[i].op, n->op_type) != 0) continue;
        Value *x = NULL;
        if (is_noop(o, n, (int)i)) x = n->in[0];
        if (!x && rules[i].commutes && n->n_in == 2) {
            Node swapped = *n;
            Value *in[2] = { n->in[1], n->in[0] };
            swapped.in = in;
            if (is_noop(o, &swapped, (int)i)) x = n->in[1];
        }
        if (!x || !sdx_value_can_replace(n->out[0], x)) return SDX_OK;
        char text[200];
        TRY(sdx_opt_note(o, "%s", sdx_node_text(n, text, sizeof text)));
        *changed = true;
        return sdx_opt_replace(o, n->out[0], x);
    }
    return SDX_OK;
}
