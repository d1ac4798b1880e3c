/* Profiles in the trace-event format that browsers and Perfetto read, laid out as ONNX Runtime's are. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ort/ort.h"

typedef struct Event {
    const char *category, *name, *op_type; /* names of nodes live as long as the model */
    int64_t start_ns, end_ns;
} Event;

struct OrtProfile {
    int lock; /* events of concurrent runs come from several threads */
    RunTrace trace;
    int64_t origin_ns;
    Event *events;
    size_t n, cap;
    char path[];
};

static void profile_add(OrtProfile *p, Event e)
{
    while (__atomic_exchange_n(&p->lock, 1, __ATOMIC_ACQUIRE)) {}
    if (p->n == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 256;
        Event *grown = sdx_alloc(&sdx_alloc_default, cap * sizeof *grown);
        if (grown) {
            if (p->n) memcpy(grown, p->events, p->n * sizeof *grown);
            sdx_free(&sdx_alloc_default, p->events);
            p->events = grown;
            p->cap = cap;
        }
    }
    if (p->n < p->cap) p->events[p->n++] = e; /* short of memory: the event is lost, the run is not */
    __atomic_store_n(&p->lock, 0, __ATOMIC_RELEASE);
}

static void profile_node(void *user, const Node *n, int64_t start_ns, int64_t end_ns, const Datum *const *in, int n_in,
                         Datum *const *out, int n_out)
{
    (void)in, (void)n_in, (void)out, (void)n_out;
    profile_add(user, (Event){ "Node", n->name, n->op_type, start_ns, end_ns });
}

OrtProfile *sdx_ort_profile_create(const char *prefix)
{
    time_t now = time(NULL);
    struct tm tm;
    struct timespec mono;
    char stamp[32];
    size_t size = sizeof(OrtProfile) + strlen(prefix) + sizeof stamp + 8;
    OrtProfile *p = sdx_alloc_zero(&sdx_alloc_default, size);
    if (!p) return NULL;
    localtime_r(&now, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%d_%H-%M-%S", &tm);
    snprintf(p->path, size - sizeof *p, "%s_%s.json", prefix, stamp);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    p->origin_ns = (int64_t)mono.tv_sec * 1000000000 + mono.tv_nsec;
    p->trace = (RunTrace){ profile_node, p };
    return p;
}

uint64_t sdx_ort_profile_start(const OrtProfile *p) { return (uint64_t)p->origin_ns; }

const RunTrace *sdx_ort_profile_trace(OrtProfile *p) { return &p->trace; }

void sdx_ort_profile_run(OrtProfile *p, int64_t start_ns, int64_t end_ns)
{
    profile_add(p, (Event){ "Session", "model_run", "", start_ns, end_ns });
}

static void put_text(FILE *f, const char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
}

static void put_event(FILE *f, const OrtProfile *p, const Event *e)
{
    fprintf(f, "{\"cat\":\"%s\",\"pid\":%ld,\"tid\":1,\"dur\":%" PRId64 ",\"ts\":%" PRId64 ",\"ph\":\"X\",\"name\":\"",
            e->category, (long)getpid(), (e->end_ns - e->start_ns) / 1000, (e->start_ns - p->origin_ns) / 1000);
    put_text(f, e->name);
    fprintf(f, "%s\",\"args\":{\"op_name\":\"", e->op_type[0] ? "_kernel_time" : "");
    put_text(f, e->op_type);
    fprintf(f, "\"}}");
}

const char *sdx_ort_profile_write(OrtProfile *p)
{
    FILE *f = fopen(p->path, "w");
    if (!f) return NULL;
    fputs("[\n", f);
    for (size_t i = 0; i < p->n; i++) {
        put_event(f, p, &p->events[i]);
        fputs(i + 1 < p->n ? ",\n" : "\n", f);
    }
    fputs("]\n", f);
    return fclose(f) == 0 ? p->path : NULL;
}

void sdx_ort_profile_destroy(OrtProfile *p)
{
    if (p) sdx_free(&sdx_alloc_default, p->events);
    sdx_free(&sdx_alloc_default, p);
}
