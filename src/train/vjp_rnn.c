/* RNN, GRU, LSTM: step by step in plain operators, which are differentiated; so the number of steps must be known. The
 * equations are in ops/rnn.c. */
#include "train/vjp.h"

enum { MAX_GATES = 4, MAX_DIRS = 2, MAX_STEPS = 1 << 14 };

typedef struct Rnn {
    Vjp *g;
    int gates, dirs, steps; /* gates: 1 RNN, 3 GRU, 4 LSTM */
    bool layout, linear_before_reset, input_forget;
    double clip;
    Value *x;     /* [steps, batch, size] */
    Value *lens;  /* [1, batch, 1], or NULL */
    Value *zeros; /* [1, batch, hidden] */
    /* Of one direction. */
    Value *h, *c;       /* the state */
    Value *r, *r_last;  /* [hidden, gates * hidden] (GRU: without the last gate), and of GRU's last gate */
    Value *rb_last;     /* of the last gate, where it is apart; else NULL */
    Value *peephole[3]; /* i o f; NULL: none */
    Str act[3];
} Rnn;

static Value *part(Vjp *g, Value *v, int64_t from, int64_t to, int64_t axis)
{
    Value *list[] = { v, sdx_vjp_list(g, &from, 1), sdx_vjp_list(g, &to, 1), sdx_vjp_list(g, &axis, 1) };
    return v ? sdx_vjp_with(g, "Slice", list, 4, NULL, 0) : NULL;
}

static void parts(Vjp *g, Value *v, int n, int64_t axis, Value **out)
{
    sdx_vjp_many(g, "Split", &v, 1, (Attr[]){ VJP_INT("axis", axis), VJP_INT("num_outputs", n) }, 2, out, n);
}

static Value *moved(Vjp *g, Value *v, const int64_t *perm, int rank)
{
    return sdx_vjp_with(g, "Transpose", &v, 1, &VJP_INTS("perm", perm, rank), 1);
}

/* Batch and the axis before it exchanged when layout is 1. */
static Value *batch_second(const Rnn *s, Value *v)
{
    static const int64_t perm[] = { 1, 0, 2 };
    return v && s->layout ? moved(s->g, v, perm, 3) : v;
}

/* -- activations --------------------------------------------------------------------------------------------------- */

static bool same_name(Str s, const char *name)
{
    if (s.n != strlen(name)) return false;
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] | 32) != (name[i] | 32)) return false;
    return true;
}

static Value *activated(const Rnn *s, int which, Value *v)
{
    static const char *const known[] = { "Tanh",        "Sigmoid", "Relu",     "LeakyRelu", "ThresholdedRelu",
                                         "HardSigmoid", "Elu",     "Softsign", "Softplus" };
    if (!v) return NULL;
    if (s->clip > 0) v = sdx_vjp_op(s->g, "Clip", v, sdx_vjp_num(s->g, v, -s->clip), sdx_vjp_num(s->g, v, s->clip));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (same_name(s->act[which], known[i])) return apply(s->g, known[i], v);
    sdx_vjp_fail(s->g, "its gradient is not known for activation %.*s", (int)s->act[which].n, s->act[which].p);
    return NULL;
}

static void activations_read(Rnn *s, int dir)
{
    static const char *const dflt[] = { "Sigmoid", "Tanh", "Tanh" };
    const Attr *a = sdx_node_attr(s->g->n, "activations");
    int per = s->gates == 1 ? 1 : s->gates - 1; /* 1, 2, 3 */
    if (sdx_node_attr(s->g->n, "activation_alpha") || sdx_node_attr(s->g->n, "activation_beta"))
        sdx_vjp_fail(s->g, "its gradient is not known with activation_alpha or activation_beta");
    for (int i = 0; i < per; i++) {
        const char *name = dflt[per == 1 ? 1 : i];
        s->act[i] = (Str){ name, strlen(name) };
        if (a && a->type == ATTR_STRINGS && a->n > 0) s->act[i] = a->strings[(dir * per + i) % a->n];
    }
}

/* -- one step ------------------------------------------------------------------------------------------------------ */

static Value *product(const Rnn *s, Value *v, Value *m) { return sdx_vjp_op(s->g, "MatMul", v, m, NULL); }

static void step_rnn(Rnn *s, Value *x) { s->h = activated(s, 0, add(s->g, x, product(s, s->h, s->r))); }

static void step_gru(Rnn *s, Value *x)
{
    Vjp *g = s->g;
    Value *xs[3], *rs[2], *last;
    parts(g, x, 3, -1, xs);
    parts(g, product(s, s->h, s->r), 2, -1, rs);
    Value *z = activated(s, 0, add(g, xs[0], rs[0])), *r = activated(s, 0, add(g, xs[1], rs[1]));
    if (s->linear_before_reset) {
        last = product(s, s->h, s->r_last);
        last = mul(g, r, s->rb_last ? add(g, last, s->rb_last) : last);
    } else {
        last = product(s, mul(g, r, s->h), s->r_last);
    }
    Value *n = activated(s, 1, add(g, xs[2], last));
    s->h = add(g, n, mul(g, z, sub(g, s->h, n)));
}

static void step_lstm(Rnn *s, Value *x)
{
    Vjp *g = s->g;
    Value *z[MAX_GATES];
    parts(g, add(g, x, product(s, s->h, s->r)), 4, -1, z); /* i o f n */
    if (s->peephole[0]) z[0] = add(g, z[0], mul(g, s->peephole[0], s->c));
    if (s->peephole[2]) z[2] = add(g, z[2], mul(g, s->peephole[2], s->c));
    Value *i = activated(s, 0, z[0]);
    Value *f = s->input_forget ? sub(g, i ? sdx_vjp_num(g, i, 1) : NULL, i) : activated(s, 0, z[2]);
    s->c = add(g, mul(g, f, s->c), mul(g, i, activated(s, 1, z[3])));
    if (s->peephole[1]) z[1] = add(g, z[1], mul(g, s->peephole[1], s->c));
    Value *o = activated(s, 0, z[1]);
    double clip = s->clip;
    s->clip = 0; /* the cell's output is not clipped */
    s->h = mul(g, o, activated(s, 2, s->c));
    s->clip = clip;
}

/* One direction; y: its steps. Rows beyond their length keep the state and give 0. */
static void direction_run(Rnn *s, int dir, bool reverse, Value **y)
{
    Vjp *g = s->g;
    int64_t hidden = size_of(in(g, 2), 2), gh = s->gates * hidden, one = 1, zero = 0;
    static const int64_t perm[] = { 0, 2, 1 };
    bool gru = s->gates == 3;
    Value *w = moved(g, part(g, in(g, 1), dir, dir + 1, 0), perm, 3),
          *r = moved(g, part(g, in(g, 2), dir, dir + 1, 0), perm, 3);
    Value *b = part(g, in(g, 3), dir, dir + 1, 0), *p = part(g, in(g, 7), dir, dir + 1, 0);
    Value *x = product(s, s->x, w);
    if (b) { /* [1, 2 * gates * hidden]; the recurrent half may be added at once, but for GRU's last gate */
        Value *wb = part(g, b, 0, gh, 1), *rb = part(g, b, gh, 2 * gh, 1);
        s->rb_last = NULL;
        if (gru && s->linear_before_reset) {
            s->rb_last = part(g, rb, 2 * hidden, gh, 1);
            Value *none = sub(g, s->rb_last, s->rb_last);
            rb = sdx_vjp_concat(g, (Value *[]){ part(g, rb, 0, 2 * hidden, 1), none }, 2, 1);
        }
        x = add(g, x, add(g, wb, rb));
    }
    s->r = gru ? part(g, r, 0, 2 * hidden, 2) : r;
    s->r_last = gru ? part(g, r, 2 * hidden, gh, 2) : NULL;
    for (int i = 0; i < 3 && p; i++) s->peephole[i] = part(g, p, i * hidden, (i + 1) * hidden, 1);
    Value *h0 = batch_second(s, in(g, 5)), *c0 = s->gates == 4 ? batch_second(s, in(g, 6)) : NULL;
    s->h = h0 ? part(g, h0, dir, dir + one, zero) : s->zeros;
    s->c = c0 ? part(g, c0, dir, dir + one, zero) : s->zeros;
    activations_read(s, dir);
    Value **xs = sdx_vjp_room(g, s->steps);
    if (!xs) return;
    parts(g, x, s->steps, 0, xs);
    for (int k = 0; k < s->steps; k++) {
        int t = reverse ? s->steps - 1 - k : k;
        Value *h = s->h, *c = s->c;
        if (s->gates == 1) step_rnn(s, xs[t]);
        if (s->gates == 3) step_gru(s, xs[t]);
        if (s->gates == 4) step_lstm(s, xs[t]);
        y[t] = s->h;
        if (!s->lens) continue;
        Value *live = less(g, sdx_vjp_int64(g, t), s->lens);
        y[t] = where(g, live, s->h, s->zeros);
        s->h = where(g, live, s->h, h);
        s->c = where(g, live, s->c, c);
    }
}

/* -- the operators ------------------------------------------------------------------------------------------------- */

void sdx_back_rnn(Vjp *g)
{
    const char *op = g->n->op_type;
    const Attr *direction = sdx_node_attr(g->n, "direction");
    bool both = direction && direction->type == ATTR_STRING && same_name(direction->s, "bidirectional");
    bool reverse = direction && direction->type == ATTR_STRING && same_name(direction->s, "reverse");
    Rnn s = { .g = g, .gates = *op == 'R' ? 1 : *op == 'G' ? 3 : 4, .dirs = both ? 2 : 1 };
    s.layout = sdx_vjp_int(g, "layout", 0);
    s.linear_before_reset = sdx_vjp_int(g, "linear_before_reset", 0);
    s.input_forget = sdx_vjp_int(g, "input_forget", 0);
    s.clip = sdx_vjp_float(g, "clip", 0);
    int64_t steps = size_of(in(g, 0), s.layout ? 1 : 0), hidden = size_of(in(g, 2), 2);
    if (steps < 1 || hidden < 1 || steps > MAX_STEPS) {
        sdx_vjp_fail(g, "its gradient needs a known number of hidden units, and of steps, at most %d", MAX_STEPS);
        return;
    }
    s.steps = (int)steps;
    Node *before = sdx_vjp_mark(g);
    s.x = batch_second(&s, in(g, 0));
    Value *batch = sdx_vjp_shape(g, s.x, 1, 2), *one = sdx_vjp_list(g, (int64_t[]){ 1 }, 1);
    Value *state = sdx_vjp_concat(g, (Value *[]){ one, batch, sdx_vjp_list(g, &hidden, 1) }, 3, 0);
    s.zeros = sdx_vjp_fill(g, 0, in(g, 0)->type.elem, state);
    static const int64_t around[] = { 0, 2 };
    if (in(g, 4)) s.lens = sdx_vjp_unsqueeze(g, sdx_vjp_cast(g, in(g, 4), DT_INT64), around, 2);
    Value *all[MAX_DIRS], *h[MAX_DIRS], *c[MAX_DIRS], **y = sdx_vjp_room(g, s.steps);
    for (int d = 0; d < s.dirs && y; d++) {
        direction_run(&s, d, reverse || d == 1, y);
        all[d] = sdx_vjp_unsqueeze(g, sdx_vjp_concat(g, y, s.steps, 0), (int64_t[]){ 1 }, 1);
        h[d] = s.h;
        c[d] = s.c;
    }
    if (!y) return;
    static const int64_t perm[] = { 2, 0, 1, 3 };
    Value *made[3] = { sdx_vjp_concat(g, all, s.dirs, 1), batch_second(&s, sdx_vjp_concat(g, h, s.dirs, 0)),
                       batch_second(&s, sdx_vjp_concat(g, c, s.dirs, 0)) };
    if (s.layout) made[0] = moved(g, made[0], perm, 4);
    sdx_vjp_through(g, before, made);
}
