/* native.h - the extension module `sardonyx._native`: one file a type, and two files between Python objects and values.
 *
 * It wraps sardonyx.h and nothing else. It keeps to the limited API of Python 3.11 (Py_LIMITED_API, set by the build), so
 * one binary serves every later version; for 3.9 and 3.10, whose limited API has no buffers, the same sources are built for
 * that version alone. NumPy is known by its Python surface only: arrays come in through the buffer protocol and go out as
 * numpy.ndarray(shape, dtype, buffer) over a Value, which exports one. The package's Python files are the API that
 * people see; what is here is fast, small and private.
 *
 * All functions need the GIL. Those returning a PyObject * or pointer give NULL, those returning int give -1, with a
 * Python exception set. */
#ifndef SDX_PYTHON_NATIVE_H
#define SDX_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sardonyx/sardonyx.h"

/* Younger than the oldest Python that we build for. */
#if PY_VERSION_HEX < 0x030A0000
#define Py_TPFLAGS_DISALLOW_INSTANTIATION 0
static inline PyObject *sdx_py_newref(PyObject *o)
{
    Py_INCREF(o);
    return o;
}
#define Py_NewRef(o) sdx_py_newref((PyObject *)(o))
static inline int sdx_py_add(PyObject *module, const char *name, PyObject *o)
{
    Py_INCREF(o);
    if (PyModule_AddObject(module, name, o) == 0) return 0;
    Py_DECREF(o);
    return -1;
}
#define PyModule_AddObjectRef sdx_py_add
#endif

#define SDX_DTYPES 29   /* element types are numbered below this */
#define SDX_RANK_MAX 64 /* of buffers and dlpack tensors; the library refuses what is above its own limit */

/* -- types ---------------------------------------------------------------------------------------------------------- */

/* A tensor, sequence, map or nothing. */
typedef struct ValueObject {
    PyObject_HEAD sdx_value *value;
} ValueObject;

/* How a run may end early; `terminate` is set by any thread. */
typedef struct RunOptionsObject {
    PyObject_HEAD int cancel;
    long long timeout_ns, max_bytes, max_trips;
} RunOptionsObject;

typedef struct SessionObject {
    PyObject_HEAD sdx_session *session;
    PyObject *source;      /* the model's bytes, borrowed by the session; NULL for files */
    Py_buffer bytes;       /* of source */
    PyObject *files;       /* memoryviews of external data in memory, borrowed too */
    PyObject *path;        /* as given, or None */
    PyObject *input_index; /* name -> position among inputs, then overridable initializers */
    PyObject *output_index;
    PyObject **input_keys; /* the interned names, in order */
    const char **input_names, **output_names;
    const sdx_type **input_types;
    Py_ssize_t n_inputs, n_ports, n_outputs; /* ports: inputs and overridable initializers */
    int64_t brief_bytes;                     /* feeds up to this size ran so briefly that the GIL is kept; -1: none */
    unsigned brief_runs;
    struct Profile *profile; /* NULL when not profiling */
} SessionObject;

typedef struct BindingObject {
    PyObject_HEAD sdx_binding *binding;
    SessionObject *session;
} BindingObject;

extern PyTypeObject *sdx_py_Value, *sdx_py_RunOptions, *sdx_py_Session, *sdx_py_Runner, *sdx_py_Binding;

int sdx_py_value_init(PyObject *module);
int sdx_py_session_init(PyObject *module);
int sdx_py_run_init(PyObject *module);
int sdx_py_binding_init(PyObject *module);

/* A new instance of type (sdx_py_Value or a subclass) over v, whose reference it takes, also on failure. */
PyObject *sdx_py_value_new(PyTypeObject *type, sdx_value *v);
/* The value inside obj; NULL with TypeError when it is no Value. Borrowed. */
sdx_value *sdx_py_value_get(PyObject *obj);

/* -- errors --------------------------------------------------------------------------------------------------------- */

/* Raises what sardonyx._errors makes of a failure: `where` is "load", "run" or "", context what it concerns or NULL.
 * Returns NULL. */
PyObject *sdx_py_raise(const sdx_error *err, const char *where, PyObject *context);

/* Appends item, whose reference it takes, and returns list; NULL, with list released, when either is NULL or that fails. */
PyObject *sdx_py_list_add(PyObject *list, PyObject *item);

/* -- Python objects to values, and back ------------------------------------------------------------------------------ */

/* numpy.ndarray; imports NumPy on first use. Borrowed. */
PyObject *sdx_py_ndarray(void);
/* The NumPy dtype for an element type: of ml_dtypes where NumPy has none, of the storage when ml_dtypes is missing.
 * Borrowed. */
PyObject *sdx_py_dtype(sdx_dtype d);
/* The element type of a NumPy dtype, type or name; SDX_UNDEFINED when there is none (no exception). */
sdx_dtype sdx_py_dtype_of(PyObject *dtype);

/* obj as a value for a port of type want (NULL: whatever obj is). Arrays and other buffers are shared, not copied, when
 * they are contiguous. */
sdx_value *sdx_py_to_value(PyObject *obj, const sdx_type *want);
/* The same for NumPy arrays, by the shortest way. */
sdx_value *sdx_py_array_to_value(PyObject *array);
/* numpy array, list, dict or None. Takes the reference to v, also on failure. */
PyObject *sdx_py_from_value(sdx_value *v);

/* -- DLPack --------------------------------------------------------------------------------------------------------- */

/* A value over what obj.__dlpack__() hands out, on the CPU. */
sdx_value *sdx_py_from_dlpack(PyObject *obj);
/* A capsule with v's memory, which it retains. */
PyObject *sdx_py_to_dlpack(sdx_value *v);

/* -- runs ----------------------------------------------------------------------------------------------------------- */

/* run(output_names, input_feed, run_options=None), as a method of fast calling convention. */
PyObject *sdx_py_run(SessionObject *s, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames);
/* Run options from None or a RunOptions; *use is NULL when nothing is asked for. */
int sdx_py_run_options(PyObject *obj, SessionObject *s, sdx_run_options *o, const sdx_run_options **use);

/* -- profiles ------------------------------------------------------------------------------------------------------- */

typedef struct Profile Profile;

Profile *sdx_py_profile_create(void); /* NULL: out of memory */
void sdx_py_profile_destroy(Profile *p);
void sdx_py_profile_node(void *user, const sdx_node_event *event); /* an on_node callback; no GIL needed */
void sdx_py_profile_run(Profile *p, int64_t start_ns, int64_t end_ns);
int64_t sdx_py_profile_start_ns(const Profile *p);
/* [(category, name, op_type, start_ns, end_ns)] in order of their ends. */
PyObject *sdx_py_profile_events(Profile *p);

int64_t sdx_py_now_ns(void); /* CLOCK_MONOTONIC */

#endif
