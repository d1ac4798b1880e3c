/* What callers hand in, against what the model declares. Every mistake is listed, each with its remedy. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "session/session_parts.h"

typedef struct Complaints {
    char text[SDX_ERR_TEXT];
    int n;
} Complaints;

static void complain(Complaints *c, const char *fmt, ...) SDX_PRINTF(2, 3);

static void complain(Complaints *c, const char *fmt, ...)
{
    size_t at = strlen(c->text);
    if (c->n++ && at + 2 < sizeof c->text) memcpy(c->text + at, "; ", 3), at += 2;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->text + at, sizeof c->text - at, fmt, ap);
    va_end(ap);
}

static const char *kind_text(DatumKind k)
{
    switch (k) {
    case DATUM_NONE: return "nothing";
    case DATUM_TENSOR: return "a tensor";
    case DATUM_SEQUENCE: return "a sequence";
    case DATUM_MAP: return "a map";
    case DATUM_SPARSE: return "a sparse tensor";
    }
    return "something else";
}

static bool shape_fits(const Shape *s, const Tensor *t)
{
    if (s->rank == SDX_RANK_UNKNOWN) return true;
    if (s->rank != t->rank) return false;
    for (int i = 0; i < s->rank; i++)
        if (s->dims[i] >= 0 && s->dims[i] != t->dims[i]) return false;
    return true;
}

/* Would t fit from dimension k on, from i on of s, with sizes of 1 added or removed? */
static bool fits_but_for_ones(const Shape *s, int i, const Tensor *t, int k)
{
    if (i == s->rank && k == t->rank) return true;
    if (i < s->rank && (s->dims[i] == 1 || s->dims[i] < 0) && fits_but_for_ones(s, i + 1, t, k)) return true;
    if (k < t->rank && t->dims[k] == 1 && fits_but_for_ones(s, i, t, k + 1)) return true;
    return i < s->rank && k < t->rank && (s->dims[i] < 0 || s->dims[i] == t->dims[k]) &&
           fits_but_for_ones(s, i + 1, t, k + 1);
}

static void check_tensor(Complaints *c, const Session *s, const Value *v, const Type *want, const Tensor *t)
{
    char declared[256], dims[256];
    int64_t count;
    sdx_type_text(s->model->syms, want, declared, sizeof declared);
    sdx_dims_text(dims, sizeof dims, t->dims, t->rank);
    if (want->elem != DT_NONE && want->elem != t->dtype)
        complain(c, "input `%s` is %s, the model takes %s: convert it to %s", v->name, sdx_dtype_name(t->dtype),
                 declared, sdx_dtype_name(want->elem));
    if (t->rank < 0 || t->rank > SDX_MAX_RANK || !sdx_shape_count(t->dims, t->rank, &count))
        complain(c, "input `%s` has no valid shape", v->name);
    else if (count && !t->data)
        complain(c, "input `%s` has shape %s but no data", v->name, dims);
    else if (!shape_fits(&want->shape, t))
        complain(c, "input `%s` has shape %s, the model takes %s: %s", v->name, dims, declared,
                 want->shape.rank != t->rank && fits_but_for_ones(&want->shape, 0, t, 0)
                     ? "add or remove dimensions of size 1"
                 : want->shape.rank != t->rank ? "give it that number of dimensions"
                                               : "numbers have to match, names stand for any size");
}

static void check_datum(Complaints *c, const Session *s, const Value *v, const Type *want, const Datum *d)
{
    if (want->kind == TYPE_OPTIONAL) {
        if (d->kind == DATUM_NONE) return;
        static const Type unknown = { .shape.rank = SDX_RANK_UNKNOWN };
        want = want->of ? want->of : &unknown;
    }
    static const DatumKind kinds[] = {
        [TYPE_UNKNOWN] = DATUM_NONE,      [TYPE_TENSOR] = DATUM_TENSOR, [TYPE_SPARSE] = DATUM_SPARSE,
        [TYPE_SEQUENCE] = DATUM_SEQUENCE, [TYPE_MAP] = DATUM_MAP,       [TYPE_OPTIONAL] = DATUM_NONE,
        [TYPE_OPAQUE] = DATUM_NONE
    };
    DatumKind kind = kinds[want->kind];
    if (kind != DATUM_NONE && d->kind != kind) {
        complain(c, "input `%s` is %s, the model takes %s", v->name, kind_text(d->kind), kind_text(kind));
        return;
    }
    if (d->kind == DATUM_TENSOR) {
        check_tensor(c, s, v, want, &d->t);
    } else if (d->kind == DATUM_SEQUENCE && want->of && want->of->kind == TYPE_TENSOR) {
        for (int64_t i = 0; i < d->seq->n; i++)
            if (d->seq->items[i].kind != DATUM_TENSOR || d->seq->items[i].t.dtype != want->of->elem) {
                complain(c, "element %lld of input `%s` is no %s tensor", (long long)i, v->name,
                         sdx_dtype_name(want->of->elem));
                break;
            }
    } else if (d->kind == DATUM_MAP && want->elem != DT_NONE && d->map->keys.t.dtype != want->elem) {
        complain(c, "the keys of input `%s` are %s, the model takes %s", v->name, sdx_dtype_name(d->map->keys.t.dtype),
                 sdx_dtype_name(want->elem));
    }
}

sdx_status sdx_ses_check(const Session *s, const RunSpec *spec, const Datum *const *in, Err *err)
{
    Complaints c = { .n = 0 };
    for (int i = 0; i < spec->n_in; i++) {
        const Value *v = s->wires[spec->in[i]];
        if (!in[i])
            complain(&c, "input `%s` is missing", v->name);
        else
            check_datum(&c, s, v, &v->type, in[i]);
    }
    return c.n ? sdx_fail(err, SDX_INVALID_ARGUMENT, "%s", c.text) : SDX_OK;
}
