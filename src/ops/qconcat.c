/* ops/qconcat.c - com.microsoft QLinearConcat
 *
 * Inputs are the output's scale and zero point, then triples of tensor, scale and zero point. It becomes Concat between
 * DequantizeLinear and QuantizeLinear at import. */
#include "ops/upgrade.h"

static const AttrSpec qconcat_attrs[] = { { .name = "axis", .type = ATTR_INT, .offset = 0, .required = true },
                                          OP_ATTR_END };

static sdx_status qconcat_lower(Node *n, Err *err)
{
    if (n->n_in < 5 || n->n_in % 3 != 2)
        return sdx_fail(err, SDX_INVALID_MODEL, "it has %d inputs: two and then triples are needed", n->n_in);
    const Attr *axis = sdx_node_attr(n, "axis");
    if (!axis || axis->type != ATTR_INT) return sdx_fail(err, SDX_INVALID_MODEL, "attribute axis is missing");
    int count = n->n_in / 3;
    Value **part = sdx_arena_array(&n->graph->model->arena, Value *, count);
    if (!part) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    for (int i = 0; i < count; i++) {
        Value *const *in = n->in + 2 + 3 * i;
        bool is_float = in[0] && in[0]->type.kind == TYPE_TENSOR && in[0]->type.elem == DT_FLOAT;
        part[i] = is_float ? in[0] : sdx_upgrade_before(n, "DequantizeLinear", in, in[2] ? 3 : 2, err);
        if (!part[i]) return SDX_OUT_OF_MEMORY;
    }
    Value *all = sdx_upgrade_before_with(n, "Concat", axis, 1, part, count, err);
    if (!all) return SDX_OUT_OF_MEMORY;
    Value *in[3] = { all, n->in[0], n->in[1] };
    sdx_node_drop_attr(n, "axis");
    if (!sdx_node_set_inputs(n, in, 3)) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    n->domain = "";
    return sdx_upgrade_rename(n, "QuantizeLinear", err);
}

static const OpVer qconcat_vers[] = { { 1, { TS_I8 | TS_U8 }, qconcat_lower }, { 0 } };

const OpDef sdx_op_ms_QLinearConcat = {
    .name = "QLinearConcat",
    .domain = "com.microsoft",
    .sig = "f32,T,any~->T",
    .attrs = qconcat_attrs,
    .attrs_size = sizeof(int64_t),
    .vers = qconcat_vers,
};
