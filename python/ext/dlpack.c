/* DLPack, version 0 of its ABI: the exchange of tensors in memory between libraries.
 *
 * A capsule named "dltensor" holds a managed tensor; who takes it renames the capsule to "used_dltensor" and calls the
 * tensor's deleter in the end. The structs below are the protocol. */
#include "native.h"

typedef struct DlTensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t rank;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DlTensor;

typedef struct DlManaged {
    DlTensor tensor;
    void *context;
    void (*deleter)(struct DlManaged *self);
} DlManaged;

enum { DL_CPU = 1, DL_CUDA_HOST = 3 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6 };

static const struct {
    sdx_dtype dtype;
    uint8_t code, bits;
} dl_types[] = {
    { SDX_FLOAT, DL_FLOAT, 32 },     { SDX_DOUBLE, DL_FLOAT, 64 },      { SDX_FLOAT16, DL_FLOAT, 16 },
    { SDX_INT8, DL_INT, 8 },         { SDX_INT16, DL_INT, 16 },         { SDX_INT32, DL_INT, 32 },
    { SDX_INT64, DL_INT, 64 },       { SDX_UINT8, DL_UINT, 8 },         { SDX_UINT16, DL_UINT, 16 },
    { SDX_UINT32, DL_UINT, 32 },     { SDX_UINT64, DL_UINT, 64 },       { SDX_BOOL, DL_BOOL, 8 },
    { SDX_BFLOAT16, DL_BFLOAT, 16 }, { SDX_COMPLEX64, DL_COMPLEX, 64 }, { SDX_COMPLEX128, DL_COMPLEX, 128 },
};

/* -- in --------------------------------------------------------------------------------------------------------------- */

static sdx_dtype dl_dtype(const DlTensor *t)
{
    for (size_t i = 0; i < sizeof dl_types / sizeof *dl_types && t->dtype.lanes == 1; i++)
        if (dl_types[i].code == t->dtype.code && dl_types[i].bits == t->dtype.bits) return dl_types[i].dtype;
    return SDX_UNDEFINED;
}

/* Row-major without gaps; *count elements. */
static bool dl_contiguous(const DlTensor *t, int64_t *count)
{
    int64_t n = 1;
    bool packed = true;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->shape[i] < 0 || (t->shape[i] && n > INT64_MAX / 16 / t->shape[i])) return false;
        packed &= !t->strides || t->shape[i] <= 1 || t->strides[i] == n;
        n *= t->shape[i];
    }
    *count = n;
    return packed || n == 0;
}

static void managed_drop(void *user, void *data)
{
    (void)data;
    DlManaged *m = user;
    if (!m->deleter || !Py_IsInitialized()) return;
    PyGILState_STATE gil = PyGILState_Ensure(); /* owners may be Python objects */
    m->deleter(m);
    PyGILState_Release(gil);
}

static sdx_value *managed_value(DlManaged *m)
{
    const DlTensor *t = &m->tensor;
    sdx_value *v = NULL;
    sdx_error err = { 0 };
    int64_t count = 0;
    sdx_dtype d = dl_dtype(t);
    if (t->device.type != DL_CPU && t->device.type != DL_CUDA_HOST)
        PyErr_Format(PyExc_BufferError, "a tensor on DLPack device type %d: only memory of the CPU can be used",
                     (int)t->device.type);
    else if (d == SDX_UNDEFINED)
        PyErr_Format(PyExc_BufferError, "DLPack type code %d of %d bits has no counterpart in ONNX", t->dtype.code,
                     t->dtype.bits);
    else if (!dl_contiguous(t, &count))
        PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous");
    else if (sdx_tensor_wrap(d, t->shape, t->rank, (char *)t->data + t->byte_offset,
                             (size_t)count * (size_t)sdx_dtype_nbits(d) / 8, managed_drop, m, &v, &err) != SDX_OK)
        sdx_py_raise(&err, "", NULL);
    return v;
}

sdx_value *sdx_py_from_dlpack(PyObject *obj)
{
    PyObject *capsule = PyCapsule_IsValid(obj, "dltensor") ? Py_NewRef(obj)
                                                           : PyObject_CallMethod(obj, "__dlpack__", NULL);
    DlManaged *m = capsule ? PyCapsule_GetPointer(capsule, "dltensor") : NULL;
    sdx_value *v = m ? managed_value(m) : NULL;
    if (v) PyCapsule_SetName(capsule, "used_dltensor");
    Py_XDECREF(capsule);
    return v;
}

/* -- out -------------------------------------------------------------------------------------------------------------- */

/* A managed tensor and the arrays it points to, in one block. */
typedef struct DlShared {
    DlManaged managed;
    sdx_value *value;
    int64_t sizes[]; /* shape, then strides */
} DlShared;

static void shared_delete(DlManaged *m)
{
    DlShared *s = (DlShared *)m;
    sdx_value_release(s->value);
    free(s);
}

/* Of a capsule that nobody took. */
static void capsule_free(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;
    DlManaged *m = PyCapsule_GetPointer(capsule, "dltensor");
    m->deleter(m);
}

PyObject *sdx_py_to_dlpack(sdx_value *v)
{
    size_t row = 0, rows = sizeof dl_types / sizeof *dl_types;
    while (row < rows && dl_types[row].dtype != sdx_value_dtype(v)) row++;
    if (sdx_value_kind(v) != SDX_TENSOR || row == rows) {
        PyErr_SetString(PyExc_BufferError, "only tensors of NumPy's number types and bfloat16 go through DLPack");
        return NULL;
    }
    int rank = sdx_value_rank(v);
    DlShared *s = calloc(1, sizeof *s + 2 * (size_t)rank * sizeof *s->sizes);
    if (!s) return PyErr_NoMemory();
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        s->sizes[i] = sdx_value_dims(v)[i];
        s->sizes[rank + i] = stride;
        stride *= s->sizes[i];
    }
    DlTensor *t = &s->managed.tensor;
    t->data = sdx_value_data(v);
    t->device.type = DL_CPU;
    t->rank = rank;
    t->dtype.code = dl_types[row].code;
    t->dtype.bits = dl_types[row].bits;
    t->dtype.lanes = 1;
    t->shape = s->sizes;
    t->strides = s->sizes + rank;
    s->managed.deleter = shared_delete;
    sdx_value_retain(v);
    s->value = v;
    PyObject *capsule = PyCapsule_New(&s->managed, "dltensor", capsule_free);
    if (!capsule) shared_delete(&s->managed);
    return capsule;
}
