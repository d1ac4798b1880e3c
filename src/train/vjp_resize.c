/* Resize is linear in x, axis by axis: y = w x along each, where the columns of w are what Resize makes of the unit vectors.
 * So dx = w' dy along each axis. */
#include "train/vjp.h"

/* [sizes of y, sizes of x] for the k-th of the resized axes, `axis` of x. */
static Value *resize_weights(Vjp *g, int k, int axis)
{
    Attr attrs[8], *end = attrs;
    static const int64_t first[] = { 0 };
    static const char *const kept[] = { "antialias",     "coordinate_transformation_mode",
                                        "cubic_coeff_a", "exclude_outside",
                                        "mode",          "nearest_mode" };
    Value *x = in(g, 0), *size = sdx_vjp_shape(g, x, axis, axis + 1);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const Attr *a = sdx_node_attr(g->n, kept[i]);
        if (a) *end++ = *a;
    }
    *end++ = VJP_INTS("axes", first, 1);
    Value *square = sdx_vjp_fill(g, 0, x->type.elem, sdx_vjp_concat(g, (Value *[]){ size, size }, 2, 0));
    Value *list[] = { apply(g, "EyeLike", square), NULL, NULL, NULL };
    Value *from = sdx_vjp_list(g, (int64_t[]){ k }, 1), *to = sdx_vjp_list(g, (int64_t[]){ k + 1 }, 1);
    int given = in(g, 3) ? 3 : 2;
    list[given] = sdx_vjp_op(g, "Slice", in(g, given), from, to);
    return sdx_vjp_with(g, "Resize", list, given + 1, attrs, (int)(end - attrs));
}

/* Does Resize leave the k-th of its axes as it is? */
static bool is_kept(Vjp *g, int k, int axis)
{
    const Value *x = in(g, 0), *y = out(g), *scales = in(g, 2);
    if (!y || size_of(x, axis) < 0 || size_of(x, axis) != size_of(y, axis)) return false;
    if (sdx_vjp_word(g, "coordinate_transformation_mode", "tf_half_pixel_for_nn")) return false;
    if (in(g, 3)) return true;
    return sdx_value_is_const(scales) && k < sdx_tensor_count(scales->constant) &&
           sdx_tensor_get_double(scales->constant, k) == 1;
}

/* v times w along one axis, which goes last for it. */
static Value *along(Vjp *g, Value *v, Value *w, int axis, int rank)
{
    int64_t perm[SDX_MAX_RANK];
    for (int i = 0; i < rank; i++) perm[i] = i;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    Attr swap = VJP_INTS("perm", perm, rank);
    if (axis < rank - 1) v = sdx_vjp_with(g, "Transpose", &v, 1, &swap, 1);
    v = sdx_vjp_op(g, "MatMul", v, w, NULL);
    return axis < rank - 1 ? sdx_vjp_with(g, "Transpose", &v, 1, &swap, 1) : v;
}

void sdx_back_resize(Vjp *g)
{
    Value *x = in(g, 0), *y = out(g), *d = dy(g, 0);
    int rank = sdx_vjp_rank(g, x);
    const Attr *axes = sdx_node_attr(g->n, "axes"), *policy = sdx_node_attr(g->n, "keep_aspect_ratio_policy");
    if (policy && !sdx_vjp_word(g, "keep_aspect_ratio_policy", "stretch"))
        sdx_vjp_fail(g, "its gradient is not known with keep_aspect_ratio_policy");
    if (sdx_vjp_word(g, "coordinate_transformation_mode", "tf_crop_and_resize"))
        sdx_vjp_fail(g, "its gradient is not known for tf_crop_and_resize");
    int n = axes ? (int)axes->n : rank;
    for (int k = 0; k < n && y; k++) {
        int axis = axes ? sdx_vjp_axis(g, axes->ints[k], rank) : k;
        if (is_kept(g, k, axis)) continue;
        d = along(g, d, resize_weights(g, k, axis), axis, rank);
    }
    sdx_vjp_give(g, 0, d);
}
