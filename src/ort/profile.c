/* Profiles in the trace-event format that browsers and Perfetto read, laid out as ONNX Runtime's are. */
#define _GNU_SOURCE /* SYS_gettid */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ort/ort.h"

typedef struct Event {
    const char *category, *name, *args; /* in the arena, or literals */
    int64_t start_ns, end_ns;
    long thread;
} Event;

struct OrtProfile {
    int lock; /* events of concurrent runs come from several threads */
    RunTrace trace;
    Arena arena;
    int64_t origin_ns;
    Event *events;
    int n, cap;
    char path[];
};

/* Short of memory: the event is lost, the run is not. args may be NULL. */
static void profile_add(OrtProfile *p, Event e)
{
    e.thread = syscall(SYS_gettid);
    while (__atomic_exchange_n(&p->lock, 1, __ATOMIC_ACQUIRE)) {}
    e.name = sdx_arena_strndup(&p->arena, e.name, strlen(e.name));
    e.args = sdx_arena_strndup(&p->arena, e.args ? e.args : "", e.args ? strlen(e.args) : 0);
    if (e.name && e.args && sdx_arena_grow(&p->arena, p->events, p->n, p->cap)) p->events[p->n++] = e;
    __atomic_store_n(&p->lock, 0, __ATOMIC_RELEASE);
}

/* A text that is cut when it does not fit. */
typedef struct Text {
    char *p;
    size_t n, size;
} Text;

static void put(Text *t, const char *fmt, ...) SDX_PRINTF(2, 3);
static void put(Text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(t->p + t->n, t->size - t->n, fmt, args);
    va_end(args);
    t->n = n < 0 || (size_t)n >= t->size - t->n ? t->size - 1 : t->n + (size_t)n;
}

/* [{"float":[2,3]},...]; returns the bytes of all. */
static size_t put_shapes(Text *t, const char *key, const Datum *const *list, int n)
{
    size_t total = 0, nbytes;
    bool first = true;
    put(t, ",\"%s\":[", key);
    for (int i = 0; i < n; i++) {
        if (!list[i] || list[i]->kind != DATUM_TENSOR) continue;
        const Tensor *x = &list[i]->t;
        put(t, "%s{\"%s\":[", first ? "" : ",", sdx_dtype_name(x->dtype));
        for (int k = 0; k < x->rank; k++) put(t, "%s%" PRId64, k ? "," : "", x->dims[k]);
        put(t, "]}");
        first = false;
        if (sdx_tensor_nbytes(x, &nbytes)) total += nbytes;
    }
    put(t, "]");
    return total;
}

static void profile_node(void *user, const Node *n, int64_t start_ns, int64_t end_ns, const Datum *const *in, int n_in,
                         Datum *const *out, int n_out)
{
    char name[512], args[4096];
    Text t = { args, 0, sizeof args - 64 }; /* what is cut still ends properly */
    put(&t, "\"op_name\":\"%s\",\"provider\":\"" ORT_CPU_PROVIDER "\",\"node_index\":\"%d\"", n->op_type, n->id);
    size_t in_nbytes = put_shapes(&t, "input_type_shape", in, n_in);
    size_t out_nbytes = put_shapes(&t, "output_type_shape", (const Datum *const *)out, n_out);
    if (t.n == t.size - 1) {
        t.n = 0;
        put(&t, "\"op_name\":\"%s\",\"provider\":\"" ORT_CPU_PROVIDER "\"", n->op_type);
    }
    t.size = sizeof args;
    put(&t, ",\"activation_size\":\"%zu\",\"output_size\":\"%zu\"", in_nbytes, out_nbytes);
    if (n->name[0])
        snprintf(name, sizeof name, "%s_kernel_time", n->name);
    else
        snprintf(name, sizeof name, "%s_%d_kernel_time", n->op_type, n->id);
    profile_add(user, (Event){ "Node", name, args, start_ns, end_ns, 0 });
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
    sdx_arena_init(&p->arena, &sdx_alloc_default, 0);
    p->origin_ns = (int64_t)mono.tv_sec * 1000000000 + mono.tv_nsec;
    p->trace = (RunTrace){ profile_node, p };
    return p;
}

uint64_t sdx_ort_profile_start(const OrtProfile *p) { return (uint64_t)p->origin_ns; }

const RunTrace *sdx_ort_profile_trace(OrtProfile *p) { return &p->trace; }

void sdx_ort_profile_event(OrtProfile *p, const char *name, int64_t start_ns, int64_t end_ns)
{
    profile_add(p, (Event){ "Session", name, NULL, start_ns, end_ns, 0 });
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
    fprintf(f,
            "{\"cat\" : \"%s\",\"pid\" :%ld,\"tid\" :%ld,\"dur\" :%" PRId64 ",\"ts\" :%" PRId64
            ",\"ph\" : \"X\",\"name\" :\"",
            e->category, (long)getpid(), e->thread, (e->end_ns - e->start_ns) / 1000,
            (e->start_ns - p->origin_ns) / 1000);
    put_text(f, e->name);
    fprintf(f, "\",\"args\" : {%s}}", e->args);
}

const char *sdx_ort_profile_write(OrtProfile *p)
{
    FILE *f = fopen(p->path, "w");
    if (!f) return NULL;
    fputs("[\n", f);
    for (int i = 0; i < p->n; i++) {
        put_event(f, p, &p->events[i]);
        fputs(i + 1 < p->n ? ",\n" : "\n", f);
    }
    fputs("]\n", f);
    return fclose(f) == 0 ? p->path : NULL;
}

void sdx_ort_profile_destroy(OrtProfile *p)
{
    if (p) sdx_arena_fini(&p->arena);
    sdx_free(&sdx_alloc_default, p);
}
