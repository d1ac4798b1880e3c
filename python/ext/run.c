/* Runs: feeds to values, the call, results to Python. What a small model costs is decided here. */
#include <string.h>

#include "native.h"

PyTypeObject *sdx_py_RunOptions, *sdx_py_Runner;

/* -- run options ------------------------------------------------------------------------------------------------------ */

static PyObject *options_get_terminate(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(__atomic_load_n(&((RunOptionsObject *)self)->cancel, __ATOMIC_RELAXED));
}

static int options_set_terminate(PyObject *self, PyObject *value, void *closure)
{
    (void)closure;
    int on = value ? PyObject_IsTrue(value) : 0;
    if (on < 0) return -1;
    __atomic_store_n(&((RunOptionsObject *)self)->cancel, on, __ATOMIC_RELAXED);
    return 0;
}

static PyObject *options_get_limit(PyObject *self, void *closure)
{
    return PyLong_FromLongLong(*(long long *)((char *)self + (size_t)closure));
}

static int options_set_limit(PyObject *self, PyObject *value, void *closure)
{
    long long n = value ? PyLong_AsLongLong(value) : 0;
    if (PyErr_Occurred()) return -1;
    if (n < 0) {
        PyErr_SetString(PyExc_ValueError, "a limit is negative");
        return -1;
    }
    *(long long *)((char *)self + (size_t)closure) = n;
    return 0;
}

static PyGetSetDef options_getset[] = {
    { "terminate", options_get_terminate, options_set_terminate,
      "Set by any thread, it ends the runs that were given these options.", NULL },
    { "timeout_ns", options_get_limit, options_set_limit, "Time a run may take; 0: any.",
      (void *)offsetof(RunOptionsObject, timeout_ns) },
    { "max_bytes", options_get_limit, options_set_limit, "Working memory a run may take; 0: the session's ceiling.",
      (void *)offsetof(RunOptionsObject, max_bytes) },
    { "max_trips", options_get_limit, options_set_limit, "Trips of all loops together; 0: any.",
      (void *)offsetof(RunOptionsObject, max_trips) },
    { NULL },
};

static void plain_dealloc(PyObject *obj)
{
    PyTypeObject *type = Py_TYPE(obj);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(obj);
    Py_DECREF(type);
}

static PyType_Slot options_slots[] = {
    { Py_tp_getset, options_getset },
    { Py_tp_dealloc, plain_dealloc },
    { Py_tp_new, PyType_GenericNew },
    { 0, NULL },
};

static PyType_Spec options_spec = {
    .name = "sardonyx._native.RunOptions",
    .basicsize = sizeof(RunOptionsObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = options_slots,
};

int sdx_py_run_options(PyObject *obj, SessionObject *s, sdx_run_options *o, const sdx_run_options **use)
{
    *use = NULL;
    bool given = obj && obj != Py_None;
    if (!given && !s->profile) return 0;
    *o = (sdx_run_options)SDX_RUN_OPTIONS_INIT;
    if (given) {
        if (!PyObject_TypeCheck(obj, sdx_py_RunOptions)) {
            PyErr_SetString(PyExc_TypeError, "run_options: RunOptions or None is needed");
            return -1;
        }
        const RunOptionsObject *r = (RunOptionsObject *)obj;
        o->cancel = &r->cancel;
        o->timeout_ns = r->timeout_ns;
        o->max_bytes = (size_t)r->max_bytes;
        o->max_trips = r->max_trips;
    }
    if (s->profile) {
        o->on_node = sdx_py_profile_node;
        o->user = s->profile;
    }
    *use = o;
    return 0;
}

/* -- one call --------------------------------------------------------------------------------------------------------- */

enum { FEW = 16 }; /* ports of a call that needs no memory of its own */

typedef struct Call {
    const char **in_names, **out_names;
    const sdx_value **in;
    sdx_value **out;
    Py_ssize_t n_in, n_out;
    int64_t nbytes; /* of the feeds */
    const char *few_names[2 * FEW];
    void *few_values[2 * FEW];
    void *block;
} Call;

static int call_init(Call *c, Py_ssize_t max_in, Py_ssize_t max_out)
{
    c->n_in = c->n_out = c->nbytes = 0;
    c->block = NULL;
    const char **names = c->few_names;
    void **values = c->few_values;
    size_t n = (size_t)max_in + (size_t)max_out;
    if (max_in > FEW || max_out > FEW) {
        c->block = PyMem_Calloc(n, sizeof *names + sizeof *values);
        if (!c->block) {
            PyErr_NoMemory();
            return -1;
        }
        names = c->block;
        values = (void **)c->block + n;
    }
    c->in_names = names;
    c->out_names = names + max_in;
    c->in = (const sdx_value **)values;
    c->out = (sdx_value **)values + max_in;
    return 0;
}

static void call_finish(Call *c)
{
    for (Py_ssize_t i = 0; i < c->n_in; i++) sdx_value_release((sdx_value *)c->in[i]);
    for (Py_ssize_t i = 0; i < c->n_out; i++) sdx_value_release(c->out[i]);
    PyMem_Free(c->block);
}

/* Position of a name; the usual case is that feeds come in the model's order under the very same string object. */
static Py_ssize_t port_find(const SessionObject *s, PyObject *name, Py_ssize_t guess)
{
    if (guess < s->n_ports && s->input_keys[guess] == name) return guess;
    PyObject *at = PyDict_GetItemWithError(s->input_index, name);
    if (at) return PyLong_AsSsize_t(at);
    if (!PyErr_Occurred()) {
        PyObject *what = Py_BuildValue("(sO)", "input", name);
        sdx_error err = { .code = SDX_INVALID_ARGUMENT };
        if (what) sdx_py_raise(&err, "name", what);
        Py_XDECREF(what);
    }
    return -1;
}

static int feed_add(Call *c, const SessionObject *s, PyObject *name, PyObject *obj)
{
    Py_ssize_t port = port_find(s, name, c->n_in);
    if (port < 0) return -1;
    sdx_value *v = (PyObject *)Py_TYPE(obj) == sdx_py_ndarray() && sdx_type_kind(s->input_types[port]) != SDX_SEQUENCE
                       ? sdx_py_array_to_value(obj)
                       : sdx_py_to_value(obj, s->input_types[port]);
    if (!v) return -1;
    c->in_names[c->n_in] = s->input_names[port];
    c->in[c->n_in++] = v;
    c->nbytes += (int64_t)sdx_value_nbytes(v);
    return 0;
}

/* Optional inputs that the caller leaves out are fed nothing; others may not be left out. */
static int feed_missing(Call *c, const SessionObject *s, PyObject *feed)
{
    Py_ssize_t given = c->n_in;
    for (Py_ssize_t i = 0; i < s->n_inputs; i++) {
        bool found = false;
        for (Py_ssize_t k = 0; k < given && !found; k++) found = c->in_names[k] == s->input_names[i];
        if (found) continue;
        if (sdx_type_kind(s->input_types[i]) != SDX_OPTIONAL) {
            PyObject *keys = PyDict_Keys(feed), *what = keys ? Py_BuildValue("(OO)", s, keys) : NULL;
            sdx_error err = { .code = SDX_INVALID_ARGUMENT };
            if (what) sdx_py_raise(&err, "missing", what);
            Py_XDECREF(what);
            Py_XDECREF(keys);
            return -1;
        }
        sdx_value *none = sdx_py_to_value(Py_None, NULL);
        if (!none) return -1;
        c->in_names[c->n_in] = s->input_names[i];
        c->in[c->n_in++] = none;
    }
    return 0;
}

static int call_feed(Call *c, const SessionObject *s, PyObject *feed)
{
    Py_ssize_t at = 0;
    PyObject *name, *obj;
    while (PyDict_Next(feed, &at, &name, &obj)) {
        if (c->n_in == s->n_ports) { /* more names than ports: one of them is unknown */
            if (port_find(s, name, 0) < 0) return -1;
            continue;
        }
        Py_INCREF(obj); /* conversions run Python code, which may change the dict */
        int rc = feed_add(c, s, name, obj);
        Py_DECREF(obj);
        if (rc < 0) return -1;
    }
    return c->n_in < s->n_inputs || s->n_ports > s->n_inputs ? feed_missing(c, s, feed) : 0;
}

/* names: None, or a list or tuple, of which an empty one also stands for all. */
static int call_wish(Call *c, const SessionObject *s, PyObject *names)
{
    Py_ssize_t n = names == Py_None ? 0 : PySequence_Size(names);
    for (Py_ssize_t i = 0; i < (n ? n : s->n_outputs); i++) {
        Py_ssize_t at = i;
        if (n) {
            PyObject *name = PyList_Check(names) ? PyList_GetItem(names, i) : PyTuple_GetItem(names, i);
            PyObject *found = name ? PyDict_GetItemWithError(s->output_index, name) : NULL;
            if (!found && !PyErr_Occurred()) {
                PyObject *what = Py_BuildValue("(sO)", "output", name);
                sdx_error err = { .code = SDX_INVALID_ARGUMENT };
                if (what) sdx_py_raise(&err, "name", what);
                Py_XDECREF(what);
            }
            at = found ? PyLong_AsSsize_t(found) : -1;
            if (at < 0) return -1;
        }
        c->out_names[i] = s->output_names[at];
        c->out[i] = NULL;
        c->n_out = i + 1;
    }
    return 0;
}

/* -- the GIL ---------------------------------------------------------------------------------------------------------- */

/* Letting go of the GIL costs more than a run of a tiny model, and taking it back can cost a whole switch interval when
 * other threads compute. So runs that were brief before, with feeds as large, keep it. */
enum { BRIEF_NS = 20000, BRIEF_CHECK = 64 };

static sdx_status call_engine(Call *c, SessionObject *s, const sdx_run_options *options, sdx_error *err)
{
    return sdx_session_run(s->session, c->in_names, c->in, (size_t)c->n_in, c->out_names, c->out, (size_t)c->n_out,
                           options, err);
}

static sdx_status call_run(Call *c, SessionObject *s, const sdx_run_options *options, sdx_error *err)
{
    sdx_status st;
    bool brief = !options && c->nbytes <= s->brief_bytes;
    if (brief && ++s->brief_runs % BRIEF_CHECK) return call_engine(c, s, options, err);
    int64_t start = sdx_py_now_ns();
    if (brief) {
        st = call_engine(c, s, options, err);
    } else {
        Py_BEGIN_ALLOW_THREADS st = call_engine(c, s, options, err);
        Py_END_ALLOW_THREADS
    }
    int64_t end = sdx_py_now_ns();
    if (s->profile) sdx_py_profile_run(s->profile, start, end);
    if (!brief && end - start < BRIEF_NS && c->nbytes > s->brief_bytes) s->brief_bytes = c->nbytes;
    if (brief && end - start > 2 * BRIEF_NS) s->brief_bytes = -1;
    return st;
}

/* -- run -------------------------------------------------------------------------------------------------------------- */

static PyObject *call_results(Call *c)
{
    PyObject *list = PyList_New(c->n_out);
    for (Py_ssize_t i = 0; list && i < c->n_out; i++) {
        sdx_value *v = c->out[i];
        c->out[i] = NULL;
        PyObject *obj = sdx_py_from_value(v);
        if (!obj || PyList_SetItem(list, i, obj) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *run_call(SessionObject *s, PyObject *names, PyObject *feed, PyObject *run_options)
{
    Call c;
    sdx_run_options o;
    const sdx_run_options *use;
    sdx_error err;
    PyObject *results = NULL;
    Py_ssize_t n_names = names == Py_None ? 0 : PySequence_Size(names);
    if (n_names < 0 || sdx_py_run_options(run_options, s, &o, &use) < 0) return NULL;
    if (call_init(&c, s->n_ports, n_names ? n_names : s->n_outputs) < 0) return NULL;
    if (call_feed(&c, s, feed) == 0 && call_wish(&c, s, names) == 0) {
        sdx_error_clear(&err);
        if (call_run(&c, s, use, &err) == SDX_OK) {
            results = call_results(&c);
        } else {
            PyObject *what = Py_BuildValue("(OO)", s, feed);
            if (what) sdx_py_raise(&err, "run", what);
            Py_XDECREF(what);
        }
    }
    call_finish(&c);
    return results;
}

static const char *const run_words[] = { "output_names", "input_feed", "run_options" };

/* given[i] of run_words, from positions and keywords. Borrowed. */
static int run_args(PyObject *const *args, Py_ssize_t n, PyObject *kwnames, PyObject *given[3])
{
    if (n > 3) {
        PyErr_Format(PyExc_TypeError, "run() takes at most 3 arguments, %zd were given", n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) given[i] = args[i];
    for (Py_ssize_t k = 0, nk = kwnames ? PyTuple_Size(kwnames) : 0; k < nk; k++) {
        PyObject *name = PyTuple_GetItem(kwnames, k);
        int i = 0;
        while (i < 3 && PyUnicode_CompareWithASCIIString(name, run_words[i]) != 0) i++;
        if (i == 3 || given[i]) {
            PyErr_Format(PyExc_TypeError, i == 3 ? "run() has no argument '%U'" : "run() was given '%U' twice", name);
            return -1;
        }
        given[i] = args[n + k];
    }
    if (given[0] && given[1]) return 0;
    PyErr_Format(PyExc_TypeError, "run() is missing the argument '%s'", run_words[given[0] ? 1 : 0]);
    return -1;
}

PyObject *sdx_py_run(SessionObject *s, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    PyObject *given[3] = { NULL };
    if (run_args(args, n, kwnames, given) < 0) return NULL;
    PyObject *names = given[0], *feed = given[1];
    if (names != Py_None && !PyList_Check(names) && !PyTuple_Check(names)) {
        if (PyUnicode_Check(names)) {
            PyErr_SetString(PyExc_TypeError, "output_names: a list of names is needed, not one name");
            return NULL;
        }
        if (!(names = PySequence_List(names))) return NULL;
    } else {
        Py_INCREF(names);
    }
    feed = PyDict_Check(feed) ? Py_NewRef(feed) : PyObject_CallFunctionObjArgs((PyObject *)&PyDict_Type, feed, NULL);
    PyObject *results = feed ? run_call(s, names, feed, given[2]) : NULL;
    Py_XDECREF(feed);
    Py_DECREF(names);
    return results;
}

/* -- Runner: what InferenceSession inherits, so that `run` needs no Python frame --------------------------------------- */

typedef struct RunnerObject {
    PyObject_HEAD PyObject *session; /* a Session, NULL before one is opened */
} RunnerObject;

static PyObject *runner_run(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    PyObject *session = ((RunnerObject *)self)->session;
    if (!session) {
        PyErr_SetString(PyExc_RuntimeError, "the session has no model");
        return NULL;
    }
    Py_INCREF(session); /* set_providers may replace it meanwhile */
    PyObject *results = sdx_py_run((SessionObject *)session, args, n, kwnames);
    Py_DECREF(session);
    return results;
}

static PyObject *runner_get_session(PyObject *self, void *closure)
{
    (void)closure;
    PyObject *session = ((RunnerObject *)self)->session;
    return Py_NewRef(session ? session : Py_None);
}

static int runner_set_session(PyObject *self, PyObject *value, void *closure)
{
    (void)closure;
    RunnerObject *r = (RunnerObject *)self;
    if (value && value != Py_None && !PyObject_TypeCheck(value, sdx_py_Session)) {
        PyErr_SetString(PyExc_TypeError, "_sess: a native session is needed");
        return -1;
    }
    PyObject *old = r->session;
    r->session = value && value != Py_None ? Py_NewRef(value) : NULL;
    Py_XDECREF(old);
    return 0;
}

static void runner_dealloc(PyObject *obj)
{
    PyTypeObject *type = Py_TYPE(obj);
    Py_XDECREF(((RunnerObject *)obj)->session);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(obj);
    Py_DECREF(type);
}

static PyMethodDef runner_methods[] = {
    { "run", (PyCFunction)(void (*)(void))runner_run, METH_FASTCALL | METH_KEYWORDS,
      "run($self, output_names, input_feed, run_options=None)\n--\n\n"
      "Computes outputs.\n\n"
      "output_names: list of str, or None or [] for all, in the model's order.\n"
      "input_feed: dict of input name to numpy array, list, scalar, OrtValue, anything with `__dlpack__` or a buffer;\n"
      "    lists for sequences, dicts for maps. Arrays are read where they are. No input is cast: dtypes have to\n"
      "    match, shapes too where the model has numbers.\n"
      "run_options: RunOptions, or None.\n\n"
      "Returns a list with, for each output, a numpy.ndarray over memory of its own (0-d for scalars, dtype object "
      "for\n"
      "strings), a list for a sequence, a dict for a map, None for an empty optional." },
    { NULL },
};

static PyGetSetDef runner_getset[] = {
    { "_sess", runner_get_session, runner_set_session, NULL, NULL },
    { NULL },
};

static PyType_Slot runner_slots[] = {
    { Py_tp_methods, runner_methods },
    { Py_tp_getset, runner_getset },
    { Py_tp_dealloc, runner_dealloc },
    { Py_tp_new, PyType_GenericNew },
    { 0, NULL },
};

static PyType_Spec runner_spec = {
    .name = "sardonyx._native.Runner",
    .basicsize = sizeof(RunnerObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = runner_slots,
};

int sdx_py_run_init(PyObject *module)
{
    sdx_py_RunOptions = (PyTypeObject *)PyType_FromSpec(&options_spec);
    sdx_py_Runner = sdx_py_RunOptions ? (PyTypeObject *)PyType_FromSpec(&runner_spec) : NULL;
    if (!sdx_py_Runner || PyModule_AddObjectRef(module, "RunOptions", (PyObject *)sdx_py_RunOptions) < 0) return -1;
    return PyModule_AddObjectRef(module, "Runner", (PyObject *)sdx_py_Runner);
}
