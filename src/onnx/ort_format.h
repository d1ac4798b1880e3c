/* ONNX Runtime's own file format, as mobile users ship it. */
#ifndef SDX_ONNX_ORT_FORMAT_H
#define SDX_ONNX_ORT_FORMAT_H

#include "onnx/proto.h"

bool sdx_is_ort_format(const void *bytes, size_t n);
/* As sdx_proto_model. */
sdx_status sdx_ort_format_model(Proto *p, const void *bytes, size_t n, PModel *out, Err *err);

#endif
