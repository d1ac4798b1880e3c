#include "ops/conv_plan.h"

/* Row-major steps of [N, d, h, w, C], or of [N, C, d, h, w]. */
static ConvStrides strides_of(const size_t *size, size_t channels, bool first)
{
    size_t plane = size[0] * size[1] * size[2], c = first ? 1 : channels;
    return (ConvStrides){
        .n = plane * channels, .d = size[1] * size[2] * c, .h = size[2] * c, .w = c, .c = first ? plane : 1
    };
}

void sdx_conv_geometry(const ConvAttrs *a, bool x_first, const Tensor *x, const Tensor *w, ConvGeometry *g)
{
    int n = x->rank - 2;
    const int64_t *spatial = x->dims + (x_first ? 2 : 1);
    Window win;
    ConvPlan *q = &g->plan;
    size_t in[3], out[3];
    sdx_window_make(&win, &a->win, n, spatial, w->dims + 2);
    q->batch = (size_t)x->dims[0];
    q->groups = (size_t)a->group;
    q->c_in = (size_t)x->dims[x_first ? 1 : n + 1];
    q->c_out = (size_t)w->dims[0];
    g->taps = 1;
    g->out_rank = x->rank;
    g->out_dims[0] = x->dims[0];
    g->out_dims[n + 1] = w->dims[0];
    for (int k = 0; k < 3; k++) {
        const WinAxis *ax = k < 3 - n ? NULL : &win.ax[k - (3 - n)];
        q->dim[k] = SDX_CONV_NO_DIM;
        if (ax) {
            q->dim[k] = (ConvDim){ (size_t)ax->in,     (size_t)ax->out,      (size_t)ax->kernel,
                                   (size_t)ax->stride, (size_t)ax->dilation, (ptrdiff_t)ax->pad0 };
            g->out_dims[1 + k - (3 - n)] = ax->out;
        }
        in[k] = q->dim[k].in;
        out[k] = q->dim[k].out;
        g->taps *= q->dim[k].kernel;
    }
    q->x = strides_of(in, q->c_in, x_first);
    q->y = strides_of(out, q->c_out, false);
}
