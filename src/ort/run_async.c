/* Runs that return at once. A session that is asked for one starts threads of its own, as many as are busy at a time up
 * to a few; they end with the session. */
#include <pthread.h>

#include "ort/entries.h"

enum { ASYNC_THREADS = 4 };

/* Arrays are the caller's until the callback. */
typedef struct AsyncJob {
    struct AsyncJob *next;
    const OrtRunOptions *ro;
    const char *const *in_names, *const *out_names;
    const OrtValue *const *in;
    OrtValue **out;
    size_t n_in, n_out;
    OrtAsyncFn done;
    void *user;
} AsyncJob;

struct OrtAsync {
    OrtSession *session;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    AsyncJob *first, *last;
    pthread_t threads[ASYNC_THREADS];
    int n_threads, n_idle;
    bool closing;
};

/* The next job; NULL when there is none and will be none. */
static AsyncJob *async_take(OrtAsync *a)
{
    pthread_mutex_lock(&a->lock);
    a->n_idle++;
    while (!a->first && !a->closing) pthread_cond_wait(&a->wake, &a->lock);
    a->n_idle--;
    AsyncJob *j = a->first;
    if (j) a->first = j->next;
    pthread_mutex_unlock(&a->lock);
    return j;
}

static void *async_main(void *arg)
{
    OrtAsync *a = arg;
    for (AsyncJob *j; (j = async_take(a));) {
        OrtStatus *st = sdx_ort_Run(a->session, j->ro, j->in_names, j->in, j->n_in, j->out_names, j->n_out, j->out);
        AsyncJob done = *j;
        sdx_free(&sdx_alloc_default, j);
        done.done(done.user, done.out, done.n_out, st);
    }
    return NULL;
}

static OrtAsync *async_get(OrtSession *s)
{
    OrtAsync *a = __atomic_load_n(&s->async, __ATOMIC_ACQUIRE), *none = NULL;
    if (a) return a;
    a = sdx_alloc_zero(&sdx_alloc_default, sizeof *a);
    if (!a) return NULL;
    a->session = s;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->wake, NULL);
    if (__atomic_compare_exchange_n(&s->async, &none, a, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return a;
    pthread_cond_destroy(&a->wake);
    pthread_mutex_destroy(&a->lock);
    sdx_free(&sdx_alloc_default, a);
    return none;
}

void sdx_ort_async_finish(OrtSession *s)
{
    OrtAsync *a = s->async;
    if (!a) return;
    pthread_mutex_lock(&a->lock);
    a->closing = true;
    pthread_cond_broadcast(&a->wake);
    pthread_mutex_unlock(&a->lock);
    for (int i = 0; i < a->n_threads; i++) pthread_join(a->threads[i], NULL);
    pthread_cond_destroy(&a->wake);
    pthread_mutex_destroy(&a->lock);
    sdx_free(&sdx_alloc_default, a);
}

OrtStatus *sdx_ort_RunAsync(OrtSession *s, const OrtRunOptions *ro, const char *const *in_names,
                            const OrtValue *const *in, size_t n_in, const char *const *out_names, size_t n_out,
                            OrtValue **out, OrtAsyncFn done, void *user)
{
    if (!s || (n_in && (!in_names || !in)) || !out_names || !out || !done)
        return sdx_ort_null("session, names, values or callback");
    OrtAsync *a = async_get(s);
    AsyncJob *j = a ? sdx_alloc_zero(&sdx_alloc_default, sizeof *j) : NULL;
    if (!j) return sdx_ort_no_memory();
    *j = (AsyncJob){ .ro = ro,
                     .in_names = in_names,
                     .out_names = out_names,
                     .in = in,
                     .out = out,
                     .n_in = n_in,
                     .n_out = n_out,
                     .done = done,
                     .user = user };
    pthread_mutex_lock(&a->lock);
    if (!a->n_idle && a->n_threads < ASYNC_THREADS &&
        pthread_create(&a->threads[a->n_threads], NULL, async_main, a) == 0)
        a->n_threads++;
    bool ok = a->n_threads > 0;
    if (ok) {
        if (a->first)
            a->last->next = j;
        else
            a->first = j;
        a->last = j;
        pthread_cond_signal(&a->wake);
    }
    pthread_mutex_unlock(&a->lock);
    if (ok) return NULL;
    sdx_free(&sdx_alloc_default, j);
    return sdx_ort_fail(ORT_FAIL, "the system refused to start a thread for RunAsync");
}
