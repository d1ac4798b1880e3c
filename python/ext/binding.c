/* Binding: a run whose names are resolved once. One thread at a time. */
#include "native.h"

PyTypeObject *sdx_py_Binding;

static PyObject *binding_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)kwargs;
    PyObject *session;
    if (!PyArg_ParseTuple(args, "O!", sdx_py_Session, &session)) return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    BindingObject *self = (BindingObject *)alloc(type, 0);
    if (!self) return NULL;
    sdx_error err = { 0 };
    if (sdx_binding_create(((SessionObject *)session)->session, &self->binding, &err) != SDX_OK) {
        Py_DECREF(self);
        return sdx_py_raise(&err, "", NULL);
    }
    self->session = (SessionObject *)Py_NewRef(session);
    return (PyObject *)self;
}

static void binding_dealloc(PyObject *obj)
{
    PyTypeObject *type = Py_TYPE(obj);
    BindingObject *b = (BindingObject *)obj;
    sdx_binding_release(b->binding);
    Py_XDECREF((PyObject *)b->session);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(obj);
    Py_DECREF(type);
}

typedef sdx_status SetFn(sdx_binding *b, const char *name, sdx_value *v, sdx_error *err);

static PyObject *binding_set(PyObject *self, PyObject *args, SetFn *set)
{
    const char *name;
    PyObject *obj;
    sdx_error err = { 0 };
    if (!PyArg_ParseTuple(args, "sO", &name, &obj)) return NULL;
    sdx_value *v = obj == Py_None ? NULL : sdx_py_value_get(obj);
    if (!v && PyErr_Occurred()) return NULL;
    if (set(((BindingObject *)self)->binding, name, v, &err) != SDX_OK) return sdx_py_raise(&err, "", NULL);
    Py_RETURN_NONE;
}

static PyObject *binding_set_input(PyObject *self, PyObject *args)
{
    return binding_set(self, args, sdx_binding_set_input);
}

static PyObject *binding_set_output(PyObject *self, PyObject *args)
{
    return binding_set(self, args, sdx_binding_set_output);
}

static PyObject *binding_run(PyObject *self, PyObject *args)
{
    BindingObject *b = (BindingObject *)self;
    PyObject *options = Py_None;
    sdx_run_options o;
    const sdx_run_options *use;
    sdx_error err = { 0 };
    sdx_status st;
    if (!PyArg_ParseTuple(args, "|O", &options) || sdx_py_run_options(options, b->session, &o, &use) < 0) return NULL;
    int64_t start = b->session->profile ? sdx_py_now_ns() : 0;
    Py_BEGIN_ALLOW_THREADS st = sdx_binding_run(b->binding, use, &err);
    Py_END_ALLOW_THREADS if (b->session->profile) sdx_py_profile_run(b->session->profile, start, sdx_py_now_ns());
    if (st == SDX_OK) Py_RETURN_NONE;
    PyObject *what = Py_BuildValue("(OO)", b->session, Py_None);
    if (what) sdx_py_raise(&err, "run", what);
    Py_XDECREF(what);
    return NULL;
}

/* The last run's value, or None. */
static PyObject *binding_output(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text) return NULL;
    sdx_value *v = sdx_binding_output(((BindingObject *)self)->binding, text);
    if (!v) Py_RETURN_NONE;
    sdx_value_retain(v);
    return sdx_py_value_new(sdx_py_Value, v);
}

static PyMethodDef binding_methods[] = {
    { "set_input", binding_set_input, METH_VARARGS, NULL },
    { "set_output", binding_set_output, METH_VARARGS, NULL },
    { "run", binding_run, METH_VARARGS, NULL },
    { "output", binding_output, METH_O, NULL },
    { NULL },
};

static PyType_Slot binding_slots[] = {
    { Py_tp_new, binding_new },
    { Py_tp_dealloc, binding_dealloc },
    { Py_tp_methods, binding_methods },
    { 0, NULL },
};

static PyType_Spec binding_spec = {
    .name = "sardonyx._native.Binding",
    .basicsize = sizeof(BindingObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = binding_slots,
};

int sdx_py_binding_init(PyObject *module)
{
    sdx_py_Binding = (PyTypeObject *)PyType_FromSpec(&binding_spec);
    return sdx_py_Binding ? PyModule_AddObjectRef(module, "Binding", (PyObject *)sdx_py_Binding) : -1;
}
