/* Shape, Size, Constant: what is known without looking at data. */
#include <string.h>

#include "ops/shapes.h"
#include "ops/typesets.h"

/* -- Shape --------------------------------------------------------------------------------------------------------- */

typedef struct ShapeAttrs {
    int64_t start, end;
} ShapeAttrs;

static const AttrSpec shape_attrs[] = { OP_INT(ShapeAttrs, start, 0), OP_INT(ShapeAttrs, end, OP_INT_ABSENT),
                                        OP_ATTR_END };

/* [from, to) of the dims that the attributes select: negative counts from the end, then clamped. */
static void shape_range(const ShapeAttrs *a, int rank, int *from, int *to)
{
    int64_t s = a->start < 0 ? a->start + rank : a->start;
    int64_t e = a->end == OP_INT_ABSENT ? rank : a->end < 0 ? a->end + rank : a->end;
    *from = (int)(s < 0 ? 0 : s > rank ? rank : s);
    *to = (int)(e < 0 ? 0 : e > rank ? rank : e);
    if (*to < *from) *to = *from;
}

static sdx_status shape_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0);
    Shape *y = shape_out(c, 0, 1);
    if (!x) return SDX_OK;
    int from, to;
    DimVal v[SDX_MAX_RANK];
    shape_range(c->args, x->rank, &from, &to);
    y->dims[0] = to - from;
    for (int k = from; k < to; k++) v[k - from] = sdx_dimval_of(x->dims[k]);
    return sdx_infer_set_ints(c, 0, v, to - from);
}

static sdx_status shape_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    int from, to;
    void *y;
    shape_range(r->args, x->rank, &from, &to);
    int64_t n = to - from;
    TRY(sdx_run_output(r, 0, DT_INT64, 1, &n, &y));
    if (n) memcpy(y, x->dims + from, (size_t)n * sizeof(int64_t));
    return SDX_OK;
}

static const OpVer shape_vers[] = { VERS_ALL_21_25,
                                    { .since = 19, .types = { TS_ALL_19 } },
                                    { .since = 15, .types = { TS_ALL_13 } },
                                    { .since = 13, .types = { TS_ALL_13 } },
                                    { .since = 1, .types = { TS_ALL_1 } },
                                    { 0 } };

const OpDef sdx_op_Shape = {
    .name = "Shape",
    .sig = "T->i64",
    .attrs = shape_attrs,
    .attrs_size = sizeof(ShapeAttrs),
    .vers = shape_vers,
    .infer = shape_infer,
    .cpu = { NULL, shape_run },
};

/* -- Size ---------------------------------------------------------------------------------------------------------- */

static sdx_status size_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0);
    shape_out(c, 0, 0);
    if (!x) return SDX_OK;
    DimVal n = sdx_infer_product(c, x, 0, x->rank);
    return sdx_infer_set_ints(c, 0, &n, 1);
}

static sdx_status size_run(Run *r)
{
    void *y;
    TRY(sdx_run_output(r, 0, DT_INT64, 0, NULL, &y));
    *(int64_t *)y = sdx_tensor_count(&r->in[0]->t);
    return SDX_OK;
}

static const OpVer size_vers[] = { VERS_ALL_21_25,
                                   { .since = 19, .types = { TS_ALL_19 } },
                                   { .since = 13, .types = { TS_ALL_13 } },
                                   { .since = 1, .types = { TS_ALL_1 } },
                                   { 0 } };

const OpDef sdx_op_Size = {
    .name = "Size",
    .sig = "T->i64",
    .vers = size_vers,
    .infer = size_infer,
    .cpu = { NULL, size_run },
};

/* -- Constant ------------------------------------------------------------------------------------------------------ */

typedef struct ConstantAttrs {
    const Tensor *value;
    const Sparse *sparse_value;
    float value_float;
    FloatList value_floats;
    int64_t value_int;
    IntList value_ints;
    Str value_string;
    StrList value_strings;
} ConstantAttrs;

static const AttrSpec constant_attrs[] = { OP_TENSOR(ConstantAttrs, value),
                                           OP_ATTR(ConstantAttrs, sparse_value, ATTR_SPARSE),
                                           OP_FLOAT(ConstantAttrs, value_float, 0),
                                           OP_FLOATS(ConstantAttrs, value_floats),
                                           OP_INT(ConstantAttrs, value_int, 0),
                                           OP_INTS(ConstantAttrs, value_ints),
                                           OP_STR(ConstantAttrs, value_string, ""),
                                           OP_STRS(ConstantAttrs, value_strings),
                                           OP_ATTR_END };

/* The content as a tensor that borrows from the node. A sparse value has data NULL and its dense shape. */
static sdx_status constant_tensor(const Node *n, const ConstantAttrs *a, Tensor *t, Err *err)
{
    char text[256];
    if (n->n_attrs != 1)
        return sdx_fail(err, SDX_INVALID_MODEL, "%s: has %d attributes; it must have one",
                        sdx_node_text(n, text, sizeof text), n->n_attrs);
    const char *name = n->attrs[0].name;
    *t = (Tensor){ .rank = 0 };
    if (a->value) {
        *t = *a->value;
    } else if (a->sparse_value) {
        t->dtype = a->sparse_value->values.t.dtype;
        t->rank = a->sparse_value->rank;
        memcpy(t->dims, a->sparse_value->dims, sizeof t->dims);
    } else if (!strcmp(name, "value_float")) {
        *t = (Tensor){ .dtype = DT_FLOAT, .data = (void *)&a->value_float };
    } else if (!strcmp(name, "value_int")) {
        *t = (Tensor){ .dtype = DT_INT64, .data = (void *)&a->value_int };
    } else if (!strcmp(name, "value_string")) {
        *t = (Tensor){ .dtype = DT_STRING, .data = (void *)&a->value_string };
    } else if (!strcmp(name, "value_floats")) {
        *t = (Tensor){ .dtype = DT_FLOAT, .rank = 1, .dims = { a->value_floats.n }, .data = (void *)a->value_floats.v };
    } else if (!strcmp(name, "value_ints")) {
        *t = (Tensor){ .dtype = DT_INT64, .rank = 1, .dims = { a->value_ints.n }, .data = (void *)a->value_ints.v };
    } else if (!strcmp(name, "value_strings")) {
        *t = (Tensor){
            .dtype = DT_STRING, .rank = 1, .dims = { a->value_strings.n }, .data = (void *)a->value_strings.v
        };
    }
    return SDX_OK;
}

static sdx_status constant_infer(Infer *c)
{
    Tensor t;
    TRY(constant_tensor(c->node, c->args, &t, c->err));
    c->out[0].elem = t.dtype;
    Shape *y = shape_out(c, 0, t.rank);
    for (int k = 0; k < t.rank; k++) y->dims[k] = t.dims[k];
    int64_t n = sdx_tensor_count(&t);
    if (!t.data || n > SDX_MAX_RANK || !sdx_dtype_in(t.dtype, TS_IDX | TS_BOOL)) return SDX_OK;
    DimVal v[SDX_MAX_RANK];
    for (int64_t i = 0; i < n; i++) v[i] = sdx_dimval_num(sdx_tensor_get_int(&t, i));
    return sdx_infer_set_ints(c, 0, v, (int)n);
}

/* Zeros, then the stored elements at their places. */
static sdx_status constant_sparse(Run *r, const Sparse *s, const Tensor *t, char *y)
{
    size_t size = sdx_dtype_size(t->dtype), nbytes;
    int64_t count = sdx_tensor_count(t), nnz = sdx_tensor_count(&s->values.t);
    const Tensor *at = &s->indices.t;
    if (!size || !sdx_tensor_nbytes(t, &nbytes))
        return sdx_run_fail(r, "sparse value of type %s", sdx_dtype_name(t->dtype));
    if (sdx_tensor_count(at) != (at->rank == 2 ? nnz * t->rank : nnz))
        return sdx_run_fail(r, "sparse value: %lld indices for %lld elements", (long long)sdx_tensor_count(at),
                            (long long)nnz);
    memset(y, 0, nbytes);
    for (int64_t i = 0; i < nnz; i++) {
        int64_t pos = 0;
        if (at->rank == 2) {
            for (int k = 0; k < t->rank; k++) {
                int64_t j = sdx_tensor_get_int(at, i * t->rank + k);
                if (j < 0 || j >= t->dims[k]) return sdx_run_fail(r, "sparse value: index outside the shape");
                pos = pos * t->dims[k] + j;
            }
        } else {
            pos = sdx_tensor_get_int(at, i);
        }
        if (pos < 0 || pos >= count) return sdx_run_fail(r, "sparse value: index outside the shape");
        memcpy(y + (size_t)pos * size, (const char *)s->values.t.data + (size_t)i * size, size);
    }
    return SDX_OK;
}

static sdx_status constant_run(Run *r)
{
    const ConstantAttrs *a = r->args;
    Tensor t;
    void *y;
    size_t nbytes;
    TRY(constant_tensor(r->node, a, &t, r->err));
    TRY(sdx_run_output(r, 0, t.dtype, t.rank, t.dims, &y));
    if (a->sparse_value) return constant_sparse(r, a->sparse_value, &t, y);
    if (sdx_tensor_nbytes(&t, &nbytes) && nbytes) memcpy(y, t.data, nbytes);
    return SDX_OK;
}

static const OpVer constant_vers[] = { VERS_ALL_21_25,
                                       { .since = 19, .types = { TS_ALL_19 } },
                                       { .since = 13, .types = { TS_ALL_13 } },
                                       { .since = 12, .types = { TS_ALL_1 } },
                                       { .since = 11, .types = { TS_ALL_1 } },
                                       { .since = 9, .types = { TS_ALL_1 } },
                                       { .since = 1, .types = { TS_FLT } },
                                       { 0 } };

const OpDef sdx_op_Constant = {
    .name = "Constant",
    .sig = "->T",
    .attrs = constant_attrs,
    .attrs_size = sizeof(ConstantAttrs),
    .vers = constant_vers,
    .infer = constant_infer,
    .cpu = { NULL, constant_run },
};
