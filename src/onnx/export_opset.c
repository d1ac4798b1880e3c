#include "onnx/export.h"

#include <string.h>

#include "ops/ops.h"

/* The IR version of the first release that had the opset, and the one that brought the element type. */
static const struct {
    int64_t opset, ir;
} opset_irs[] = { { 28, 14 }, { 25, 13 }, { 24, 12 }, { 23, 11 }, { 21, 10 }, { 19, 9 },
                  { 15, 8 },  { 12, 7 },  { 11, 6 },  { 10, 5 },  { 1, 4 } }; /* 4: initializers that are no inputs */
static const struct {
    DType from;
    int64_t ir;
} dtype_irs[] = { { DT_FLOAT6E2M3, 14 }, { DT_UINT2, 13 }, { DT_FLOAT8E8M0, 12 },
                  { DT_FLOAT4E2M1, 11 }, { DT_UINT4, 10 }, { DT_FLOAT8E4M3FN, 9 } };

int64_t sdx_ir_of_opset(int64_t opset)
{
    size_t i = 0, last = sizeof opset_irs / sizeof *opset_irs - 1;
    while (i < last && opset < opset_irs[i].opset) i++;
    return opset_irs[i].ir;
}

int64_t sdx_ir_of_type(DType d)
{
    for (size_t i = 0; i < sizeof dtype_irs / sizeof *dtype_irs; i++)
        if (d >= dtype_irs[i].from) return dtype_irs[i].ir;
    return 1;
}

/* Does the row take the element types that n has? */
static bool row_fits(const Node *n, const OpVer *row, Arena *scratch)
{
    const Type **in = sdx_arena_array(scratch, const Type *, n->n_in);
    Type *out = sdx_arena_array(scratch, Type, n->n_out);
    if (!in || !out) return false;
    for (int i = 0; i < n->n_in; i++) in[i] = n->in[i] ? &n->in[i]->type : NULL;
    return sdx_op_bind(n, row, in, out, NULL) == SDX_OK;
}

/* The lowest opset that gives n its form. A node that needed no upgrade has the form of the file's own row still, and no
 * attribute can be younger than that; others are in the newest form. So models do not ask for a newer opset than they
 * came with. */
static int lowest_version(const Node *n, Arena *scratch)
{
    const OpVer *row = n->def ? n->def->vers : NULL;
    if (!row || !row->since) return 1;
    if (!n->origin || strcmp(n->origin->op_type, n->op_type) != 0) return row->since;
    while (row->since > n->origin->since_version && row[1].since && !row[1].upgrade) row++;
    if (row->since > n->origin->since_version) return n->def->vers->since;
    while (row != n->def->vers && !row_fits(n, row, scratch)) row--;
    return row->since;
}

/* The largest of the nodes' lowest versions has them all. */
static sdx_status collect_opsets(Graph *g, void *user, Err *err)
{
    Opsets *list = user;
    for (const Node *n = g->first; n; n = n->next) {
        char text[256];
        bool names = n->def == &sdx_op_training_Gradient; /* its names have become edges */
        if (names || strcmp(n->domain, "sdx") == 0)
            return sdx_fail(err, SDX_UNSUPPORTED, "%s is an internal form that ONNX cannot express",
                            sdx_node_text(n, text, sizeof text));
        int since = lowest_version(n, list->scratch), i = 0;
        while (i < list->n && strcmp(list->v[i].domain, n->domain) != 0) i++;
        if (i == SDX_MAX_DOMAINS) return sdx_fail(err, SDX_UNSUPPORTED, "operators of more than %d domains", i);
        if (i == list->n) list->v[list->n++] = (OpsetImport){ .domain = n->domain };
        if (list->v[i].version < since) list->v[i].version = since;
    }
    return SDX_OK;
}

sdx_status sdx_export_opsets(const Model *m, Arena *scratch, Opsets *out, Err *err)
{
    *out = (Opsets){ .v = { { "", 1 } }, .n = 1, .scratch = scratch };
    return sdx_model_each_graph((Model *)m, collect_opsets, out, err); /* changes nothing */
}
