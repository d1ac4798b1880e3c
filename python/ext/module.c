/* The module: functions that need no object, errors, and the types. */
#include <string.h>

#include "native.h"

PyObject *sdx_py_raise(const sdx_error *err, const char *where, PyObject *context)
{
    PyObject *module = PyImport_ImportModule("sardonyx._errors");
    PyObject *text = PyUnicode_DecodeUTF8(err->text, (Py_ssize_t)strlen(err->text), "replace");
    PyObject *e = module && text ? PyObject_CallMethod(module, "from_status", "iOsO", (int)err->code, text, where,
                                                       context ? context : Py_None)
                                 : NULL;
    if (e) PyErr_SetObject((PyObject *)Py_TYPE(e), e);
    Py_XDECREF(e);
    Py_XDECREF(text);
    Py_XDECREF(module);
    return NULL;
}

static PyObject *module_version(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return PyUnicode_FromString(sdx_version());
}

static PyObject *module_system(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    sdx_system_info info = { .struct_size = sizeof info };
    sdx_system(&info);
    return Py_BuildValue("{s:s,s:s,s:i,s:n,s:n,s:n}", "cpu_level", info.cpu_level, "cpu_levels", info.cpu_levels,
                         "default_threads", info.default_threads, "l1d_bytes", (Py_ssize_t)info.l1d_bytes, "l2_bytes",
                         (Py_ssize_t)info.l2_bytes, "l3_bytes", (Py_ssize_t)info.l3_bytes);
}

PyObject *sdx_py_list_add(PyObject *list, PyObject *item)
{
    if (list && (!item || PyList_Append(list, item) < 0)) Py_CLEAR(list);
    Py_XDECREF(item);
    return list;
}

static void add_operator(void *user, const char *domain, const char *name, const char *since)
{
    PyObject **list = user;
    if (*list) *list = sdx_py_list_add(*list, Py_BuildValue("(sss)", domain, name, since));
}

static void add_rewrite(void *user, const char *name, sdx_level level, const char *text)
{
    PyObject **list = user;
    if (*list) *list = sdx_py_list_add(*list, Py_BuildValue("(sis)", name, (int)level, text));
}

static PyObject *module_operators(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    PyObject *list = PyList_New(0);
    if (list) sdx_each_operator(add_operator, &list);
    return list;
}

static PyObject *module_rewrites(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    PyObject *list = PyList_New(0);
    if (list) sdx_each_rewrite(add_rewrite, &list);
    return list;
}

/* dtype_name(code): ONNX's name of an element type */
static PyObject *module_dtype_name(PyObject *self, PyObject *code)
{
    (void)self;
    long d = PyLong_AsLong(code);
    return PyErr_Occurred() ? NULL : PyUnicode_FromString(sdx_dtype_text((sdx_dtype)d));
}

/* dtype_nbits(code) */
static PyObject *module_dtype_nbits(PyObject *self, PyObject *code)
{
    (void)self;
    long d = PyLong_AsLong(code);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(sdx_dtype_nbits((sdx_dtype)d));
}

/* numpy_dtype(code): as arrays of that element type come out of runs */
static PyObject *module_numpy_dtype(PyObject *self, PyObject *code)
{
    (void)self;
    long d = PyLong_AsLong(code);
    if (PyErr_Occurred()) return NULL;
    PyObject *dtype = sdx_py_dtype((sdx_dtype)d);
    return dtype ? Py_NewRef(dtype) : NULL;
}

/* dtype_code(numpy dtype, type or name): 0 when ONNX has none */
static PyObject *module_dtype_code(PyObject *self, PyObject *dtype)
{
    (void)self;
    return PyLong_FromLong(sdx_py_dtype_of(dtype));
}

/* optimize(path or model: bytes, is_path, target path: bytes, level, external name | None) */
static PyObject *module_optimize(PyObject *self, PyObject *args)
{
    (void)self;
    const char *level, *target, *external;
    PyObject *from;
    int is_path;
    if (!PyArg_ParseTuple(args, "Spysz", &from, &is_path, &target, &level, &external)) return NULL;
    sdx_source source = SDX_SOURCE_INIT;
    sdx_session_options o;
    sdx_error err = { 0 };
    if (is_path) {
        source.path = PyBytes_AsString(from);
    } else {
        source.data = PyBytes_AsString(from);
        source.nbytes = (size_t)PyBytes_Size(from);
    }
    sdx_session_options_init(&o);
    sdx_status st = sdx_session_options_set(&o, "level", level, &err);
    Py_BEGIN_ALLOW_THREADS if (st == SDX_OK) st = sdx_model_optimize(&source, &o, target, external, &err);
    Py_END_ALLOW_THREADS if (st != SDX_OK) return sdx_py_raise(&err, "load", NULL);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    { "version", module_version, METH_NOARGS, NULL },     { "system", module_system, METH_NOARGS, NULL },
    { "operators", module_operators, METH_NOARGS, NULL }, { "rewrites", module_rewrites, METH_NOARGS, NULL },
    { "dtype_name", module_dtype_name, METH_O, NULL },    { "dtype_nbits", module_dtype_nbits, METH_O, NULL },
    { "dtype_code", module_dtype_code, METH_O, NULL },    { "numpy_dtype", module_numpy_dtype, METH_O, NULL },
    { "optimize", module_optimize, METH_VARARGS, NULL },  { NULL },
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "sardonyx._native", .m_doc = "The engine, for the Python files of the package.",
    .m_size = -1,          .m_methods = methods,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    if (sdx_py_value_init(module) < 0 || sdx_py_session_init(module) < 0 || sdx_py_run_init(module) < 0 ||
        sdx_py_binding_init(module) < 0)
        Py_CLEAR(module);
    return module;
}
