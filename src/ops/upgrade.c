#include "ops/upgrade.h"

#include <string.h>

#include "base/size.h"

static sdx_status no_memory(Err *err) { return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory"); }

/* -- attributes ---------------------------------------------------------------------------------------------------- */

sdx_status sdx_upgrade_needs(const Node *n, int count, Err *err)
{
    for (int i = 0; i < count; i++)
        if (i >= n->n_in || !n->in[i]) return sdx_fail(err, SDX_INVALID_MODEL, "input %d is missing", i);
    return SDX_OK;
}

int64_t sdx_upgrade_int(const Node *n, const char *attr, int64_t dflt)
{
    const Attr *a = sdx_node_attr(n, attr);
    return a && a->type == ATTR_INT ? a->i : dflt;
}

float sdx_upgrade_float(const Node *n, const char *attr, float dflt)
{
    const Attr *a = sdx_node_attr(n, attr);
    return a && a->type == ATTR_FLOAT ? a->f : dflt;
}

sdx_status sdx_upgrade_default_int(Node *n, const char *attr, int64_t v, Err *err)
{
    if (!sdx_node_attr(n, attr) && !sdx_node_set_int(n, attr, v)) return no_memory(err);
    return SDX_OK;
}

sdx_status sdx_upgrade_default_float(Node *n, const char *attr, float v, Err *err)
{
    if (!sdx_node_attr(n, attr) && !sdx_node_set_float(n, attr, v)) return no_memory(err);
    return SDX_OK;
}

static sdx_status wrong_type(const Node *n, const Attr *a, const char *want, Err *err)
{
    char text[160];
    return sdx_fail(err, SDX_INVALID_MODEL, "%s: attribute %s is not of type %s", sdx_node_text(n, text, sizeof text),
                    a->name, want);
}

/* v becomes input `index`, unless one is there, and the attribute goes. v NULL: out of memory, told. */
static sdx_status move_to_input(Node *n, const char *attr, int index, Value *v)
{
    if (!v) return SDX_OUT_OF_MEMORY;
    if (!(index < n->n_in && n->in[index]) && !sdx_node_set_input(n, index, v)) return SDX_OUT_OF_MEMORY;
    sdx_node_drop_attr(n, attr);
    return SDX_OK;
}

sdx_status sdx_upgrade_ints_to_input(Node *n, const char *attr, int index, Err *err)
{
    const Attr *a = sdx_node_attr(n, attr);
    if (!a) return SDX_OK;
    if (a->type != ATTR_INTS && a->type != ATTR_INT) return wrong_type(n, a, "INTS", err);
    const int64_t *v = a->type == ATTR_INTS ? a->ints : &a->i;
    return move_to_input(n, attr, index, sdx_upgrade_const_ints(n, v, a->type == ATTR_INTS ? a->n : 1, err));
}

sdx_status sdx_upgrade_int_to_input(Node *n, const char *attr, int index, Err *err)
{
    const Attr *a = sdx_node_attr(n, attr);
    if (!a) return SDX_OK;
    bool is_list = a->type == ATTR_INTS && a->n == 1;
    if (a->type != ATTR_INT && !is_list) return wrong_type(n, a, "INT", err);
    return move_to_input(n, attr, index, sdx_upgrade_const_int(n, is_list ? a->ints[0] : a->i, err));
}

sdx_status sdx_upgrade_float_to_input(Node *n, const char *attr, int index, Err *err)
{
    const Attr *a = sdx_node_attr(n, attr);
    if (!a) return SDX_OK;
    if (a->type != ATTR_FLOAT) return wrong_type(n, a, "FLOAT", err);
    Value *v = sdx_upgrade_const_like(n, a->f, n->n_in ? n->in[0] : NULL, err);
    return v ? move_to_input(n, attr, index, v) : SDX_OUT_OF_MEMORY;
}

sdx_status sdx_upgrade_floats_to_input(Node *n, const char *attr, int index, Err *err)
{
    const Attr *a = sdx_node_attr(n, attr);
    if (!a) return SDX_OK;
    if (a->type != ATTR_FLOATS) return wrong_type(n, a, "FLOATS", err);
    return move_to_input(n, attr, index, sdx_upgrade_const_floats(n, a->floats, a->n, err));
}

/* -- whole upgrades ------------------------------------------------------------------------------------------------ */

/* B with as many trailing dims of 1 as make its first dim stand at `axis` of A:
 * Reshape(B, Concat(Shape(B), ones[rank(A) - axis - rank(B)])), the rank of x being Shape(Shape(x)). */
static Value *trail_with_ones(Node *n, Value *a, Value *b, int64_t axis, Err *err)
{
    Tensor *one = sdx_arena_new(&n->graph->model->arena, Tensor); /* the new node keeps it */
    int64_t *one_data = sdx_arena_new(&n->graph->model->arena, int64_t);
    if (!one || !one_data) return NULL;
    *one_data = 1;
    *one = (Tensor){ .dtype = DT_INT64, .rank = 1, .dims = { 1 }, .data = one_data };
    Attr value_attr = { .name = "value", .type = ATTR_TENSOR, .n = 1, .t = one };
    Attr axis_attr = { .name = "axis", .type = ATTR_INT, .n = 1, .i = 0 };
    Value *a_shape, *a_rank, *b_shape, *b_rank, *at, *rest, *count, *ones, *shape;
    if (!(a_shape = sdx_upgrade_before(n, "Shape", &a, 1, err))) return NULL;
    if (!(a_rank = sdx_upgrade_before(n, "Shape", &a_shape, 1, err))) return NULL;
    if (!(b_shape = sdx_upgrade_before(n, "Shape", &b, 1, err))) return NULL;
    if (!(b_rank = sdx_upgrade_before(n, "Shape", &b_shape, 1, err))) return NULL;
    if (!(at = sdx_upgrade_const_ints(n, &axis, 1, err))) return NULL;
    if (!(rest = sdx_upgrade_before(n, "Sub", (Value *[]){ a_rank, at }, 2, err))) return NULL;
    if (!(count = sdx_upgrade_before(n, "Sub", (Value *[]){ rest, b_rank }, 2, err))) return NULL;
    if (!(ones = sdx_upgrade_before_with(n, "ConstantOfShape", &value_attr, 1, &count, 1, err))) return NULL;
    if (!(shape = sdx_upgrade_before_with(n, "Concat", &axis_attr, 1, (Value *[]){ b_shape, ones }, 2, err)))
        return NULL;
    return sdx_upgrade_before(n, "Reshape", (Value *[]){ b, shape }, 2, err);
}

/* The rank as far as it is certain at import, else -1. */
static int certain_rank(const Value *v)
{
    if (v->constant) return v->constant->rank;
    return v->flags & VALUE_GRAPH_INPUT && v->type.kind == TYPE_TENSOR ? v->type.shape.rank : -1;
}

static Value *broadcast_view(Node *n, Value *a, Value *b, int64_t axis, Err *err)
{
    int a_rank = certain_rank(a), b_rank = certain_rank(b);
    if (a_rank < 0 || b_rank < 0) return trail_with_ones(n, a, b, axis, err);
    int64_t axes[SDX_MAX_RANK], n_ones = a_rank - axis - b_rank;
    if (n_ones == 0) return b;
    if (n_ones < 0 || n_ones > SDX_MAX_RANK) {
        sdx_fail(err, SDX_INVALID_MODEL, "rank %d cannot be broadcast to rank %d at axis %lld", b_rank, a_rank,
                 (long long)axis);
        return NULL;
    }
    for (int64_t i = 0; i < n_ones; i++) axes[i] = b_rank + i;
    Value *list = sdx_upgrade_const_ints(n, axes, n_ones, err);
    return list ? sdx_upgrade_before(n, "Unsqueeze", (Value *[]){ b, list }, 2, err) : NULL;
}

sdx_status sdx_upgrade_broadcast(Node *n, Err *err)
{
    bool broadcast = sdx_upgrade_int(n, "broadcast", 0) != 0;
    int64_t axis = sdx_upgrade_int(n, "axis", -1);
    sdx_node_drop_attr(n, "broadcast");
    sdx_node_drop_attr(n, "axis");
    if (!broadcast || axis == -1 || n->n_in < 2 || !n->in[0] || !n->in[1]) return SDX_OK;
    if (axis < 0) {
        char text[160];
        return sdx_fail(err, SDX_INVALID_MODEL, "%s: broadcast axis %lld is negative",
                        sdx_node_text(n, text, sizeof text), (long long)axis);
    }
    const Tensor *b = n->in[1]->constant;
    if (b && b->rank == 0) return SDX_OK;
    Value *v = broadcast_view(n, n->in[0], n->in[1], axis, err);
    if (!v) return err && err->code ? (sdx_status)err->code : SDX_OUT_OF_MEMORY;
    return sdx_node_set_input(n, 1, v) ? SDX_OK : no_memory(err);
}

sdx_status sdx_upgrade_rename(Node *n, const char *op_type, Err *err)
{
    const OpDef *def = sdx_op_find(n->domain, op_type);
    if (!def) return sdx_fail(err, SDX_UNSUPPORTED, "operator %s, which replaces %s, is missing", op_type, n->op_type);
    n->op_type = def->name;
    n->def = def;
    return SDX_OK;
}

/* -- building blocks ----------------------------------------------------------------------------------------------- */

Value *sdx_upgrade_const(Node *n, const Tensor *t, Err *err)
{
    Tensor copy = *t;
    size_t nbytes;
    if (!sdx_tensor_nbytes(t, &nbytes)) {
        sdx_fail(err, SDX_INVALID_MODEL, "constant of an upgraded node is too large");
        return NULL;
    }
    copy.data = sdx_model_tensor_data(n->graph->model, &copy);
    if (copy.data && nbytes) memcpy(copy.data, t->data, nbytes);
    Value *v = copy.data || !nbytes ? sdx_value_constant(n->graph, NULL, &copy) : NULL;
    if (!v) no_memory(err);
    return v;
}

Value *sdx_upgrade_const_ints(Node *n, const int64_t *v, int64_t count, Err *err)
{
    return sdx_upgrade_const(n, &(Tensor){ .dtype = DT_INT64, .rank = 1, .dims = { count }, .data = (void *)v }, err);
}

Value *sdx_upgrade_const_int(Node *n, int64_t v, Err *err)
{
    return sdx_upgrade_const(n, &(Tensor){ .dtype = DT_INT64, .rank = 0, .data = &v }, err);
}

Value *sdx_upgrade_const_floats(Node *n, const float *v, int64_t count, Err *err)
{
    return sdx_upgrade_const(n, &(Tensor){ .dtype = DT_FLOAT, .rank = 1, .dims = { count }, .data = (void *)v }, err);
}

Value *sdx_upgrade_const_like(Node *n, float v, Value *like, Err *err)
{
    Tensor f32 = { .dtype = DT_FLOAT, .rank = 0, .data = &v };
    double wide = v;
    Tensor f64 = { .dtype = DT_DOUBLE, .rank = 0, .data = &wide };
    DType elem = like ? like->type.elem : DT_FLOAT;
    if (elem == DT_DOUBLE) return sdx_upgrade_const(n, &f64, err);
    Value *c = sdx_upgrade_const(n, &f32, err);
    if (!c || elem == DT_FLOAT) return c;
    return sdx_upgrade_before(n, "CastLike", (Value *[]){ c, like }, 2, err);
}

/* A node of the default domain; out gets a new value unless it is given. */
static Node *make_node(Node *near, Node *before, const char *op_type, const Attr *attrs, int n_attrs, Value *const *in,
                       int n_in, Value *out, Err *err)
{
    const OpDef *def = sdx_op_find("", op_type);
    if (!def) {
        sdx_fail(err, SDX_UNSUPPORTED, "operator %s, which the newest form of %s needs, is missing", op_type,
                 near->op_type);
        return NULL;
    }
    if (!out) out = sdx_value_create(near->graph, NULL);
    Model *m = near->graph->model; /* node names have to differ for some readers of what we write */
    const char *name = *near->name ? sdx_arena_printf(&m->arena, "%s/%s_%d", near->name, op_type, m->next_node_id) : "";
    Node *made = out && name ? sdx_node_create(near->graph, before, def, name, in, n_in, &out, 1) : NULL;
    bool ok = made != NULL;
    if (made) made->op_type = def->name;
    for (int i = 0; ok && i < n_attrs; i++) ok = sdx_node_set_attr(made, &attrs[i]);
    if (!ok) {
        no_memory(err);
        return NULL;
    }
    return sdx_node_parse(made, err) == SDX_OK ? made : NULL;
}

Value *sdx_upgrade_before_with(Node *n, const char *op_type, const Attr *attrs, int n_attrs, Value *const *in, int n_in,
                               Err *err)
{
    Node *made = make_node(n, n, op_type, attrs, n_attrs, in, n_in, NULL, err);
    return made ? made->out[0] : NULL;
}

Value *sdx_upgrade_before(Node *n, const char *op_type, Value *const *in, int n_in, Err *err)
{
    return sdx_upgrade_before_with(n, op_type, NULL, 0, in, n_in, err);
}

Node *sdx_upgrade_after(Node *n, int o, const char *op_type, Value *const *in, int n_in, Err *err)
{
    Value *old = n->out[o], *fresh = sdx_value_create(n->graph, NULL);
    Value *args[8];
    if (!fresh || n_in > 8) {
        no_memory(err);
        return NULL;
    }
    fresh->producer = n;
    fresh->producer_index = o;
    n->out[o] = fresh;
    old->producer = NULL;
    for (int i = 0; i < n_in; i++) args[i] = in[i];
    if (!args[0]) args[0] = fresh;
    return make_node(n, n->next, op_type, NULL, 0, args, n_in, old, err);
}

sdx_status sdx_upgrade_by_double(Node *n, Err *err)
{
    const Attr to = { .name = "to", .type = ATTR_INT, .n = 1, .i = DT_DOUBLE };
    TRY(sdx_upgrade_needs(n, 1, err));
    Value *x = n->in[0];
    if (!sdx_dtype_in(x->type.elem, TS_INT) || n->n_out < 1 || !n->out[0]) return SDX_OK;
    Value *wide = sdx_upgrade_before_with(n, "Cast", &to, 1, &x, 1, err);
    if (!wide) return SDX_OUT_OF_MEMORY;
    if (!sdx_node_set_input(n, 0, wide)) return no_memory(err);
    return sdx_upgrade_after(n, 0, "CastLike", (Value *[]){ NULL, x }, 2, err) ? SDX_OK : SDX_OUT_OF_MEMORY;
}
