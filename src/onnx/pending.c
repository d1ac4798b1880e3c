/* Answers of what export.c and text_print.c will define; goes when they come. */
#include "onnx/onnx.h"

sdx_status sdx_onnx_export(const Model *m, const char *path, const ExportOptions *opt, Err *err)
{
    return sdx_fail(err, SDX_UNSUPPORTED, "this build does not write models");
}

sdx_status sdx_onnx_print(const Model *m, void (*write)(void *user, const char *text, size_t n), void *user, Err *err)
{
    return sdx_fail(err, SDX_UNSUPPORTED, "this build does not print models");
}
