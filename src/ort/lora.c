/* LoRA adapters: named tensors in a file, fed to runs beside the caller's inputs. The file is a FlatBuffer with the
 * identifier "TORT": Adapter { format, adapter and model version, parameters }, Parameter { name, dims, type, bytes }. */
#include "onnx/flat.h"
#include "ort/entries.h"

struct OrtLoraAdapter {
    Arena arena;
    const char **names;
    OrtValue *values;
    size_t n;
};

static OrtStatus *no_adapter(const char *what)
{
    return sdx_ort_fail(ORT_FAIL, "The buffer does not appear to be a valid lora parameter format: %s", what);
}

static OrtStatus *parameter(OrtLoraAdapter *a, FlatTable p)
{
    Str name = flat_str(p, 0), bytes = flat_bytes(flat_vec(p, 3, 1));
    FlatVec dims = flat_vec(p, 1, sizeof(int64_t));
    int type = flat_i32(p, 2, 0);
    Tensor t = { .dtype = sdx_dtype_is_valid(type) ? (DType)type : DT_NONE, .rank = (int32_t)dims.n };
    size_t need;
    Err err = { 0 };
    if (p.f->bad || dims.n > SDX_MAX_RANK) return no_adapter("a parameter is damaged");
    if (t.dtype == DT_NONE || t.dtype == DT_STRING) return no_adapter("a parameter has no type of numbers");
    if (dims.n) memcpy(t.dims, p.f->p + dims.at, dims.n * sizeof *t.dims);
    if (!sdx_tensor_nbytes(&t, &need) || need != bytes.n)
        return no_adapter("a parameter's bytes are not what its shape needs");
    Datum *d = &a->values[a->n].d;
    sdx_status code = sdx_datum_tensor(d, &sdx_alloc_default, t.dtype, t.rank, t.dims, &err);
    if (code != SDX_OK) return sdx_ort_status(code, &err);
    if (need) memcpy(d->t.data, bytes.p, need);
    a->names[a->n] = sdx_arena_strndup(&a->arena, name.p, name.n);
    return a->names[a->n++] ? NULL : sdx_ort_no_memory();
}

/* The bytes are not needed after it. */
OrtStatus *sdx_ort_CreateLoraAdapterFromArray(const void *bytes, size_t nbytes, OrtAllocator *allocator,
                                              OrtLoraAdapter **out)
{
    enum { FORMAT = 1 };
    (void)allocator; /* for a device's memory; may be NULL */
    if (!bytes || !out) return sdx_ort_null("bytes or out");
    Flat f = { .p = bytes, .n = nbytes };
    if (nbytes < 8 || memcmp(f.p + 4, "TORT", 4) != 0) return no_adapter("it does not begin as one");
    FlatTable root = flat_root(&f);
    FlatVec list = flat_vec(root, 3, sizeof(uint32_t));
    int format = flat_i32(root, 0, 0);
    if (f.bad) return no_adapter("it is damaged");
    if (format != FORMAT) return no_adapter("its version is not known");
    OrtLoraAdapter *a = sdx_alloc_zero(&sdx_alloc_default, sizeof *a);
    if (!a) return sdx_ort_no_memory();
    sdx_arena_init(&a->arena, &sdx_alloc_default, 0);
    a->names = sdx_arena_array(&a->arena, const char *, list.n + 1);
    a->values = sdx_arena_array(&a->arena, OrtValue, list.n + 1);
    OrtStatus *st = a->names && a->values ? NULL : sdx_ort_no_memory();
    for (size_t i = 0; !st && i < list.n; i++) st = parameter(a, flat_table_of(list, i));
    if (st)
        sdx_ort_ReleaseLoraAdapter(a);
    else
        *out = a;
    return st;
}

OrtStatus *sdx_ort_CreateLoraAdapter(const char *path, OrtAllocator *allocator, OrtLoraAdapter **out)
{
    Source src;
    Buf *bytes = NULL;
    Err err = { 0 };
    if (!path || !out) return sdx_ort_null("path or out");
    sdx_status code = sdx_source_path(&src, &sdx_alloc_default, path, &err);
    if (code != SDX_OK) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "%s", err.text);
    code = sdx_source_bytes(&src, 0, src.size, LOAD_MAP, &bytes, &err);
    sdx_source_fini(&src);
    if (code != SDX_OK) return sdx_ort_status(code, &err);
    OrtStatus *st = sdx_ort_CreateLoraAdapterFromArray(bytes->data, bytes->nbytes, allocator, out);
    sdx_buf_release(bytes);
    return st;
}

void sdx_ort_ReleaseLoraAdapter(OrtLoraAdapter *a)
{
    if (!a) return;
    for (size_t i = 0; i < a->n; i++) sdx_datum_clear(&a->values[i].d);
    sdx_arena_fini(&a->arena);
    sdx_free(&sdx_alloc_default, a);
}

/* The adapter must outlive the runs. */
OrtStatus *sdx_ort_RunOptionsAddActiveLoraAdapter(OrtRunOptions *o, const OrtLoraAdapter *a)
{
    if (!o || !a) return sdx_ort_null("the run options or adapter");
    if (!sdx_arena_grow(&o->arena, o->adapters, o->n_adapters, o->cap_adapters)) return sdx_ort_no_memory();
    o->adapters[o->n_adapters++] = a;
    return NULL;
}

size_t sdx_ort_lora_count(const OrtRunOptions *o)
{
    size_t n = 0;
    for (int i = 0; i < o->n_adapters; i++) n += o->adapters[i]->n;
    return n;
}

void sdx_ort_lora_fill(const OrtRunOptions *o, const char **names, const OrtValue **values)
{
    for (int i = 0; i < o->n_adapters; i++)
        for (size_t k = 0; k < o->adapters[i]->n; k++) {
            *names++ = o->adapters[i]->names[k];
            *values++ = &o->adapters[i]->values[k];
        }
}
