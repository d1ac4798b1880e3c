/* The doors of the reader. */
#include "onnx/onnx.h"

#include <string.h>

#include "onnx/import.h"
#include "onnx/ort_format.h"

/* Files that are often given by mistake. */
static const char *other_format(const char *p, size_t n)
{
    static const struct {
        size_t at;
        const char *bytes, *text;
    } known[] = {
        { 0, "version https://git-lfs", "this is a Git LFS pointer; fetch the model itself with `git lfs pull`" },
        { 4, "TFL3", "this is a TensorFlow Lite model, not ONNX" },
        { 0, "PK\3\4", "this is a zip archive (a PyTorch checkpoint?), not an ONNX model" },
        { 0, "<!DOCTYPE", "this is a web page, not an ONNX model" },
        { 0, "<html", "this is a web page, not an ONNX model" },
        { 1, "HDF\r\n", "this is an HDF5 file, not an ONNX model" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t len = strlen(known[i].bytes);
        if (n >= known[i].at + len && memcmp(p + known[i].at, known[i].bytes, len) == 0) return known[i].text;
    }
    return n ? NULL : "it is empty";
}

/* Bytes that are no ONNX model may be another format, or something known; that comes last, as any bytes may begin a
 * model. */
static sdx_status read_proto(Proto *p, const Buf *bytes, PModel *proto, Err *err)
{
    Err own = { 0 };
    sdx_status status = sdx_proto_model(p, bytes->data, bytes->nbytes, proto, &own);
    if (status == SDX_OK && !proto->graph)
        status = sdx_fail(&own, SDX_INVALID_MODEL, "it has no graph: this is not an ONNX model");
    if (status == SDX_OK) return SDX_OK;
    if (status == SDX_INVALID_MODEL && sdx_is_ort_format(bytes->data, bytes->nbytes)) {
        *proto = (PModel){ .graph = NULL };
        return sdx_ort_format_model(p, bytes->data, bytes->nbytes, proto, err);
    }
    const char *other = status == SDX_INVALID_MODEL ? other_format(bytes->data, bytes->nbytes) : NULL;
    return sdx_fail(err, status, "%s", other ? other : own.text);
}

static sdx_status read_bytes(Model *m, Arena *scratch, const Buf *bytes, const ImportOptions *opt, Err *err)
{
    Proto p = { .scratch = scratch, .kept = &m->arena, .max_nodes = opt ? opt->max_nodes : 0 };
    PModel proto = { 0 };
    TRY(read_proto(&p, bytes, &proto, err));
    if (opt && opt->parsed) *opt->parsed = true;
    return sdx_import_model(m, scratch, &proto, opt, err);
}

sdx_status sdx_onnx_import(const Alloc *a, Source *src, const ImportOptions *opt, Model **out, Err *err)
{
    Buf *bytes;
    Model *m;
    Arena scratch;
    size_t limit = opt ? opt->max_bytes : 0;
    *out = NULL;
    TRY(sdx_source_bytes(src, 0, src->size, opt ? opt->load : LOAD_MAP, &bytes, err));
    sdx_status status = sdx_model_create(a, limit, &m, err);
    if (status != SDX_OK) {
        sdx_buf_release(bytes);
        return status;
    }
    sdx_arena_init(&scratch, a, limit);
    status = sdx_model_own(m, bytes, err);
    if (status == SDX_OK) status = read_bytes(m, &scratch, bytes, opt, err);
    sdx_arena_fini(&scratch);
    if (status == SDX_OK)
        *out = m;
    else
        sdx_model_destroy(m);
    return status;
}

static bool ends_with(const char *s, const char *tail)
{
    size_t n = strlen(s), k = strlen(tail);
    return n >= k && strcmp(s + n - k, tail) == 0;
}

static sdx_status import_text_file(const Alloc *a, Source *src, const ImportOptions *opt, Model **out, Err *err)
{
    Buf *bytes;
    TRY(sdx_source_bytes(src, 0, src->size, LOAD_MAP, &bytes, err));
    sdx_status status = sdx_onnx_import_text(a, bytes->data, bytes->nbytes, opt, out, err);
    sdx_buf_release(bytes);
    return status;
}

sdx_status sdx_onnx_import_path(const Alloc *a, const char *path, const ImportOptions *opt, Model **out, Err *err)
{
    ImportOptions o = opt ? *opt : (ImportOptions){ 0 };
    char dir[SDX_PATH_MAX], real[SDX_PATH_MAX];
    Source src;
    *out = NULL;
    TRY(sdx_source_path(&src, a, path, err));
    if (sdx_path_dir(path, dir)) o.dir = dir;
    if (sdx_path_real_dir(path, real)) o.real_dir = real;
    sdx_status status = ends_with(path, ".onnxtxt") ? import_text_file(a, &src, &o, out, err)
                                                    : sdx_onnx_import(a, &src, &o, out, err);
    sdx_source_fini(&src);
    if (status != SDX_OK) sdx_err_prefix(err, "%s", path);
    return status;
}
