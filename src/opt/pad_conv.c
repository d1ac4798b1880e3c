/* opt/pad_conv.c      y = Conv <pads = q> (Pad(x, p), W)   =>   y = Conv <pads = p + q> (x, W)
 *
 * Zeros around the spatial dims only. Skipped when the padded value has another reader and for auto_pad. */
#include "opt/match.h"

sdx_status sdx_pass_pad_conv(Opt *o, Node *n, bool *changed)
{
    int64_t before[2 * SDX_MAX_RANK], axes[SDX_MAX_RANK], all[2 * SDX_MAX_RANK] = { 0 };
    const Node *pad = made_by(node_in(n, 0), "Pad");
    const Attr *mode = pad ? sdx_node_attr(pad, "mode") : NULL, *auto_pad = sdx_node_attr(n, "auto_pad");
    const Attr *pads = sdx_node_attr(n, "pads");
    if (!pad || !is_private(n->in[0]) || pad->graph != n->graph) return SDX_OK;
    if (mode && (mode->s.n != 8 || memcmp(mode->s.p, "constant", 8))) return SDX_OK;
    if (auto_pad && (auto_pad->s.n != 6 || memcmp(auto_pad->s.p, "NOTSET", 6))) return SDX_OK;
    if (node_in(pad, 2) && !sdx_const_is(pad->in[2], 0)) return SDX_OK;
    int rank = rank_of(pad->in[0]), n_axes = rank;
    int count = sdx_known_ints(node_in(pad, 1), before, 2 * SDX_MAX_RANK);
    if (rank < 3) return SDX_OK;
    for (int i = 0; i < rank; i++) axes[i] = i;
    if (node_in(pad, 3)) n_axes = sdx_known_ints(pad->in[3], axes, SDX_MAX_RANK);
    int spatial = rank - 2;
    if (n_axes < 0 || count != 2 * n_axes || (pads && pads->n != 2 * spatial)) return SDX_OK;
    for (int i = 0; i < 2 * spatial; i++) all[i] = pads ? pads->ints[i] : 0;
    for (int i = 0; i < n_axes; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i], lo = before[i], hi = before[n_axes + i];
        if (axis < 0 || axis >= rank || lo < 0 || hi < 0 || lo > INT32_MAX || hi > INT32_MAX) return SDX_OK;
        if (axis < 2 && (lo || hi)) return SDX_OK;
        if (axis < 2) continue;
        all[axis - 2] += lo;
        all[spatial + axis - 2] += hi;
    }
    char text[200];
    TRY(sdx_opt_note(o, "%s", sdx_node_text(pad, text, sizeof text)));
    *changed = true;
    bool set = sdx_node_set_ints(n, "pads", all, 2 * spatial);
    TRY_MEM(set, sdx_opt_err(o));
    TRY(sdx_opt_set_input(o, n, 0, pad->in[0]));
    return sdx_opt_finish(o, n);
}
