/* ops/regex_match.c - RegexFullMatch: does all of a string match a pattern of RE2? */
#include "base/regex.h"
#include "base/size.h"
#include "ops/run.h"

typedef struct RegexAttrs {
    Str pattern;
} RegexAttrs;
static const AttrSpec regex_attrs[] = { OP_STR(RegexAttrs, pattern, NULL), OP_ATTR_END };

/* Compiling is cheap, and a wrong pattern is better told when the model is opened. */
static sdx_status regex_infer(Infer *c)
{
    const RegexAttrs *a = c->args;
    Err why = { 0 };
    Regex *re;
    if (!sdx_node_attr(c->node, "pattern")) return sdx_infer_fail(c, "there is no pattern");
    sdx_status st = sdx_regex_compile(&re, a->pattern.p, a->pattern.n, c->arena, &why);
    if (st == SDX_OUT_OF_MEMORY) return sdx_fail(c->err, st, "%s", why.text);
    if (st != SDX_OK) return sdx_infer_fail(c, "%s", why.text);
    return sdx_infer_same_shape(c);
}

static sdx_status regex_prepare(Prepare *p)
{
    const RegexAttrs *a = p->args;
    Regex *re;
    TRY(sdx_regex_compile(&re, a->pattern.p, a->pattern.n, p->arena, p->err));
    if (!sdx_mul_size(&p->scratch, sdx_regex_work(re), (size_t)(p->threads > 0 ? p->threads : 1)))
        return sdx_fail(p->err, SDX_OUT_OF_MEMORY, "out of memory");
    p->state = re;
    return SDX_OK;
}

typedef struct RegexJob {
    Run *r;
    const Str *x;
    bool *y;
    int stopped; /* atomic */
} RegexJob;

static bool regex_stop(void *user)
{
    RegexJob *j = user;
    if (sdx_root_poll(j->r->env->root, NULL) == SDX_OK) return false;
    __atomic_store_n(&j->stopped, 1, __ATOMIC_RELAXED);
    return true;
}

static void regex_range(void *arg, int64_t from, int64_t to, int worker)
{
    RegexJob *j = arg;
    const Regex *re = j->r->state;
    void *work = (char *)j->r->scratch + (size_t)worker * sdx_regex_work(re);
    if (regex_stop(j)) return;
    for (int64_t i = from; i < to; i++)
        j->y[i] = sdx_regex_full(re, j->x[i].p, j->x[i].n, work, regex_stop, j) == REGEX_YES;
}

static sdx_status regex_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    RegexJob j = { .r = r, .x = x->data };
    void *y;
    TRY(sdx_run_output(r, 0, DT_BOOL, x->rank, x->dims, &y));
    j.y = y;
    sdx_run_range(r, sdx_tensor_count(x), 32, regex_range, &j);
    return j.stopped ? sdx_run_poll(r) : SDX_OK;
}

static const OpVer regex_vers[] = { { 20, { TS_STR } }, { 0 } };

const OpDef sdx_op_RegexFullMatch = {
    .name = "RegexFullMatch",
    .sig = "str->bool",
    .attrs = regex_attrs,
    .attrs_size = sizeof(RegexAttrs),
    .vers = regex_vers,
    .infer = regex_infer,
    .cpu = { regex_prepare, regex_run },
};
