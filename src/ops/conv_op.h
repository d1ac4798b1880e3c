/* ops/conv_op.h - what the forms of convolution share. */
#ifndef SDX_OPS_CONV_OP_H
#define SDX_OPS_CONV_OP_H

#include "ops/window.h"

typedef struct ConvAttrs {
    WindowAttrs win; /* first: the window's own table of attributes counts on it */
    int64_t group;
} ConvAttrs;

#define OP_CONV_ATTRS OP_WINDOW_ATTRS, OP_WINDOW_DILATIONS, OP_INT(ConvAttrs, group, 1)

/* Conv's shape rule; args begin with ConvAttrs. */
sdx_status sdx_conv_infer(Infer *c);
/* The same where X, W and B (-1: none) are other inputs. */
sdx_status sdx_conv_infer_at(Infer *c, int ix, int iw, int ib);

#endif
