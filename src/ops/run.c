/* The services that running operators call: outputs, memory, limits, ranges. */
#include "ops/run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/futex.h"
#include "base/size.h"

/* -- failures ------------------------------------------------------------------------------------------------------- */

static sdx_status fail_at(const Node *n, Err *err, sdx_status code, const char *fmt, va_list ap)
{
    char node[256], text[640];
    vsnprintf(text, sizeof text, fmt, ap);
    return sdx_fail(err, code, "%s: %s", sdx_node_text(n, node, sizeof node), text);
}

sdx_status sdx_run_fail(const Run *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    sdx_status st = fail_at(r->node, r->err, SDX_RUN_FAILED, fmt, ap);
    va_end(ap);
    return st;
}

sdx_status sdx_run_fail_as(const Run *r, sdx_status code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    sdx_status st = fail_at(r->node, r->err, code, fmt, ap);
    va_end(ap);
    return st;
}

sdx_status sdx_prepare_fail(const Prepare *p, sdx_status code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    sdx_status st = fail_at(p->node, p->err, code, fmt, ap);
    va_end(ap);
    return st;
}

sdx_status sdx_root_no_memory(const RunRoot *root, Err *err)
{
    if (root->heap && sdx_heap_refused(root->heap))
        return sdx_fail(err, SDX_LIMIT_BYTES, "the run needs more memory than its limit allows");
    return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
}

/* -- limits --------------------------------------------------------------------------------------------------------- */

sdx_status sdx_root_poll(const RunRoot *root, Err *err)
{
    if (root->cancel && __atomic_load_n(root->cancel, __ATOMIC_RELAXED))
        return sdx_fail(err, SDX_CANCELLED, "the run was cancelled");
    if (root->deadline_ns && sdx_now_ns() >= root->deadline_ns)
        return sdx_fail(err, SDX_LIMIT_TIME, "the run took longer than its limit allows");
    return SDX_OK;
}

sdx_status sdx_run_poll(Run *r) { return sdx_root_poll(r->env->root, r->err); }

sdx_status sdx_run_trip(Run *r)
{
    RunRoot *root = r->env->root;
    if (root->trips_left != INT64_MAX && root->trips_left-- <= 0) {
        char node[256];
        return sdx_fail(r->err, SDX_LIMIT_TRIPS, "%s: the loops of this run made %" PRId64 " trips, the limit",
                        sdx_node_text(r->node, node, sizeof node), root->max_trips);
    }
    return sdx_root_poll(root, r->err);
}

/* -- memory --------------------------------------------------------------------------------------------------------- */

const Alloc *sdx_run_alloc(const Run *r) { return sdx_heap_alloc(r->env->root->heap); }

void *sdx_run_heap(Run *r, size_t nbytes)
{
    RunRoot *root = r->env->root;
    while (__atomic_exchange_n(&root->strings_busy, 1, __ATOMIC_ACQUIRE)) sdx_cpu_relax();
    void *p = sdx_arena_alloc(&root->strings, nbytes, _Alignof(max_align_t));
    __atomic_store_n(&root->strings_busy, 0, __ATOMIC_RELEASE);
    return p;
}

/* The plan fixed output o: the shape found while running must be that one. */
static sdx_status check_static(Run *r, int o, DType dtype, int rank, const int64_t *dims)
{
    const Tensor *t = &r->out[o]->t;
    if (t->dtype == dtype && sdx_dims_equal(t->dims, t->rank, dims, rank)) return SDX_OK;
    char want[160], got[160];
    return sdx_run_fail(r, "output %d came out as %s%s, planned as %s%s", o, sdx_dtype_name(dtype),
                        sdx_dims_text(got, sizeof got, dims, rank), sdx_dtype_name(t->dtype),
                        sdx_dims_text(want, sizeof want, t->dims, t->rank));
}

static sdx_status output_missing(Run *r, int o)
{
    char node[256];
    return sdx_fail(r->err, SDX_INTERNAL, "%s: makes output %d, which nobody asked for",
                    sdx_node_text(r->node, node, sizeof node), o);
}

sdx_status sdx_run_output(Run *r, int o, DType dtype, int rank, const int64_t *dims, void **data)
{
    Datum *d = o < r->n_out ? r->out[o] : NULL;
    if (!d) return output_missing(r, o);
    if (d->kind != DATUM_NONE) {
        TRY(check_static(r, o, dtype, rank, dims));
    } else {
        sdx_status st = sdx_datum_tensor(d, sdx_run_alloc(r), dtype, rank, dims, NULL);
        if (st == SDX_OUT_OF_MEMORY) return sdx_root_no_memory(r->env->root, r->err);
        if (st != SDX_OK) {
            char got[160];
            return sdx_run_fail(r, "output %d cannot have shape %s", o, sdx_dims_text(got, sizeof got, dims, rank));
        }
    }
    if (data) *data = d->t.data;
    return SDX_OK;
}

sdx_status sdx_run_forward(Run *r, int o, const Datum *src)
{
    Datum *d = o < r->n_out ? r->out[o] : NULL;
    if (!d) return output_missing(r, o);
    if (d->kind == DATUM_NONE) {
        sdx_status st = sdx_datum_share(d, src, sdx_run_alloc(r), r->err);
        return st == SDX_OUT_OF_MEMORY ? sdx_root_no_memory(r->env->root, r->err) : st;
    }
    if (src->kind != DATUM_TENSOR) return sdx_run_fail(r, "output %d is not a tensor, but planned as one", o);
    TRY(check_static(r, o, src->t.dtype, src->t.rank, src->t.dims));
    size_t nbytes;
    if (sdx_tensor_nbytes(&src->t, &nbytes) && nbytes && d->t.data != src->t.data)
        memcpy(d->t.data, src->t.data, nbytes);
    return SDX_OK;
}

/* -- nested graphs, ranges ------------------------------------------------------------------------------------------ */

sdx_status sdx_run_graph(Run *r, Graph *body, const Datum *const *in, int n_in, Datum *out, int n_out)
{
    if (!r->env->graph) {
        char node[256];
        return sdx_fail(r->err, SDX_UNSUPPORTED, "%s: nested graphs cannot run here",
                        sdx_node_text(r->node, node, sizeof node));
    }
    return r->env->graph(r, body, in, n_in, out, n_out);
}

typedef struct RangeJob {
    RangeFn fn;
    void *arg;
    int64_t n, grain;
    const int *cancel;
} RangeJob;

static void range_chunk(void *arg, int64_t chunk, int worker)
{
    const RangeJob *j = arg;
    if (j->cancel && __atomic_load_n(j->cancel, __ATOMIC_RELAXED)) return; /* the executor reports it after the node */
    int64_t from = chunk * j->grain, to = j->n - from < j->grain ? j->n : from + j->grain;
    j->fn(j->arg, from, to, worker);
}

void sdx_run_range(const Run *r, int64_t n, int64_t grain, RangeFn fn, void *arg)
{
    if (n <= 0) return;
    if (grain < 1) grain = 1;
    if (n <= grain) {
        fn(arg, 0, n, 0);
        return;
    }
    RangeJob job = { fn, arg, n, grain, r->env ? r->env->root->cancel : NULL };
    sdx_pool_run(r->pool, range_chunk, &job, n / grain + (n % grain != 0));
}

char sdx_no_scratch[1];

/* -- one node at once ----------------------------------------------------------------------------------------------- */

sdx_status sdx_run_once(RunEnv *env, const RunTools *tools, const Node *n, const Datum *const *in, int n_in,
                        const bool *in_const, Datum *const *out, int n_out, Arena *arena, Err *err)
{
    Prepare p = {
        .node = n,
        .args = n->args,
        .n_in = n_in,
        .n_out = n_out,
        .in = in,
        .out = out,
        .in_const = in_const,
        .arena = arena,
        .kern = tools->kern,
        .threads = sdx_pool_threads(tools->pool),
        .flush_subnormals = tools->flush_subnormals,
        .may_round = tools->may_round,
        .packs = tools->packs,
        .err = err,
    };
    TRY(sdx_op_prepare(&p));
    Run r = {
        .node = n,
        .args = n->args,
        .state = p.state,
        .n_in = n_in,
        .n_out = n_out,
        .in = in,
        .out = out,
        .scratch = sdx_no_scratch,
        .pool = tools->pool,
        .env = env,
        .err = err,
    };
    if (p.scratch && !(r.scratch = sdx_arena_alloc(arena, p.scratch, SDX_ALIGN)))
        return sdx_root_no_memory(env->root, err);
    return sdx_op_run(&r);
}
