/* Python objects to values, and back. */
#include <string.h>

#include "native.h"

/* -- element types --------------------------------------------------------------------------------------------------- */

/* What NumPy and ml_dtypes call each element type, and the NumPy type of the same size that stands in without
 * ml_dtypes. */
static const struct DtypeRow {
    const char *name, *storage;
} dtype_rows[SDX_DTYPES] = {
    [SDX_FLOAT] = { "float32", NULL },
    [SDX_UINT8] = { "uint8", NULL },
    [SDX_INT8] = { "int8", NULL },
    [SDX_UINT16] = { "uint16", NULL },
    [SDX_INT16] = { "int16", NULL },
    [SDX_INT32] = { "int32", NULL },
    [SDX_INT64] = { "int64", NULL },
    [SDX_STRING] = { "object", NULL },
    [SDX_BOOL] = { "bool", NULL },
    [SDX_FLOAT16] = { "float16", NULL },
    [SDX_DOUBLE] = { "float64", NULL },
    [SDX_UINT32] = { "uint32", NULL },
    [SDX_UINT64] = { "uint64", NULL },
    [SDX_COMPLEX64] = { "complex64", NULL },
    [SDX_COMPLEX128] = { "complex128", NULL },
    [SDX_BFLOAT16] = { "bfloat16", "uint16" },
    [SDX_FLOAT8E4M3FN] = { "float8_e4m3fn", "uint8" },
    [SDX_FLOAT8E4M3FNUZ] = { "float8_e4m3fnuz", "uint8" },
    [SDX_FLOAT8E5M2] = { "float8_e5m2", "uint8" },
    [SDX_FLOAT8E5M2FNUZ] = { "float8_e5m2fnuz", "uint8" },
    [SDX_UINT4] = { "uint4", "uint8" },
    [SDX_INT4] = { "int4", "int8" },
    [SDX_FLOAT4E2M1] = { "float4_e2m1fn", "uint8" },
    [SDX_FLOAT8E8M0] = { "float8_e8m0fnu", "uint8" },
    [SDX_UINT2] = { "uint2", "uint8" },
    [SDX_INT2] = { "int2", "int8" },
    [SDX_FLOAT6E2M3] = { "float6_e2m3fn", "uint8" },
    [SDX_FLOAT6E3M2] = { "float6_e3m2fn", "uint8" },
};

static struct Numpy {
    PyObject *module, *ndarray;
    PyObject *dtypes[SDX_DTYPES]; /* NULL until asked for */
} numpy;

PyObject *sdx_py_ndarray(void)
{
    if (numpy.ndarray) return numpy.ndarray;
    PyObject *module = PyImport_ImportModule("numpy");
    if (!module) return NULL;
    PyObject *ndarray = PyObject_GetAttrString(module, "ndarray");
    if (!ndarray) {
        Py_DECREF(module);
        return NULL;
    }
    numpy.module = module;
    return numpy.ndarray = ndarray;
}

/* numpy.<function>(args...), args as for Py_BuildValue. */
static PyObject *numpy_call(const char *function, const char *format, ...)
{
    if (!sdx_py_ndarray()) return NULL;
    va_list ap;
    va_start(ap, format);
    PyObject *args = Py_VaBuildValue(format, ap);
    va_end(ap);
    PyObject *f = args ? PyObject_GetAttrString(numpy.module, function) : NULL;
    PyObject *result = f ? PyObject_CallObject(f, args) : NULL;
    Py_XDECREF(f);
    Py_XDECREF(args);
    return result;
}

static PyObject *dtype_from_ml(const char *name)
{
    PyObject *ml = PyImport_ImportModule("ml_dtypes");
    PyObject *type = ml ? PyObject_GetAttrString(ml, name) : NULL;
    PyObject *dtype = type ? numpy_call("dtype", "(O)", type) : NULL;
    Py_XDECREF(type);
    Py_XDECREF(ml);
    return dtype;
}

PyObject *sdx_py_dtype(sdx_dtype d)
{
    if ((unsigned)d >= SDX_DTYPES || !dtype_rows[d].name) {
        PyErr_Format(PyExc_TypeError, "element type %d does not exist", (int)d);
        return NULL;
    }
    if (numpy.dtypes[d]) return numpy.dtypes[d];
    PyObject *dtype = dtype_rows[d].storage ? dtype_from_ml(dtype_rows[d].name) : NULL;
    if (!dtype) {
        PyErr_Clear();
        dtype = numpy_call("dtype", "(s)", dtype_rows[d].storage ? dtype_rows[d].storage : dtype_rows[d].name);
    }
    return numpy.dtypes[d] = dtype;
}

static sdx_dtype dtype_named(PyObject *name)
{
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    for (int d = 0; text && d < SDX_DTYPES; d++)
        if (dtype_rows[d].name && strcmp(dtype_rows[d].name, text) == 0) return (sdx_dtype)d;
    if (text && (strncmp(text, "str", 3) == 0 || strncmp(text, "bytes", 5) == 0)) return SDX_STRING;
    return SDX_UNDEFINED;
}

sdx_dtype sdx_py_dtype_of(PyObject *obj)
{
    PyObject *dtype = numpy_call("dtype", "(O)", obj);
    PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
    sdx_dtype d = dtype_named(name);
    Py_XDECREF(name);
    Py_XDECREF(dtype);
    PyErr_Clear();
    return d;
}

/* The element type of a buffer's format, native byte order; SDX_UNDEFINED for others. */
static sdx_dtype format_dtype(const char *f, Py_ssize_t itemsize)
{
    static const sdx_dtype ints[] = { [1] = SDX_INT8, [2] = SDX_INT16, [4] = SDX_INT32, [8] = SDX_INT64 };
    static const sdx_dtype uints[] = { [1] = SDX_UINT8, [2] = SDX_UINT16, [4] = SDX_UINT32, [8] = SDX_UINT64 };
    if (!f) return SDX_UINT8;
    const int one = 1;
    bool little = *(const char *)&one;
    if (*f == '@' || *f == '=' || *f == (little ? '<' : '>')) f++;
    if (f[0] == 'Z' && f[1] && !f[2]) return f[1] == 'f' ? SDX_COMPLEX64 : f[1] == 'd' ? SDX_COMPLEX128 : SDX_UNDEFINED;
    if (!f[0] || f[1]) return SDX_UNDEFINED;
    switch (f[0]) {
    case '?': return SDX_BOOL;
    case 'e': return SDX_FLOAT16;
    case 'f': return SDX_FLOAT;
    case 'd': return SDX_DOUBLE;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q': return itemsize <= 8 ? ints[itemsize] : SDX_UNDEFINED;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q': return itemsize <= 8 ? uints[itemsize] : SDX_UNDEFINED;
    default: return SDX_UNDEFINED;
    }
}

/* -- shared memory --------------------------------------------------------------------------------------------------- */

/* The view of an object whose memory a value uses; outputs may keep that memory, so it is let go by the value. */
static void view_drop(void *user, void *data)
{
    (void)data;
    if (!Py_IsInitialized()) return; /* the process ends */
    PyGILState_STATE gil = PyGILState_Ensure();
    PyBuffer_Release(user);
    free(user);
    PyGILState_Release(gil);
}

/* Tells apart why a view is not to be had directly. */
typedef enum ViewResult { VIEW_OK, VIEW_FAILED, VIEW_UNFIT } ViewResult;

/* A value over obj's memory, read as `as` (SDX_UNDEFINED: by the buffer's format). UNFIT: obj has no contiguous,
 * aligned buffer of a known format; no exception is set. */
static ViewResult view_value(PyObject *obj, sdx_dtype as, sdx_value **out)
{
    Py_buffer *view = malloc(sizeof *view);
    if (!view) {
        PyErr_NoMemory();
        return VIEW_FAILED;
    }
    if (PyObject_GetBuffer(obj, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        free(view);
        return VIEW_UNFIT;
    }
    sdx_dtype d = as ? as : format_dtype(view->format, view->itemsize);
    int64_t dims[SDX_RANK_MAX];
    bool fits = d != SDX_UNDEFINED && view->ndim <= SDX_RANK_MAX &&
                (view->itemsize <= 1 || (uintptr_t)view->buf % (size_t)view->itemsize == 0 ||
                 (uintptr_t)view->buf % 8 == 0 || view->len == 0);
    for (int i = 0; fits && i < view->ndim; i++) dims[i] = view->shape[i];
    sdx_error err = { 0 };
    if (fits &&
        sdx_tensor_wrap(d, dims, view->ndim, view->buf, (size_t)view->len, view_drop, view, out, &err) == SDX_OK)
        return VIEW_OK;
    PyBuffer_Release(view);
    free(view);
    if (!fits) return VIEW_UNFIT;
    sdx_py_raise(&err, "", NULL);
    return VIEW_FAILED;
}

/* -- arrays ---------------------------------------------------------------------------------------------------------- */

static int shape_dims(PyObject *array, int64_t *dims)
{
    PyObject *shape = PyObject_GetAttrString(array, "shape");
    Py_ssize_t rank = shape ? PyTuple_Size(shape) : -1;
    if (rank > SDX_RANK_MAX) {
        PyErr_Format(PyExc_ValueError, "an array of %zd dimensions: at most %d are possible", rank, SDX_RANK_MAX);
        rank = -1;
    }
    for (Py_ssize_t i = 0; i < rank; i++) {
        dims[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
        if (PyErr_Occurred()) rank = -1;
    }
    Py_XDECREF(shape);
    return (int)rank;
}

/* The bytes of a str or bytes object, else of its str(); *keep holds what they live in. */
static int text_bytes(PyObject *item, PyObject **keep, const char **text, size_t *length)
{
    Py_ssize_t n = 0;
    char *bytes = NULL;
    *keep = PyBytes_Check(item) || PyUnicode_Check(item) ? Py_NewRef(item) : PyObject_Str(item);
    if (!*keep) return -1;
    if (PyBytes_Check(*keep)) {
        if (PyBytes_AsStringAndSize(*keep, &bytes, &n) < 0) return -1;
        *text = bytes;
    } else if (!(*text = PyUnicode_AsUTF8AndSize(*keep, &n))) {
        return -1;
    }
    *length = (size_t)n;
    return 0;
}

/* Texts and what they live in, n of each. */
typedef struct Texts {
    Py_ssize_t n;
    PyObject **keep;
    const char **text;
    size_t *length;
} Texts;

static void texts_free(Texts *t)
{
    for (Py_ssize_t i = 0; t->keep && i < t->n; i++) Py_XDECREF(t->keep[i]);
    PyMem_Free(t->keep);
    PyMem_Free(t->text);
    PyMem_Free(t->length);
}

static int texts_from(PyObject *list, Texts *t)
{
    size_t n = (size_t)PyList_Size(list);
    *t = (Texts){ (Py_ssize_t)n, PyMem_Calloc(n, sizeof *t->keep), PyMem_Calloc(n, sizeof *t->text),
                  PyMem_Calloc(n, sizeof *t->length) };
    if (!t->keep || !t->text || !t->length) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        if (text_bytes(PyList_GetItem(list, (Py_ssize_t)i), &t->keep[i], &t->text[i], &t->length[i]) < 0) return -1;
    return 0;
}

/* list: n elements in row-major order. */
static sdx_value *strings_value(PyObject *list, const int64_t *dims, int rank)
{
    Texts t;
    sdx_value *v = NULL;
    sdx_error err = { 0 };
    if (texts_from(list, &t) == 0 && sdx_tensor_create_strings(dims, rank, t.text, t.length, &v, &err) != SDX_OK)
        sdx_py_raise(&err, "", NULL);
    texts_free(&t);
    return v;
}

static sdx_value *string_array_value(PyObject *array)
{
    int64_t dims[SDX_RANK_MAX];
    int rank = shape_dims(array, dims);
    if (rank < 0) return NULL;
    PyObject *flat = PyObject_CallMethod(array, "ravel", NULL);
    PyObject *list = flat ? PyObject_CallMethod(flat, "tolist", NULL) : NULL;
    sdx_value *v = list ? strings_value(list, dims, rank) : NULL;
    Py_XDECREF(list);
    Py_XDECREF(flat);
    return v;
}

/* One byte an element into nbits an element, first in the low bits. packed is zero. */
static void pack_bits(unsigned char *packed, const unsigned char *bytes, size_t n, unsigned nbits)
{
    for (size_t i = 0; i < n; i++)
        for (unsigned b = 0; b < nbits; b++) {
            size_t at = i * nbits + b;
            packed[at / 8] |= (unsigned char)((bytes[i] >> b & 1) << at % 8);
        }
}

static void unpack_bits(unsigned char *bytes, const unsigned char *packed, size_t n, unsigned nbits, bool is_signed)
{
    for (size_t i = 0; i < n; i++) {
        unsigned x = 0;
        for (unsigned b = 0; b < nbits; b++) {
            size_t at = i * nbits + b;
            x |= (unsigned)(packed[at / 8] >> at % 8 & 1) << b;
        }
        if (is_signed && x >> (nbits - 1)) x |= ~0u << nbits;
        bytes[i] = (unsigned char)x;
    }
}

/* bytes: a contiguous array of one byte an element, of a type below 8 bits. */
static sdx_value *packed_value(PyObject *bytes, sdx_dtype d)
{
    sdx_value *from = NULL, *v = NULL;
    sdx_error err = { 0 };
    ViewResult r = view_value(bytes, SDX_UINT8, &from);
    if (r != VIEW_OK) {
        if (r == VIEW_UNFIT) PyErr_SetString(PyExc_TypeError, "an array without a usable buffer");
        return NULL;
    }
    if (sdx_tensor_create(d, sdx_value_dims(from), sdx_value_rank(from), &v, &err) == SDX_OK)
        pack_bits(sdx_value_data(v), sdx_value_data(from), (size_t)sdx_value_count(from), (unsigned)sdx_dtype_nbits(d));
    else
        sdx_py_raise(&err, "", NULL);
    sdx_value_release(from);
    return v;
}

/* An array of a type that only ml_dtypes knows: its bytes are read through a type of the same size. */
static sdx_value *ml_array_value(PyObject *array, sdx_dtype d)
{
    sdx_value *v = NULL;
    PyObject *dtype = PyObject_GetAttrString(array, "dtype");
    PyObject *plain = dtype ? PyObject_CallMethod(array, "astype", "Os", dtype, "C") : NULL; /* contiguous */
    PyObject *bytes = plain ? PyObject_CallMethod(plain, "view", "s", dtype_rows[d].storage) : NULL;
    if (bytes && sdx_dtype_nbits(d) < 8)
        v = packed_value(bytes, d);
    else if (bytes && view_value(bytes, d, &v) == VIEW_UNFIT)
        PyErr_SetString(PyExc_TypeError, "an array without a usable buffer");
    Py_XDECREF(bytes);
    Py_XDECREF(plain);
    Py_XDECREF(dtype);
    return v;
}

/* What view_value could not take as it is. */
static sdx_value *odd_array_value(PyObject *array)
{
    sdx_value *v = NULL;
    PyObject *dtype = PyObject_GetAttrString(array, "dtype");
    PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
    PyObject *native = NULL, *copy = NULL;
    if (!name) goto done;
    sdx_dtype d = dtype_named(name);
    if (d == SDX_STRING) {
        v = string_array_value(array);
    } else if (d == SDX_UNDEFINED) {
        PyErr_Format(PyExc_TypeError, "NumPy arrays of type %S have no counterpart in ONNX", name);
    } else if (dtype_rows[d].storage) {
        v = ml_array_value(array, d);
    } else if ((native = PyObject_CallMethod(dtype, "newbyteorder", "s", "=")) &&
               (copy = PyObject_CallMethod(array, "astype", "Os", native, "C")) &&
               view_value(copy, SDX_UNDEFINED, &v) == VIEW_UNFIT) {
        PyErr_Format(PyExc_TypeError, "a NumPy array of type %S without a usable buffer", name);
    }
done:
    Py_XDECREF(copy);
    Py_XDECREF(native);
    Py_XDECREF(name);
    Py_XDECREF(dtype);
    return v;
}

sdx_value *sdx_py_array_to_value(PyObject *array)
{
    sdx_value *v = NULL;
    return view_value(array, SDX_UNDEFINED, &v) == VIEW_UNFIT ? odd_array_value(array) : v;
}

/* -- other objects --------------------------------------------------------------------------------------------------- */

static bool is_ndarray(PyObject *obj)
{
    PyObject *ndarray = sdx_py_ndarray();
    return ndarray && PyObject_TypeCheck(obj, (PyTypeObject *)ndarray);
}

/* Lists, scalars and whatever else numpy.asarray understands, of the element type that is wanted. */
static sdx_value *like_array_value(PyObject *obj, sdx_dtype want)
{
    PyObject *dtype = want ? sdx_py_dtype(want) : Py_None;
    PyObject *array = dtype ? numpy_call("asarray", "(OO)", obj, dtype) : NULL;
    sdx_value *v = array ? sdx_py_array_to_value(array) : NULL;
    Py_XDECREF(array);
    return v;
}

static sdx_value *sequence_value(PyObject *obj, const sdx_type *of)
{
    PyObject *items = PySequence_List(obj);
    sdx_value *seq = NULL;
    sdx_error err = { 0 };
    if (!items) return NULL;
    bool tensors = of && sdx_type_kind(of) == SDX_TENSOR;
    sdx_status st = sdx_sequence_create(tensors ? sdx_type_dtype(of) : SDX_UNDEFINED, &seq, &err);
    for (Py_ssize_t i = 0, n = PyList_Size(items); st == SDX_OK && i < n; i++) {
        sdx_value *item = sdx_py_to_value(PyList_GetItem(items, i), of);
        if (!item) break;
        st = sdx_sequence_append(seq, item, &err);
        sdx_value_release(item);
    }
    Py_DECREF(items);
    if (st != SDX_OK) sdx_py_raise(&err, "", NULL);
    if (!PyErr_Occurred()) return seq;
    sdx_value_release(seq);
    return NULL;
}

/* A 1-D tensor of a list; want SDX_UNDEFINED: int64 or string, by the first element. */
static sdx_value *list_value(PyObject *list, sdx_dtype want)
{
    if (!want) {
        PyObject *first = PyList_GetItem(list, 0);
        if (!PyLong_Check(first) && !PyUnicode_Check(first) && !PyBytes_Check(first)) {
            PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(first), "__name__");
            if (type) PyErr_Format(PyExc_TypeError, "Key type must be int or string (not %U).", type);
            Py_XDECREF(type);
            return NULL;
        }
        want = PyLong_Check(first) ? SDX_INT64 : SDX_STRING;
    }
    int64_t n = PyList_Size(list);
    return want == SDX_STRING ? strings_value(list, &n, 1) : like_array_value(list, want);
}

static sdx_value *map_value(PyObject *dict, const sdx_type *want)
{
    if (PyDict_Size(dict) == 0) {
        PyErr_SetString(PyExc_RuntimeError, "Size of dictionary is empty, unable to run the prediction.");
        return NULL;
    }
    const sdx_type *of = want ? sdx_type_of(want) : NULL;
    sdx_dtype value_dtype = of && sdx_type_kind(of) == SDX_TENSOR ? sdx_type_dtype(of) : SDX_FLOAT;
    PyObject *keys = PyDict_Keys(dict), *values = PyDict_Values(dict);
    sdx_value *k = keys ? list_value(keys, SDX_UNDEFINED) : NULL;
    sdx_value *v = k && values ? list_value(values, value_dtype) : NULL;
    sdx_value *map = NULL;
    sdx_error err = { 0 };
    if (k && v && sdx_map_create(k, v, &map, &err) != SDX_OK) sdx_py_raise(&err, "", NULL);
    sdx_value_release(k);
    sdx_value_release(v);
    Py_XDECREF(values);
    Py_XDECREF(keys);
    return map;
}

static sdx_value *none_value(void)
{
    sdx_value *v = NULL;
    sdx_error err = { 0 };
    if (sdx_none_create(&v, &err) != SDX_OK) sdx_py_raise(&err, "", NULL);
    return v;
}

static bool is_list(PyObject *obj) { return PyList_Check(obj) || PyTuple_Check(obj); }

/* Other libraries' tensors: DLPack, then the buffer protocol, then whatever NumPy makes of it. */
static sdx_value *foreign_value(PyObject *obj, sdx_dtype want)
{
    sdx_value *v = NULL;
    if (PyObject_HasAttrString(obj, "__dlpack__")) {
        v = sdx_py_from_dlpack(obj);
        if (v) return v;
        PyErr_Clear(); /* strided, say: NumPy copies it */
    }
    if (PyObject_CheckBuffer(obj) && !PyBytes_Check(obj)) {
        ViewResult r = view_value(obj, SDX_UNDEFINED, &v);
        if (r != VIEW_UNFIT) return v;
    }
    if (PyObject_HasAttrString(obj, "__array_interface__") || PyObject_HasAttrString(obj, "__array__"))
        return like_array_value(obj, SDX_UNDEFINED);
    return like_array_value(obj, want);
}

sdx_value *sdx_py_to_value(PyObject *obj, const sdx_type *want)
{
    if (PyObject_TypeCheck(obj, sdx_py_Value)) {
        sdx_value *v = ((ValueObject *)obj)->value;
        sdx_value_retain(v);
        return v;
    }
    if (is_ndarray(obj) && (!want || sdx_type_kind(want) != SDX_SEQUENCE)) return sdx_py_array_to_value(obj);
    if (PyErr_Occurred()) return NULL;
    if (obj == Py_None) return none_value();
    sdx_kind kind = want ? sdx_type_kind(want) : SDX_NONE;
    if (kind == SDX_OPTIONAL) return sdx_py_to_value(obj, sdx_type_of(want));
    if (PyDict_Check(obj)) return map_value(obj, kind == SDX_MAP ? want : NULL);
    if (kind == SDX_SEQUENCE || (kind == SDX_NONE && is_list(obj)))
        return sequence_value(obj, kind == SDX_SEQUENCE ? sdx_type_of(want) : NULL);
    PyObject *inner = PyObject_HasAttrString(obj, "_sdx_value_") ? PyObject_GetAttrString(obj, "_sdx_value_") : NULL;
    if (inner) { /* a wrapper of the package's */
        sdx_value *v = PyObject_TypeCheck(inner, sdx_py_Value) ? ((ValueObject *)inner)->value : NULL;
        if (v) sdx_value_retain(v);
        Py_DECREF(inner);
        if (v) return v;
    }
    sdx_dtype d = kind == SDX_TENSOR ? sdx_type_dtype(want) : SDX_UNDEFINED;
    return is_list(obj) || PyFloat_Check(obj) || PyLong_Check(obj) || PyUnicode_Check(obj) || PyBytes_Check(obj)
               ? like_array_value(obj, d)
               : foreign_value(obj, d);
}

/* -- values to Python objects ----------------------------------------------------------------------------------------- */

static PyObject *dims_tuple(const sdx_value *v)
{
    int rank = sdx_value_rank(v);
    const int64_t *dims = sdx_value_dims(v);
    PyObject *t = PyTuple_New(rank);
    for (int i = 0; t && i < rank; i++) {
        PyObject *n = PyLong_FromLongLong(dims[i]);
        if (!n || PyTuple_SetItem(t, i, n) < 0) Py_CLEAR(t);
    }
    return t;
}

static PyObject *string_item(const sdx_value *v, int64_t i)
{
    const char *text;
    size_t length;
    sdx_error err = { 0 };
    if (sdx_value_string(v, i, &text, &length, &err) != SDX_OK) return sdx_py_raise(&err, "", NULL);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
}

/* Element i of a tensor of strings, integers or floats. */
static PyObject *tensor_item(const sdx_value *v, int64_t i)
{
    switch (sdx_value_dtype(v)) {
    case SDX_STRING: return string_item(v, i);
    case SDX_INT64: return PyLong_FromLongLong(((const int64_t *)sdx_value_data(v))[i]);
    case SDX_FLOAT:
    case SDX_DOUBLE: return PyFloat_FromDouble(sdx_value_get(v, i));
    default: return PyLong_FromDouble(sdx_value_get(v, i));
    }
}

static PyObject *tensor_list(const sdx_value *v)
{
    int64_t n = sdx_value_count(v);
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (int64_t i = 0; list && i < n; i++) {
        PyObject *item = tensor_item(v, i);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

/* numpy.ndarray(shape, dtype, buffer): an array over the buffer's memory. Takes shape and buffer. */
static PyObject *array_over(PyObject *shape, PyObject *dtype, PyObject *buffer)
{
    PyObject *ndarray = sdx_py_ndarray();
    PyObject *args = ndarray && shape && dtype && buffer ? PyTuple_New(3) : NULL;
    if (!args) {
        Py_XDECREF(shape);
        Py_XDECREF(buffer);
        return NULL;
    }
    PyTuple_SetItem(args, 0, shape);
    PyTuple_SetItem(args, 1, Py_NewRef(dtype));
    PyTuple_SetItem(args, 2, buffer);
    PyObject *array = PyObject_Call(ndarray, args, NULL);
    Py_DECREF(args);
    return array;
}

static PyObject *strings_array(const sdx_value *v)
{
    PyObject *shape = dims_tuple(v), *list = tensor_list(v), *array = NULL, *shaped = NULL;
    if (shape && list) array = numpy_call("empty", "(nO)", PyList_Size(list), sdx_py_dtype(SDX_STRING));
    PyObject *all = array ? PySlice_New(NULL, NULL, NULL) : NULL;
    if (all && (PyList_Size(list) == 0 || PyObject_SetItem(array, all, list) == 0))
        shaped = PyObject_CallMethod(array, "reshape", "(O)", shape);
    Py_XDECREF(all);
    Py_XDECREF(array);
    Py_XDECREF(list);
    Py_XDECREF(shape);
    return shaped;
}

static PyObject *unpacked_array(const sdx_value *v)
{
    sdx_dtype d = sdx_value_dtype(v);
    int64_t n = sdx_value_count(v);
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)n);
    if (bytes)
        unpack_bits((unsigned char *)PyByteArray_AsString(bytes), sdx_value_data(v), (size_t)n,
                    (unsigned)sdx_dtype_nbits(d), d == SDX_INT4 || d == SDX_INT2);
    return array_over(dims_tuple(v), sdx_py_dtype(d), bytes);
}

static PyObject *sequence_list(const sdx_value *seq)
{
    int64_t n = sdx_sequence_count(seq);
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (int64_t i = 0; list && i < n; i++) {
        sdx_value *item = NULL;
        sdx_error err = { 0 };
        PyObject *obj = NULL;
        if (sdx_sequence_get(seq, i, &item, &err) == SDX_OK)
            obj = sdx_py_from_value(item);
        else
            sdx_py_raise(&err, "", NULL);
        if (!obj || PyList_SetItem(list, (Py_ssize_t)i, obj) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *map_dict(const sdx_value *map)
{
    sdx_value *keys = NULL, *values = NULL;
    sdx_error err = { 0 };
    PyObject *dict = NULL, *k = NULL, *v = NULL;
    if (sdx_map_keys(map, &keys, &err) != SDX_OK || sdx_map_values(map, &values, &err) != SDX_OK) {
        sdx_py_raise(&err, "", NULL);
    } else {
        k = tensor_list(keys);
        v = k ? (sdx_value_kind(values) == SDX_TENSOR ? tensor_list(values) : sequence_list(values)) : NULL;
        dict = v ? PyDict_New() : NULL;
    }
    for (Py_ssize_t i = 0, n = dict ? PyList_Size(k) : 0; dict && i < n; i++)
        if (PyDict_SetItem(dict, PyList_GetItem(k, i), PyList_GetItem(v, i)) < 0) Py_CLEAR(dict);
    Py_XDECREF(v);
    Py_XDECREF(k);
    sdx_value_release(keys);
    sdx_value_release(values);
    return dict;
}

static PyObject *sparse_object(sdx_value *v)
{
    PyObject *module = PyImport_ImportModule("sardonyx._sparse");
    sdx_value_retain(v);
    PyObject *value = module ? sdx_py_value_new(sdx_py_Value, v) : (sdx_value_release(v), NULL);
    PyObject *obj = value ? PyObject_CallMethod(module, "from_value", "O", value) : NULL;
    Py_XDECREF(value);
    Py_XDECREF(module);
    return obj;
}

PyObject *sdx_py_from_value(sdx_value *v)
{
    PyObject *obj = NULL;
    switch (sdx_value_kind(v)) {
    case SDX_TENSOR: {
        sdx_dtype d = sdx_value_dtype(v);
        if (d != SDX_STRING && sdx_dtype_nbits(d) >= 8) {
            PyObject *shape = dims_tuple(v);
            return array_over(shape, sdx_py_dtype(d), sdx_py_value_new(sdx_py_Value, v));
        }
        obj = d == SDX_STRING ? strings_array(v) : unpacked_array(v);
        break;
    }
    case SDX_SEQUENCE: obj = sequence_list(v); break;
    case SDX_MAP: obj = map_dict(v); break;
    case SDX_SPARSE_TENSOR: obj = sparse_object(v); break;
    default: obj = Py_NewRef(Py_None); break;
    }
    sdx_value_release(v);
    return obj;
}
