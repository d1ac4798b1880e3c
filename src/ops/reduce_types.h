/* ops/reduce_types.h - every reduction for one element type T with accumulator ACC; the names end in TAG. */
#ifdef IS_FLOAT
#define NEG_INF ((T)-INFINITY)
#define POS_INF ((T)INFINITY)
#define WINS_MAX(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))
#define WINS_MIN(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))
#else
#define NEG_INF ((T)LOWEST)
#define POS_INF ((T)HIGHEST)
#define WINS_MAX(a, b) ((b) > (a) ? (b) : (a))
#define WINS_MIN(a, b) ((b) < (a) ? (b) : (a))
#endif

/* a keeps a NaN it has: comparisons with it are false, so only WINS_* of b == NaN or plain order replace it. */
#define NAME max
#define PART T
#define TOTAL T
#define START NEG_INF
#define MAP(x) (x)
#define JOIN(a, b) WINS_MAX(a, b)
#define FINISH(a, n) (a)
#include "ops/reduce_tmpl.h"

#define NAME min
#define PART T
#define TOTAL T
#define START POS_INF
#define MAP(x) (x)
#define JOIN(a, b) WINS_MIN(a, b)
#define FINISH(a, n) (a)
#include "ops/reduce_tmpl.h"

#ifndef ONLY_MINMAX
#ifdef IS_FLOAT
#define PART_SUM T
#define SUM(a, b) ((a) + (b))
#define SQUARE(x) ((x) * (x))
#define ABSOLUTE(x) ((x) < 0 ? -(x) : (x))
#define MEAN(a, n) ((T)((a) / (double)(n)))
#else
/* Integers wrap, as two's complement does. */
#define PART_SUM ACC
#define SUM(a, b) ((ACC)((UACC)(a) + (UACC)(b)))
#define SQUARE(x) ((ACC)((UACC)(x) * (UACC)(x)))
#if LOWEST == 0
#define ABSOLUTE(x) (x)
#else
#define ABSOLUTE(x) ((x) < 0 ? (ACC)(0 - (UACC)(ACC)(x)) : (ACC)(x))
#endif
#define MEAN(a, n) ((T)((n) ? (a) / (ACC)(n) : 0))
#endif

#define NAME sum
#define PART PART_SUM
#define TOTAL ACC
#define START 0
#define MAP(x) (x)
#define JOIN(a, b) SUM(a, b)
#define FINISH(a, n) ((T)(a))
#define EXTRA mean
#define FINISH_EXTRA(a, n) MEAN(a, n)
#define EXTRA2 logsum
#define FINISH_EXTRA2(a, n) ((T)log((double)(a)))
#include "ops/reduce_tmpl.h"

#define NAME sumsq
#define PART PART_SUM
#define TOTAL ACC
#define START 0
#define MAP(x) SQUARE(x)
#define JOIN(a, b) SUM(a, b)
#define FINISH(a, n) ((T)(a))
#define EXTRA l2
#define FINISH_EXTRA(a, n) ((T)sqrt((double)(a)))
#include "ops/reduce_tmpl.h"

#define NAME l1
#define PART PART_SUM
#define TOTAL ACC
#define START 0
#define MAP(x) ABSOLUTE(x)
#define JOIN(a, b) SUM(a, b)
#define FINISH(a, n) ((T)(a))
#include "ops/reduce_tmpl.h"

#define NAME prod
#ifdef IS_FLOAT
#define PART T
#define TOTAL T
#define JOIN(a, b) ((a) * (b))
#else
#define PART ACC
#define TOTAL ACC
#define JOIN(a, b) ((ACC)((UACC)(a) * (UACC)(b)))
#endif
#define START 1
#define MAP(x) (x)
#define FINISH(a, n) ((T)(a))
#include "ops/reduce_tmpl.h"

/* sum of exp(x - max); a maximum that is infinite would give NaN, so it is not subtracted. */
#define NAME lse
#define PART double
#define TOTAL double
#define START 0
#define WITH_AUX
#define MAP(x, m) exp((double)(x) - (double)(m))
#define JOIN(a, b) ((a) + (b))
#define FINISH(a, m) ((T)(log(a) + (double)(m)))
#include "ops/reduce_tmpl.h"
#undef PART_SUM
#undef SUM
#undef SQUARE
#undef ABSOLUTE
#undef MEAN
#endif

#define RED_JOIN2(a, b) a##_##b
#define RED_JOIN(a, b) RED_JOIN2(a, b)
#define ROW(name) RED_JOIN(fns_##name, TAG)
static const ReduceFns RED_JOIN(reduce_table, TAG)[RED_OPS] = {
#define FNS(name, fin) { sizeof(RED_JOIN(name##_total, TAG)), RED_JOIN(init_##name, TAG), RED_JOIN(fold_##name, TAG),  \
                         RED_JOIN(rows_##name, TAG), RED_JOIN(finish_##fin, TAG) }
    [RED_MAX] = FNS(max, max),
    [RED_MIN] = FNS(min, min),
#ifndef ONLY_MINMAX
    [RED_SUM] = FNS(sum, sum),
    [RED_MEAN] = FNS(sum, mean),
    [RED_PROD] = FNS(prod, prod),
    [RED_L1] = FNS(l1, l1),
    [RED_L2] = FNS(sumsq, l2),
    [RED_SUMSQ] = FNS(sumsq, sumsq),
    [RED_LOGSUM] = FNS(sum, logsum),
    [RED_LOGSUMEXP] = FNS(lse, lse),
#endif
};
#undef FNS
#undef ROW
#undef RED_JOIN
#undef RED_JOIN2
#undef NEG_INF
#undef POS_INF
#undef WINS_MAX
#undef WINS_MIN
#undef T
#undef ACC
#undef UACC
#undef TAG
#undef IS_FLOAT
#undef LOWEST
#undef HIGHEST
#undef ONLY_MINMAX
