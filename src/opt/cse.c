/* opt/cse.c      a = op(x)   b = op(x)   =>   a for b
 *
 * Same operator, attributes and inputs, where equal small constants count as one. Within one graph and for what nested
 * graphs compute again of their surroundings. Skipped for random operators, for nodes with nested graphs, and when b
 * is an output of the main graph. */
#include "opt/match.h"

enum { CONST_NBYTES = 64 }; /* of constants that are compared by content */

typedef struct Cse {
    Node **slot; /* open addressing */
    size_t mask;
} Cse;

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
    return h ^ h >> 29;
}

static uint64_t mix_bytes(uint64_t h, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++) h = mix(h, ((const unsigned char *)p)[i]);
    return h;
}

/* The bytes of a small constant; 0 when v is not one. */
static size_t small_nbytes(const Value *v)
{
    size_t n;
    if (!sdx_value_is_const(v) || v->constant->dtype == DT_STRING || !v->constant->data) return 0;
    return sdx_tensor_nbytes(v->constant, &n) && n <= CONST_NBYTES ? n : 0;
}

static uint64_t value_hash(uint64_t h, const Value *v)
{
    size_t n = v ? small_nbytes(v) : 0;
    return n ? mix_bytes(mix(h, (uint64_t)v->constant->dtype), v->constant->data, n) : mix(h, (uint64_t)(uintptr_t)v);
}

static bool value_same(const Value *a, const Value *b)
{
    if (a == b) return true;
    size_t n = a && b ? small_nbytes(a) : 0;
    if (!n || n != small_nbytes(b)) return false;
    const Tensor *s = a->constant, *t = b->constant;
    return s->dtype == t->dtype && sdx_dims_equal(s->dims, s->rank, t->dims, t->rank) && !memcmp(s->data, t->data, n);
}

/* Attributes are compared as written, in order: exporters write those of equal nodes alike. */
static size_t attr_nbytes(const Attr *a, const void **p)
{
    switch (a->type) {
    case ATTR_FLOAT: *p = &a->f; return sizeof a->f;
    case ATTR_INT: *p = &a->i; return sizeof a->i;
    case ATTR_STRING: *p = a->s.p; return a->s.n;
    case ATTR_FLOATS: *p = a->floats; return (size_t)a->n * sizeof *a->floats;
    case ATTR_INTS: *p = a->ints; return (size_t)a->n * sizeof *a->ints;
    default: *p = NULL; return 0;
    }
}

static bool attr_is_plain(const Attr *a)
{
    return a->type == ATTR_FLOAT || a->type == ATTR_INT || a->type == ATTR_STRING || a->type == ATTR_FLOATS ||
           a->type == ATTR_INTS;
}

/* Does inference know what n gives, as numbers and symbols? */
static bool is_known(const Node *n)
{
    const Value *v = n->n_out == 1 ? n->out[0] : NULL;
    if (!v || !v->known.n || !sdx_shape_is_numbers(&v->type.shape)) return false;
    for (int i = 0; i < v->known.n; i++)
        if (!v->known.v[i].known && v->known.v[i].sym == SDX_DIM_UNKNOWN) return false;
    return true;
}

static uint64_t known_hash(const DimVec *k)
{
    uint64_t h = (uint64_t)k->n;
    for (int i = 0; i < k->n; i++) h = mix(h, k->v[i].known ? (uint64_t)k->v[i].v : ~(uint64_t)k->v[i].sym);
    return h;
}

static bool known_same(const Value *a, const Value *b)
{
    if (a->known.n != b->known.n || !sdx_same_type(&a->type, &b->type)) return false;
    for (int i = 0; i < a->known.n; i++)
        if (!sdx_dimval_equal(a->known.v[i], b->known.v[i])) return false;
    return true;
}

static bool is_candidate(const Node *n)
{
    if (!n->def || (n->def->flags & (OP_RANDOM | OP_CONTROL)) || n->n_in == 0 || n->n_out == 0) return false;
    for (int i = 0; i < n->n_attrs; i++)
        if (!attr_is_plain(&n->attrs[i])) return false;
    return true;
}

static uint64_t node_hash(const Node *n)
{
    const void *p;
    if (is_known(n)) return known_hash(&n->out[0]->known);
    uint64_t h = mix((uint64_t)(uintptr_t)n->def, (uint64_t)n->n_in);
    for (int i = 0; i < n->n_in; i++) h = value_hash(h, n->in[i]);
    for (int i = 0; i < n->n_attrs; i++) {
        size_t nbytes = attr_nbytes(&n->attrs[i], &p);
        h = mix_bytes(mix(h, (uint64_t)nbytes), p, nbytes);
    }
    return h;
}

static bool node_same(const Node *a, const Node *b)
{
    const void *p, *q;
    if (is_known(a) && is_known(b)) return known_same(a->out[0], b->out[0]);
    if (a->def != b->def || a->n_in != b->n_in || a->n_attrs != b->n_attrs || a->n_out != b->n_out || a->ep != b->ep)
        return false;
    for (int i = 0; i < a->n_in; i++)
        if (!value_same(a->in[i], b->in[i])) return false;
    for (int i = 0; i < a->n_attrs; i++) {
        const Attr *x = &a->attrs[i], *y = &b->attrs[i];
        size_t nbytes = attr_nbytes(x, &p);
        if (x->type != y->type || strcmp(x->name, y->name) || nbytes != attr_nbytes(y, &q)) return false;
        if (nbytes && memcmp(p, q, nbytes)) return false;
    }
    return true;
}

/* a for b, when that is possible for all outputs of b that are used. */
static sdx_status node_merge(Opt *o, Node *a, Node *b, bool *changed)
{
    for (int i = 0; i < b->n_out; i++)
        if (b->out[i] && (!a->out[i] || !sdx_value_can_replace(b->out[i], a->out[i]))) return SDX_OK;
    char text[200];
    TRY(sdx_opt_note(o, "%s", sdx_node_text(b, text, sizeof text)));
    *changed = true;
    for (int i = 0, n = b->n_out; i < n && b->graph; i++)
        if (b->out[i]) TRY(sdx_opt_replace(o, b->out[i], a->out[i]));
    return SDX_OK;
}

sdx_status sdx_sweep_cse(Opt *o, Graph *g, bool *changed)
{
    Model *m = sdx_opt_model(o);
    Arena tmp;
    Cse c = { .mask = 63 };
    while (c.mask < 2 * (size_t)g->n_nodes) c.mask = 2 * c.mask + 1;
    sdx_arena_init(&tmp, m->alloc, 0);
    c.slot = sdx_arena_array(&tmp, Node *, c.mask + 1);
    sdx_status st = c.slot ? SDX_OK : sdx_fail(sdx_opt_err(o), SDX_OUT_OF_MEMORY, "out of memory");
    for (Node *n = g->first, *next; n && st == SDX_OK; n = next) {
        next = n->next;
        if (!is_candidate(n)) continue;
        size_t at = node_hash(n) & c.mask;
        while (c.slot[at] && (!c.slot[at]->graph || !node_same(c.slot[at], n))) at = (at + 1) & c.mask;
        if (c.slot[at])
            st = node_merge(o, c.slot[at], n, changed);
        else
            c.slot[at] = n;
    }
    sdx_arena_fini(&tmp);
    return st;
}
