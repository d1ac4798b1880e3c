/* Optional values: an absent one is DATUM_NONE, a present one is its content. */
#include "ops/shapes.h"
#include "ops/typesets.h"

typedef struct OptionalAttrs {
    const Type *type;
} OptionalAttrs;
static const AttrSpec optional_attrs[] = { OP_ATTR(OptionalAttrs, type, ATTR_TYPE), OP_ATTR_END };

static sdx_status optional_infer(Infer *c)
{
    const OptionalAttrs *a = c->args;
    const Type *of = INFER_HAS(c, 0) ? c->in[0] : a->type;
    if (!of) return sdx_infer_fail(c, "has neither an input nor a type");
    Type *copy = sdx_arena_new(c->arena, Type);
    TRY_MEM(copy, c->err);
    *copy = *of;
    c->out[0] = (Type){ .kind = TYPE_OPTIONAL, .of = copy, .shape = { .rank = SDX_RANK_UNKNOWN } };
    return SDX_OK;
}

static const Datum none = { .kind = DATUM_NONE };
static const Datum *content(const Run *r) { return r->n_in && r->in[0] ? r->in[0] : &none; }

static sdx_status optional_run(Run *r) { return sdx_run_forward(r, 0, content(r)); }

static sdx_status has_infer(Infer *c)
{
    shape_out(c, 0, 0);
    return SDX_OK;
}

static sdx_status has_run(Run *r)
{
    void *y;
    TRY(sdx_run_output(r, 0, DT_BOOL, 0, NULL, &y));
    *(uint8_t *)y = content(r)->kind != DATUM_NONE;
    return SDX_OK;
}

static sdx_status get_infer(Infer *c)
{
    const Type *t = c->in[0];
    if (t->kind == TYPE_OPTIONAL) t = t->of;
    if (t) c->out[0] = *t;
    return SDX_OK;
}

static sdx_status get_run(Run *r)
{
    const Datum *d = content(r);
    return d->kind == DATUM_NONE ? sdx_run_fail(r, "the optional value is empty") : sdx_run_forward(r, 0, d);
}

static const OpVer optional_vers[] = { { 28, { TS_ALL_28 } }, { 15, { TS_ALL_1 } }, { 0 } };
static const OpVer element_vers[] = { { 28, { TS_ALL_28 } }, { 18, { TS_ALL_1 } }, { 15, { TS_ALL_1 } }, { 0 } };

const OpDef sdx_op_Optional = {
    .name = "Optional",
    .sig = "any?->any",
    .attrs = optional_attrs,
    .attrs_size = sizeof(OptionalAttrs),
    .vers = optional_vers,
    .infer = optional_infer,
    .cpu = { NULL, optional_run },
};
const OpDef sdx_op_OptionalHasElement = {
    .name = "OptionalHasElement",
    .sig = "any?->bool",
    .vers = element_vers,
    .infer = has_infer,
    .cpu = { NULL, has_run },
};
const OpDef sdx_op_OptionalGetElement = {
    .name = "OptionalGetElement",
    .sig = "any->any",
    .vers = element_vers,
    .flags = OP_DATA_SHAPE,
    .infer = get_infer,
    .cpu = { NULL, get_run },
};
