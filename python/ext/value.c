/* Value: what flows in and out of sessions, and the memory behind arrays that runs return. */
#include <string.h>

#include "native.h"

PyTypeObject *sdx_py_Value;

PyObject *sdx_py_value_new(PyTypeObject *type, sdx_value *v)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    ValueObject *self = (ValueObject *)alloc(type, 0);
    if (!self) {
        sdx_value_release(v);
        return NULL;
    }
    self->value = v;
    return (PyObject *)self;
}

sdx_value *sdx_py_value_get(PyObject *obj)
{
    if (PyObject_TypeCheck(obj, sdx_py_Value)) return ((ValueObject *)obj)->value;
    PyErr_SetString(PyExc_TypeError, "an OrtValue is needed");
    return NULL;
}

static void value_dealloc(PyObject *obj)
{
    PyTypeObject *type = Py_TYPE(obj);
    sdx_value_release(((ValueObject *)obj)->value);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(obj);
    Py_DECREF(type);
}

/* -- making ---------------------------------------------------------------------------------------------------------- */

static int dims_from(PyObject *shape, int64_t *dims)
{
    PyObject *list = PySequence_List(shape);
    Py_ssize_t rank = list ? PyList_Size(list) : -1;
    if (rank > SDX_RANK_MAX) {
        PyErr_Format(PyExc_ValueError, "%zd dimensions: at most %d are possible", rank, SDX_RANK_MAX);
        rank = -1;
    }
    for (Py_ssize_t i = 0; i < rank; i++) {
        PyObject *n = PyNumber_Index(PyList_GetItem(list, i));
        dims[i] = n ? PyLong_AsLongLong(n) : -1;
        Py_XDECREF(n);
        if (PyErr_Occurred()) rank = -1;
    }
    Py_XDECREF(list);
    return (int)rank;
}

/* wrap(obj): shares the memory of arrays. */
static PyObject *value_wrap(PyObject *cls, PyObject *obj)
{
    sdx_value *v = sdx_py_to_value(obj, NULL);
    return v ? sdx_py_value_new((PyTypeObject *)cls, v) : NULL;
}

/* create(shape, onnx_type): zeros, or empty strings. */
static PyObject *value_create(PyObject *cls, PyObject *args)
{
    PyObject *shape;
    int dtype;
    int64_t dims[SDX_RANK_MAX];
    if (!PyArg_ParseTuple(args, "Oi", &shape, &dtype)) return NULL;
    int rank = dims_from(shape, dims);
    if (rank < 0) return NULL;
    sdx_value *v = NULL;
    sdx_error err = { 0 };
    if (sdx_tensor_create((sdx_dtype)dtype, dims, rank, &v, &err) != SDX_OK) return sdx_py_raise(&err, "", NULL);
    return sdx_py_value_new((PyTypeObject *)cls, v);
}

/* What the memory behind a pointer needs: nbits an element, rounded up to bytes. -1 with an exception. */
static long long shape_nbytes(const int64_t *dims, int rank, int dtype)
{
    unsigned long long n = (unsigned long long)sdx_dtype_nbits((sdx_dtype)dtype);
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0 || (dims[i] && n > (unsigned long long)INT64_MAX / 2 / (unsigned long long)dims[i])) {
            PyErr_SetString(PyExc_ValueError, "a size of the shape is negative or the product too large");
            return -1;
        }
        n *= (unsigned long long)dims[i];
    }
    return (long long)((n + 7) / 8);
}

static void owner_drop(void *user, void *data)
{
    (void)data;
    if (!Py_IsInitialized()) return;
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_DECREF((PyObject *)user);
    PyGILState_Release(gil);
}

/* over(address, shape, onnx_type, owner): memory that stays as long as owner does, or, when owner is None, as the
 * caller promises. */
static PyObject *value_over(PyObject *cls, PyObject *args)
{
    unsigned long long address;
    PyObject *shape, *owner;
    int dtype;
    int64_t dims[SDX_RANK_MAX];
    if (!PyArg_ParseTuple(args, "KOiO", &address, &shape, &dtype, &owner)) return NULL;
    int rank = dims_from(shape, dims);
    long long nbytes = rank < 0 ? -1 : shape_nbytes(dims, rank, dtype);
    if (nbytes < 0) return NULL;
    bool owned = owner != Py_None;
    sdx_value *v = NULL;
    sdx_error err = { 0 };
    void *data = nbytes ? (void *)(uintptr_t)address : NULL; /* callers pass any pointer when there are no elements */
    if (sdx_tensor_wrap((sdx_dtype)dtype, dims, rank, data, (size_t)nbytes, owned ? owner_drop : NULL,
                        owned ? Py_NewRef(owner) : NULL, &v, &err) != SDX_OK) {
        if (owned) Py_DECREF(owner);
        return sdx_py_raise(&err, "", NULL);
    }
    return sdx_py_value_new((PyTypeObject *)cls, v);
}

/* share(value): another object for the same content. */
static PyObject *value_share(PyObject *cls, PyObject *other)
{
    sdx_value *v = sdx_py_value_get(other);
    if (!v) return NULL;
    sdx_value_retain(v);
    return sdx_py_value_new((PyTypeObject *)cls, v);
}

static PyObject *value_from_dlpack(PyObject *cls, PyObject *obj)
{
    sdx_value *v = sdx_py_from_dlpack(obj);
    return v ? sdx_py_value_new((PyTypeObject *)cls, v) : NULL;
}

/* parse(bytes): a serialised TensorProto. */
static PyObject *value_parse(PyObject *cls, PyObject *args)
{
    const char *bytes;
    Py_ssize_t n;
    sdx_value *v = NULL;
    sdx_error err = { 0 };
    if (!PyArg_ParseTuple(args, "y#", &bytes, &n)) return NULL;
    if (sdx_value_parse(bytes, (size_t)n, NULL, &v, &err) != SDX_OK) return sdx_py_raise(&err, "", NULL);
    return sdx_py_value_new((PyTypeObject *)cls, v);
}

/* sparse(dense_shape, values, indices) */
static PyObject *value_sparse(PyObject *cls, PyObject *args)
{
    PyObject *shape, *values, *indices;
    int64_t dims[SDX_RANK_MAX];
    if (!PyArg_ParseTuple(args, "OOO", &shape, &values, &indices)) return NULL;
    int rank = dims_from(shape, dims);
    sdx_value *v = rank < 0 ? NULL : sdx_py_value_get(values), *i = v ? sdx_py_value_get(indices) : NULL, *out = NULL;
    sdx_error err = { 0 };
    if (!i) return NULL;
    if (sdx_sparse_create(dims, rank, v, i, &out, &err) != SDX_OK) return sdx_py_raise(&err, "", NULL);
    return sdx_py_value_new((PyTypeObject *)cls, out);
}

/* -- asking ---------------------------------------------------------------------------------------------------------- */

/* An array, list, dict or None; arrays share this value's memory. */
static PyObject *value_python(PyObject *self, PyObject *none)
{
    (void)none;
    sdx_value *v = ((ValueObject *)self)->value;
    sdx_value_retain(v);
    return sdx_py_from_value(v);
}

static PyObject *value_items(PyObject *self, PyObject *none)
{
    (void)none;
    sdx_value *seq = ((ValueObject *)self)->value;
    int64_t n = sdx_sequence_count(seq);
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (int64_t i = 0; list && i < n; i++) {
        sdx_value *item = NULL;
        sdx_error err = { 0 };
        PyObject *obj = NULL;
        if (sdx_sequence_get(seq, i, &item, &err) == SDX_OK)
            obj = sdx_py_value_new(sdx_py_Value, item);
        else
            sdx_py_raise(&err, "", NULL);
        if (!obj || PyList_SetItem(list, (Py_ssize_t)i, obj) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *dims_list(const sdx_value *v)
{
    int rank = sdx_value_rank(v);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < rank; i++) list = sdx_py_list_add(list, PyLong_FromLongLong(sdx_value_dims(v)[i]));
    return list;
}

/* (dense_shape, values, indices) of a sparse tensor */
static PyObject *value_sparse_parts(PyObject *self, PyObject *none)
{
    (void)none;
    sdx_value *v = ((ValueObject *)self)->value, *values = NULL, *indices = NULL;
    sdx_error err = { 0 };
    if (sdx_sparse_values(v, &values, &err) != SDX_OK || sdx_sparse_indices(v, &indices, &err) != SDX_OK) {
        sdx_value_release(values);
        return sdx_py_raise(&err, "", NULL);
    }
    PyObject *shape = dims_list(v);
    PyObject *a = sdx_py_from_value(values), *b = sdx_py_from_value(indices), *result = NULL;
    if (shape && a && b) result = PyTuple_Pack(3, shape, a, b);
    Py_XDECREF(shape);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return result;
}

static PyObject *value_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs; /* stream, max_version, dl_device, copy: nothing to choose on a CPU */
    return sdx_py_to_dlpack(((ValueObject *)self)->value);
}

static PyObject *value_dlpack_device(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return Py_BuildValue("(ii)", 1, 0); /* kDLCPU, 0 */
}

static PyObject *value_serialize(PyObject *self, PyObject *name)
{
    void *bytes;
    size_t n;
    sdx_error err = { 0 };
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text) return NULL;
    if (sdx_value_serialize(((ValueObject *)self)->value, text, &bytes, &n, &err) != SDX_OK)
        return sdx_py_raise(&err, "", NULL);
    PyObject *result = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)n);
    sdx_bytes_free(bytes);
    return result;
}

static PyObject *value_kind(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(sdx_value_kind(((ValueObject *)self)->value));
}

static PyObject *value_dtype(PyObject *self, void *closure)
{
    (void)closure;
    const sdx_value *v = ((ValueObject *)self)->value;
    return PyLong_FromLong(sdx_value_kind(v) == SDX_SEQUENCE ? sdx_sequence_dtype(v) : sdx_value_dtype(v));
}

static PyObject *value_dims(PyObject *self, void *closure)
{
    (void)closure;
    return dims_list(((ValueObject *)self)->value);
}

static PyObject *value_address(PyObject *self, void *closure)
{
    (void)closure;
    const sdx_value *v = ((ValueObject *)self)->value;
    return PyLong_FromVoidPtr(sdx_value_nbytes(v) ? sdx_value_data(v) : NULL);
}

static PyObject *value_nbytes(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromSize_t(sdx_value_nbytes(((ValueObject *)self)->value));
}

/* -- the buffer that arrays are laid over ----------------------------------------------------------------------------- */

static const char *dtype_format(sdx_dtype d)
{
    static const char *const formats[SDX_DTYPES] = {
        [SDX_FLOAT] = "f",  [SDX_UINT8] = "B",  [SDX_INT8] = "b",       [SDX_UINT16] = "H",      [SDX_INT16] = "h",
        [SDX_INT32] = "i",  [SDX_INT64] = "q",  [SDX_BOOL] = "?",       [SDX_FLOAT16] = "e",     [SDX_DOUBLE] = "d",
        [SDX_UINT32] = "I", [SDX_UINT64] = "Q", [SDX_COMPLEX64] = "Zf", [SDX_COMPLEX128] = "Zd",
    };
    return (unsigned)d < SDX_DTYPES ? formats[d] : NULL;
}

/* Shape, strides and format for those who ask; view holds plain bytes already. */
static int view_shape(Py_buffer *view, const sdx_value *v)
{
    int rank = sdx_value_rank(v);
    const char *format = dtype_format(sdx_value_dtype(v));
    Py_ssize_t *sizes = format ? malloc(2 * (size_t)rank * sizeof *sizes + 1) : NULL;
    if (!sizes) {
        if (!format) PyErr_SetString(PyExc_BufferError, "elements of this type have no buffer format");
        if (format) PyErr_NoMemory();
        PyBuffer_Release(view);
        return -1;
    }
    view->itemsize = sdx_dtype_nbits(sdx_value_dtype(v)) / 8;
    Py_ssize_t stride = view->itemsize;
    for (int i = rank - 1; i >= 0; i--) {
        sizes[i] = (Py_ssize_t)sdx_value_dims(v)[i];
        sizes[rank + i] = stride;
        stride *= sizes[i];
    }
    view->format = (char *)(uintptr_t)format;
    view->ndim = rank;
    view->shape = sizes;
    view->strides = sizes + rank;
    view->internal = sizes;
    return 0;
}

/* Plain bytes for who asks for no format: numpy.ndarray(shape, dtype, buffer) does not. Writable. */
static int value_getbuffer(PyObject *obj, Py_buffer *view, int flags)
{
    ValueObject *self = (ValueObject *)obj;
    static char nothing[8];
    size_t n = sdx_value_nbytes(self->value);
    void *data = sdx_value_data(self->value);
    if (!data && n == 0 && sdx_value_dtype(self->value) != SDX_STRING) data = nothing;
    if (!data) {
        PyErr_SetString(PyExc_BufferError, "only tensors of numbers have a buffer");
        return -1;
    }
    if (PyBuffer_FillInfo(view, obj, data, (Py_ssize_t)n, 0, flags) < 0) return -1;
    view->internal = NULL;
    return flags & PyBUF_FORMAT ? view_shape(view, self->value) : 0;
}

static void value_releasebuffer(PyObject *obj, Py_buffer *view)
{
    (void)obj;
    free(view->internal);
}

static bool dtype_is_plain(const sdx_value *v)
{
    return sdx_value_kind(v) == SDX_TENSOR && sdx_value_dtype(v) != SDX_STRING;
}

/* assign(value): copies the elements of a tensor of the same type and size */
static PyObject *value_assign(PyObject *self, PyObject *other)
{
    sdx_value *to = ((ValueObject *)self)->value, *from = sdx_py_value_get(other);
    if (!from) return NULL;
    size_t n = sdx_value_nbytes(to);
    if (sdx_value_dtype(to) != sdx_value_dtype(from) || sdx_value_nbytes(from) != n || !dtype_is_plain(to)) {
        PyErr_SetString(PyExc_RuntimeError, "the tensors differ in type or size, or are none of numbers");
        return NULL;
    }
    if (n) memmove(sdx_value_data(to), sdx_value_data(from), n);
    Py_RETURN_NONE;
}

static PyMethodDef value_methods[] = {
    { "wrap", value_wrap, METH_O | METH_CLASS, NULL },
    { "create", value_create, METH_VARARGS | METH_CLASS, NULL },
    { "over", value_over, METH_VARARGS | METH_CLASS, NULL },
    { "share", value_share, METH_O | METH_CLASS, NULL },
    { "sparse", value_sparse, METH_VARARGS | METH_CLASS, NULL },
    { "parse", value_parse, METH_VARARGS | METH_CLASS, NULL },
    { "_from_dlpack", value_from_dlpack, METH_O | METH_CLASS, NULL },
    { "python", value_python, METH_NOARGS, NULL },
    { "items", value_items, METH_NOARGS, NULL },
    { "sparse_parts", value_sparse_parts, METH_NOARGS, NULL },
    { "assign", value_assign, METH_O, NULL },
    { "serialize", value_serialize, METH_O, NULL },
    { "__dlpack__", (PyCFunction)(void (*)(void))value_dlpack, METH_VARARGS | METH_KEYWORDS, NULL },
    { "__dlpack_device__", value_dlpack_device, METH_NOARGS, NULL },
    { NULL },
};

static PyGetSetDef value_getset[] = {
    { "kind", value_kind, NULL, "0 nothing, 1 tensor, 2 sequence, 3 map, 4 sparse tensor", NULL },
    { "dtype_code", value_dtype, NULL, "ONNX's number of the element type", NULL },
    { "dims", value_dims, NULL, NULL, NULL },
    { "address", value_address, NULL, NULL, NULL },
    { "nbytes", value_nbytes, NULL, NULL, NULL },
    { NULL },
};

static PyType_Slot value_slots[] = {
    { Py_tp_dealloc, value_dealloc },
    { Py_tp_methods, value_methods },
    { Py_tp_getset, value_getset },
    { Py_bf_getbuffer, value_getbuffer },
    { Py_bf_releasebuffer, value_releasebuffer },
    { Py_tp_doc, "A tensor, sequence, map, sparse tensor or nothing." },
    { 0, NULL },
};

static PyType_Spec value_spec = {
    .name = "sardonyx._native.Value",
    .basicsize = sizeof(ValueObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = value_slots,
};

int sdx_py_value_init(PyObject *module)
{
    sdx_py_Value = (PyTypeObject *)PyType_FromSpec(&value_spec);
    return sdx_py_Value ? PyModule_AddObjectRef(module, "Value", (PyObject *)sdx_py_Value) : -1;
}
