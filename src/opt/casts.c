/* opt/casts.c      t = Cast(x)   y = Cast(t)   =>   y = Cast(x)
 *
 * When t holds every value of x's type exactly. */
#include "opt/match.h"

static bool is_exact(DType from, DType to)
{
    static const struct {
        DType type;
        DTypeSet holds; /* the types whose every value it represents */
    } table[] = {
        { DT_FLOAT, TS_F16 | TS_BF16 | TS_I8 | TS_U8 | TS_I16 | TS_U16 | TS_BOOL },
        { DT_DOUBLE, TS_F16 | TS_BF16 | TS_F32 | TS_I8 | TS_U8 | TS_I16 | TS_U16 | TS_I32 | TS_U32 | TS_BOOL },
        { DT_FLOAT16, TS_I8 | TS_U8 | TS_BOOL },
        { DT_INT16, TS_I8 | TS_U8 | TS_BOOL },
        { DT_UINT16, TS_U8 | TS_BOOL },
        { DT_INT32, TS_I8 | TS_U8 | TS_I16 | TS_U16 | TS_BOOL },
        { DT_UINT32, TS_U8 | TS_U16 | TS_BOOL },
        { DT_INT64, TS_I8 | TS_U8 | TS_I16 | TS_U16 | TS_I32 | TS_U32 | TS_BOOL },
        { DT_UINT64, TS_U8 | TS_U16 | TS_U32 | TS_BOOL },
        { DT_INT8, TS_BOOL },
        { DT_UINT8, TS_BOOL },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].type == to) return sdx_dtype_in(from, table[i].holds);
    return false;
}

sdx_status sdx_pass_casts(Opt *o, Node *n, bool *changed)
{
    const Node *inner = made_by(node_in(n, 0), "Cast");
    char text[200];
    if (!inner || !is_exact(inner->in[0]->type.elem, n->in[0]->type.elem)) return SDX_OK;
    TRY(sdx_opt_note(o, "%s", sdx_node_text(n, text, sizeof text)));
    *changed = true;
    TRY(sdx_opt_set_input(o, n, 0, inner->in[0]));
    return sdx_opt_finish(o, n);
}
