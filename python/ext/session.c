/* Session: a model made ready to run, and what it says about itself. Immutable. */
#include <string.h>

#include "native.h"

PyTypeObject *sdx_py_Session;

/* -- opening --------------------------------------------------------------------------------------------------------- */

/* What open() is given, in C. */
typedef struct OpenArgs {
    sdx_source source;
    sdx_session_options options;
    const char **disabled, **providers;
    sdx_dim *dims;
    sdx_initializer *initializers;
    sdx_file *files;
} OpenArgs;

static void open_args_free(OpenArgs *a)
{
    PyMem_Free(a->disabled);
    PyMem_Free(a->providers);
    PyMem_Free(a->dims);
    PyMem_Free(a->initializers);
    PyMem_Free(a->files);
}

/* NULL-terminated; *out stays NULL for an empty list. The texts belong to the list's elements. */
static int texts_of(PyObject *list, const char ***out)
{
    Py_ssize_t n = PyList_Size(list);
    if (n <= 0) return (int)n;
    *out = PyMem_Calloc((size_t)n + 1, sizeof **out);
    if (!*out) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (!((*out)[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL))) return -1;
    return 0;
}

static int dims_of(PyObject *dict, OpenArgs *a)
{
    Py_ssize_t at = 0;
    PyObject *name, *size;
    a->dims = PyMem_Calloc((size_t)PyDict_Size(dict) + 1, sizeof *a->dims);
    if (!a->dims) {
        PyErr_NoMemory();
        return -1;
    }
    while (PyDict_Next(dict, &at, &name, &size)) {
        sdx_dim *d = &a->dims[a->options.n_dims++];
        d->symbol = PyUnicode_AsUTF8AndSize(name, NULL);
        d->size = PyLong_AsLongLong(size);
        if (!d->symbol || PyErr_Occurred()) return -1;
    }
    a->options.dims = a->dims;
    return 0;
}

static int initializers_of(PyObject *dict, OpenArgs *a)
{
    Py_ssize_t at = 0;
    PyObject *name, *value;
    a->initializers = PyMem_Calloc((size_t)PyDict_Size(dict) + 1, sizeof *a->initializers);
    if (!a->initializers) {
        PyErr_NoMemory();
        return -1;
    }
    while (PyDict_Next(dict, &at, &name, &value)) {
        sdx_initializer *i = &a->initializers[a->options.n_initializers++];
        i->name = PyUnicode_AsUTF8AndSize(name, NULL);
        i->value = sdx_py_value_get(value);
        if (!i->name || !i->value) return -1;
    }
    a->options.initializers = a->initializers;
    return 0;
}

/* The memoryviews in s->files keep the memory where it is after the buffers are let go. */
static int files_of(PyObject *dict, OpenArgs *a, SessionObject *s)
{
    Py_ssize_t at = 0;
    PyObject *name, *value;
    a->files = PyMem_Calloc((size_t)PyDict_Size(dict) + 1, sizeof *a->files);
    s->files = PyList_New(0);
    if (!a->files) PyErr_NoMemory();
    if (!a->files || !s->files) return -1;
    while (PyDict_Next(dict, &at, &name, &value)) {
        Py_buffer bytes;
        sdx_file *f = &a->files[a->options.n_files++];
        PyObject *view = PyMemoryView_FromObject(value);
        int rc = view ? PyList_Append(s->files, view) : -1;
        Py_XDECREF(view);
        if (rc < 0 || PyObject_GetBuffer(view, &bytes, PyBUF_SIMPLE) < 0) return -1;
        f->data = bytes.buf;
        f->nbytes = (size_t)bytes.len;
        PyBuffer_Release(&bytes);
        if (!(f->name = PyUnicode_AsUTF8AndSize(name, NULL))) return -1;
    }
    a->options.files = a->files;
    return 0;
}

static int settings_of(PyObject *dict, sdx_session_options *o)
{
    Py_ssize_t at = 0;
    PyObject *name, *value;
    while (PyDict_Next(dict, &at, &name, &value)) {
        sdx_error err = { 0 };
        const char *n = PyUnicode_AsUTF8AndSize(name, NULL), *v = PyUnicode_AsUTF8AndSize(value, NULL);
        if (!n || !v) return -1;
        if (sdx_session_options_set(o, n, v, &err) != SDX_OK) {
            sdx_py_raise(&err, "", NULL);
            return -1;
        }
    }
    return 0;
}

static int session_open(SessionObject *s, OpenArgs *a)
{
    sdx_error err = { 0 };
    sdx_status st;
    Py_BEGIN_ALLOW_THREADS st = sdx_session_create(&a->source, &a->options, &s->session, &err);
    Py_END_ALLOW_THREADS if (st == SDX_OK) return 0;
    sdx_py_raise(&err, "load", s->path);
    return -1;
}

/* -- names ----------------------------------------------------------------------------------------------------------- */

static int index_add(PyObject *index, const char *name, Py_ssize_t i, PyObject **key)
{
    PyObject *n = PyLong_FromSsize_t(i);
    *key = PyUnicode_InternFromString(name);
    int rc = n && *key ? PyDict_SetItem(index, *key, n) : -1;
    Py_XDECREF(n);
    return rc;
}

static int session_names(SessionObject *s)
{
    s->n_inputs = (Py_ssize_t)sdx_session_input_count(s->session);
    s->n_ports = s->n_inputs + (Py_ssize_t)sdx_session_overridable_count(s->session);
    s->n_outputs = (Py_ssize_t)sdx_session_output_count(s->session);
    s->input_index = PyDict_New();
    s->output_index = PyDict_New();
    s->input_keys = PyMem_Calloc((size_t)s->n_ports + 1, sizeof *s->input_keys);
    s->input_names = PyMem_Calloc((size_t)s->n_ports + 1, sizeof *s->input_names);
    s->input_types = PyMem_Calloc((size_t)s->n_ports + 1, sizeof *s->input_types);
    s->output_names = PyMem_Calloc((size_t)s->n_outputs + 1, sizeof *s->output_names);
    if (!s->input_index || !s->output_index) return -1;
    if (!s->input_keys || !s->input_names || !s->input_types || !s->output_names) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < s->n_ports; i++) {
        size_t k = (size_t)(i - s->n_inputs);
        bool input = i < s->n_inputs;
        s->input_names[i] = input ? sdx_session_input_name(s->session, (size_t)i)
                                  : sdx_session_overridable_name(s->session, k);
        s->input_types[i] = input ? sdx_session_input_type(s->session, (size_t)i)
                                  : sdx_session_overridable_type(s->session, k);
        if (index_add(s->input_index, s->input_names[i], i, &s->input_keys[i]) < 0) return -1;
    }
    for (Py_ssize_t i = 0; i < s->n_outputs; i++) {
        PyObject *key = NULL;
        s->output_names[i] = sdx_session_output_name(s->session, (size_t)i);
        int rc = index_add(s->output_index, s->output_names[i], i, &key);
        Py_XDECREF(key);
        if (rc < 0) return -1;
    }
    return 0;
}

/* -- life ------------------------------------------------------------------------------------------------------------ */

static void session_dealloc(PyObject *obj)
{
    SessionObject *s = (SessionObject *)obj;
    PyTypeObject *type = Py_TYPE(obj);
    sdx_session_release(s->session);
    sdx_py_profile_destroy(s->profile);
    for (Py_ssize_t i = 0; s->input_keys && i < s->n_ports; i++) Py_XDECREF(s->input_keys[i]);
    PyMem_Free(s->input_keys);
    PyMem_Free(s->input_names);
    PyMem_Free(s->input_types);
    PyMem_Free(s->output_names);
    Py_XDECREF(s->input_index);
    Py_XDECREF(s->output_index);
    Py_XDECREF(s->path);
    Py_XDECREF(s->files);
    if (s->source) PyBuffer_Release(&s->bytes);
    Py_XDECREF(s->source);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(obj);
    Py_DECREF(type);
}

static int session_fill(SessionObject *s, PyObject *args)
{
    const char *external_dir;
    PyObject *path, *shown, *data, *settings, *dims, *disabled, *providers, *initializers, *files;
    int profile;
    OpenArgs a = { .source = SDX_SOURCE_INIT };
    if (!PyArg_ParseTuple(args, "OOOO!O!O!O!O!O!zp", &path, &shown, &data, &PyDict_Type, &settings, &PyDict_Type, &dims,
                          &PyList_Type, &disabled, &PyList_Type, &providers, &PyDict_Type, &initializers, &PyDict_Type,
                          &files, &external_dir, &profile))
        return -1;
    s->path = Py_NewRef(shown);
    s->brief_bytes = -1;
    if (data != Py_None) {
        if (PyObject_GetBuffer(data, &s->bytes, PyBUF_SIMPLE) < 0) return -1;
        s->source = Py_NewRef(data);
        a.source.data = s->bytes.buf;
        a.source.nbytes = (size_t)s->bytes.len;
    }
    if (path != Py_None && !(a.source.path = PyBytes_AsString(path))) return -1;
    a.source.external_dir = external_dir;
    sdx_session_options_init(&a.options);
    int rc = settings_of(settings, &a.options);
    if (rc == 0) rc = dims_of(dims, &a);
    if (rc == 0) rc = initializers_of(initializers, &a);
    if (rc == 0) rc = files_of(files, &a, s);
    if (rc == 0) rc = texts_of(disabled, &a.disabled);
    if (rc == 0) rc = texts_of(providers, &a.providers);
    a.options.disabled = a.disabled;
    a.options.providers = a.providers;
    if (rc == 0) rc = session_open(s, &a);
    open_args_free(&a);
    if (rc == 0) rc = session_names(s);
    if (rc == 0 && profile && !(s->profile = sdx_py_profile_create())) {
        PyErr_NoMemory();
        rc = -1;
    }
    return rc;
}

/* Session(path: bytes | None, shown_path, data: buffer | None, settings: dict[str, str], dims: dict[str, int],
 *         disabled: list[str], providers: list[str], initializers: dict[str, Value], files: dict[str, buffer],
 *         external_dir: str | None, profile: bool) */
static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)kwargs;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *self = alloc(type, 0);
    if (self && session_fill((SessionObject *)self, args) < 0) Py_CLEAR(self);
    return self;
}

/* -- types in ONNX Runtime's words ----------------------------------------------------------------------------------- */

static PyObject *type_text(const sdx_type *t)
{
    if (!t) return PyUnicode_FromString("");
    PyObject *inner, *text;
    switch (sdx_type_kind(t)) {
    case SDX_TENSOR: return PyUnicode_FromFormat("tensor(%s)", sdx_dtype_text(sdx_type_dtype(t)));
    case SDX_SPARSE_TENSOR: return PyUnicode_FromFormat("sparse_tensor(%s)", sdx_dtype_text(sdx_type_dtype(t)));
    case SDX_SEQUENCE:
    case SDX_OPTIONAL:
    case SDX_MAP: break;
    default: return PyUnicode_FromString("");
    }
    if (!(inner = type_text(sdx_type_of(t)))) return NULL;
    if (sdx_type_kind(t) == SDX_MAP)
        text = PyUnicode_FromFormat("map(%s,%U)", sdx_dtype_text(sdx_type_dtype(t)), inner);
    else
        text = PyUnicode_FromFormat("%s(%U)", sdx_type_kind(t) == SDX_SEQUENCE ? "seq" : "optional", inner);
    Py_DECREF(inner);
    return text;
}

/* [int | str | None, ...]; [] where the rank is unknown. */
static PyObject *type_shape(const sdx_type *t)
{
    int rank = t ? sdx_type_rank(t) : 0;
    PyObject *list = PyList_New(rank < 0 ? 0 : rank);
    for (int i = 0; list && i < rank; i++) {
        int64_t n = sdx_type_dim(t, i);
        const char *symbol = sdx_type_dim_symbol(t, i);
        PyObject *dim = n >= 0 ? PyLong_FromLongLong(n) : *symbol ? PyUnicode_FromString(symbol) : Py_NewRef(Py_None);
        if (!dim || PyList_SetItem(list, i, dim) < 0) Py_CLEAR(list);
    }
    return list;
}

/* (name, type, shape, text): text is ONNX's own notation. */
static PyObject *port_tuple(const char *name, const sdx_type *t)
{
    PyObject *text = type_text(t), *shape = type_shape(t), *tuple = NULL;
    if (text && shape) tuple = Py_BuildValue("(sOOs)", name, text, shape, sdx_type_string(t));
    Py_XDECREF(text);
    Py_XDECREF(shape);
    return tuple;
}

static PyObject *session_inputs(PyObject *self, PyObject *none)
{
    (void)none;
    const SessionObject *s = (SessionObject *)self;
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list && i < s->n_inputs; i++)
        list = sdx_py_list_add(list, port_tuple(s->input_names[i], s->input_types[i]));
    return list;
}

static PyObject *session_overridable(PyObject *self, PyObject *none)
{
    (void)none;
    const SessionObject *s = (SessionObject *)self;
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = s->n_inputs; list && i < s->n_ports; i++)
        list = sdx_py_list_add(list, port_tuple(s->input_names[i], s->input_types[i]));
    return list;
}

static PyObject *session_outputs(PyObject *self, PyObject *none)
{
    (void)none;
    const SessionObject *s = (SessionObject *)self;
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list && i < s->n_outputs; i++)
        list = sdx_py_list_add(list, port_tuple(s->output_names[i], sdx_session_output_type(s->session, (size_t)i)));
    return list;
}

/* -- facts and reports ------------------------------------------------------------------------------------------------ */

static PyObject *session_info(PyObject *self, PyObject *name)
{
    const char *key = PyUnicode_AsUTF8AndSize(name, NULL);
    const char *text = key ? sdx_session_model_info(((SessionObject *)self)->session, key) : NULL;
    if (!key) return NULL;
    return PyUnicode_DecodeUTF8(text ? text : "", text ? (Py_ssize_t)strlen(text) : 0, "replace");
}

static PyObject *session_metadata(PyObject *self, PyObject *none)
{
    (void)none;
    const sdx_session *s = ((SessionObject *)self)->session;
    PyObject *dict = PyDict_New();
    for (size_t i = 0, n = sdx_session_metadata_count(s); dict && i < n; i++) {
        const char *k = sdx_session_metadata_key(s, i), *v = sdx_session_metadata_value(s, i);
        PyObject *key = PyUnicode_DecodeUTF8(k, (Py_ssize_t)strlen(k), "replace");
        PyObject *value = key ? PyUnicode_DecodeUTF8(v, (Py_ssize_t)strlen(v), "replace") : NULL;
        if (!value || PyDict_SetItem(dict, key, value) < 0) Py_CLEAR(dict);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return dict;
}

/* Callbacks of the library build *user, a list; NULL after a failure. */
static void add_node(void *user, const sdx_node_info *n)
{
    PyObject **list = user;
    if (*list)
        *list = sdx_py_list_add(*list, Py_BuildValue("(ssssssss)", n->name, n->op_type, n->domain, n->provider,
                                                     n->reason, n->inputs, n->outputs, n->type));
}

static void add_pair(void *user, const char *name, const char *detail)
{
    PyObject **list = user;
    if (*list) *list = sdx_py_list_add(*list, Py_BuildValue("(ss)", name, detail));
}

/* [(name, op_type, domain, provider, reason, inputs, outputs, type)] of each node that runs */
static PyObject *session_nodes(PyObject *self, PyObject *none)
{
    (void)none;
    PyObject *list = PyList_New(0);
    if (list) sdx_session_each_node(((SessionObject *)self)->session, add_node, &list);
    return list;
}

static PyObject *session_rewrites(PyObject *self, PyObject *none)
{
    (void)none;
    PyObject *list = PyList_New(0);
    if (list) sdx_session_each_rewrite(((SessionObject *)self)->session, add_pair, &list);
    return list;
}

/* [(name, type)] of each value that a node makes */
static PyObject *session_values(PyObject *self, PyObject *none)
{
    (void)none;
    PyObject *list = PyList_New(0);
    if (list) sdx_session_each_value(((SessionObject *)self)->session, add_pair, &list);
    return list;
}

/* plan_bytes([(name, Value)]) */
static PyObject *session_plan_bytes(PyObject *self, PyObject *feeds)
{
    Py_ssize_t n = PyList_Size(feeds);
    if (n < 0) return NULL;
    const char **names = PyMem_Calloc((size_t)n + 1, sizeof *names);
    const sdx_value **values = PyMem_Calloc((size_t)n + 1, sizeof *values);
    PyObject *result = NULL;
    if (!names || !values) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *value;
        if (!PyArg_ParseTuple(PyList_GetItem(feeds, i), "sO", &names[i], &value)) goto done;
        if (!(values[i] = sdx_py_value_get(value))) goto done;
    }
    sdx_error err = { 0 };
    size_t nbytes;
    if (sdx_session_plan_bytes(((SessionObject *)self)->session, names, values, (size_t)n, &nbytes, &err) == SDX_OK)
        result = PyLong_FromSize_t(nbytes);
    else
        sdx_py_raise(&err, "", NULL);
done:
    PyMem_Free(names);
    PyMem_Free(values);
    return result;
}

static PyObject *session_trim(PyObject *self, PyObject *none)
{
    (void)none;
    Py_BEGIN_ALLOW_THREADS sdx_session_trim(((SessionObject *)self)->session);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

/* Events so far, and when the profile began; None without one. */
static PyObject *session_profile(PyObject *self, PyObject *none)
{
    (void)none;
    Profile *p = ((SessionObject *)self)->profile;
    if (!p) Py_RETURN_NONE;
    return Py_BuildValue("(LN)", (long long)sdx_py_profile_start_ns(p), sdx_py_profile_events(p));
}

static PyObject *session_run(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    return sdx_py_run((SessionObject *)self, args, n, kwnames);
}

static PyObject *session_path(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((SessionObject *)self)->path);
}

static PyMethodDef session_methods[] = {
    { "run", (PyCFunction)(void (*)(void))session_run, METH_FASTCALL | METH_KEYWORDS, NULL },
    { "inputs", session_inputs, METH_NOARGS, NULL },
    { "outputs", session_outputs, METH_NOARGS, NULL },
    { "overridable", session_overridable, METH_NOARGS, NULL },
    { "info", session_info, METH_O, NULL },
    { "metadata", session_metadata, METH_NOARGS, NULL },
    { "nodes", session_nodes, METH_NOARGS, NULL },
    { "values", session_values, METH_NOARGS, NULL },
    { "rewrites", session_rewrites, METH_NOARGS, NULL },
    { "plan_bytes", session_plan_bytes, METH_O, NULL },
    { "trim", session_trim, METH_NOARGS, NULL },
    { "profile", session_profile, METH_NOARGS, NULL },
    { NULL },
};

static PyGetSetDef session_getset[] = {
    { "path", session_path, NULL, NULL, NULL },
    { NULL },
};

static PyType_Slot session_slots[] = {
    { Py_tp_new, session_new },       { Py_tp_dealloc, session_dealloc },          { Py_tp_methods, session_methods },
    { Py_tp_getset, session_getset }, { Py_tp_doc, "A model made ready to run." }, { 0, NULL },
};

static PyType_Spec session_spec = {
    .name = "sardonyx._native.Session",
    .basicsize = sizeof(SessionObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = session_slots,
};

int sdx_py_session_init(PyObject *module)
{
    sdx_py_Session = (PyTypeObject *)PyType_FromSpec(&session_spec);
    return sdx_py_Session ? PyModule_AddObjectRef(module, "Session", (PyObject *)sdx_py_Session) : -1;
}
