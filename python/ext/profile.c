/* What ran when: a list of events that sardonyx._profile writes as a trace file. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "native.h"

typedef struct Event {
    const char *category, *name, *op_type; /* names of nodes live as long as the model */
    int64_t start_ns, end_ns;
} Event;

struct Profile {
    pthread_mutex_t lock; /* runs of several threads add events */
    int64_t origin_ns;
    Event *events;
    size_t n, cap;
};

int64_t sdx_py_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

Profile *sdx_py_profile_create(void)
{
    Profile *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    pthread_mutex_init(&p->lock, NULL);
    p->origin_ns = sdx_py_now_ns();
    return p;
}

void sdx_py_profile_destroy(Profile *p)
{
    if (!p) return;
    pthread_mutex_destroy(&p->lock);
    free(p->events);
    free(p);
}

int64_t sdx_py_profile_start_ns(const Profile *p) { return p->origin_ns; }

static void profile_add(Profile *p, Event e)
{
    pthread_mutex_lock(&p->lock);
    if (p->n == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 256;
        Event *grown = realloc(p->events, cap * sizeof *grown);
        if (grown) {
            p->events = grown;
            p->cap = cap;
        }
    }
    if (p->n < p->cap) p->events[p->n++] = e; /* short of memory: the event is lost, the run is not */
    pthread_mutex_unlock(&p->lock);
}

void sdx_py_profile_node(void *user, const sdx_node_event *e)
{
    profile_add(user, (Event){ "Node", e->name, e->op_type, e->start_ns, e->end_ns });
}

void sdx_py_profile_run(Profile *p, int64_t start_ns, int64_t end_ns)
{
    profile_add(p, (Event){ "Session", "model_run", "", start_ns, end_ns });
}

PyObject *sdx_py_profile_events(Profile *p)
{
    pthread_mutex_lock(&p->lock);
    size_t n = p->n;
    Event *events = n ? malloc(n * sizeof *events) : NULL;
    if (events) memcpy(events, p->events, n * sizeof *events);
    pthread_mutex_unlock(&p->lock);
    if (n && !events) return PyErr_NoMemory();
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        const Event *e = &events[i];
        PyObject *item = Py_BuildValue("(sssLL)", e->category, e->name, e->op_type, (long long)e->start_ns,
                                       (long long)e->end_ns);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
    }
    free(events);
    return list;
}
