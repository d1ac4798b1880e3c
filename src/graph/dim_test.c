#include "graph/dim.h"

#include <string.h>

#include "tests/harness.h"

static Arena arena;
static SymTab *tab;

static DimVal num(int64_t v) { return sdx_dimval_num(v); }
static DimVal named(const char *name) { return sdx_dimval_of(sdx_dim_named(tab, name, strlen(name))); }
static DimVal add(DimVal a, DimVal b) { return sdx_dimval_add(tab, a, b); }
static DimVal sub(DimVal a, DimVal b) { return sdx_dimval_sub(tab, a, b); }
static DimVal mul(DimVal a, DimVal b) { return sdx_dimval_mul(tab, a, b); }
static DimVal floordiv(DimVal a, DimVal b) { return sdx_dimval_floordiv(tab, a, b); }
static DimVal min(DimVal a, DimVal b) { return sdx_dimval_min(tab, a, b); }
static DimVal max(DimVal a, DimVal b) { return sdx_dimval_max(tab, a, b); }

static void begin(void)
{
    sdx_arena_init(&arena, &sdx_alloc_default, 0);
    tab = sdx_symtab_create(&arena);
}

static void check_text(DimVal v, const char *want)
{
    char buf[128];
    CHECK_STR(v.known ? "a number" : sdx_dim_text(tab, v.sym, buf, sizeof buf), want);
}

static void same_name_same_handle(void)
{
    begin();
    CHECK(sdx_dimval_equal(named("N"), named("N")));
    CHECK(!sdx_dimval_equal(named("N"), named("M")));
    CHECK(sdx_dim_fresh(tab) != sdx_dim_fresh(tab));
    CHECK_STR(sdx_dim_name(tab, named("N").sym), "N");
    CHECK_STR(sdx_dim_name(tab, add(named("N"), num(1)).sym), NULL);
    for (int i = 0; i < 1000; i++) {
        char name[8] = { 's', (char)('0' + i / 100), (char)('0' + i / 10 % 10), (char)('0' + i % 10) };
        CHECK(sdx_dimval_equal(named(name), named(name)));
    }
    sdx_arena_fini(&arena);
}

static void polynomials_are_canonical(void)
{
    begin();
    DimVal n = named("N"), m = named("M");
    CHECK(sdx_dimval_equal(mul(add(n, m), add(n, m)), add(add(mul(n, n), mul(m, n)), add(mul(n, m), mul(m, m)))));
    CHECK(sdx_dimval_equal(sub(add(n, m), n), m));
    CHECK_INT(sub(n, n).v, 0);
    CHECK(sub(n, n).known);
    check_text(add(mul(num(2), n), num(1)), "2*N+1");
    check_text(sub(num(3), mul(n, m)), "-N*M+3");
    sdx_arena_fini(&arena);
}

static void division(void)
{
    begin();
    DimVal n = named("N"), m = named("M");
    CHECK(sdx_dimval_equal(floordiv(mul(mul(n, m), num(64)), mul(n, m)), num(64)));
    CHECK(sdx_dimval_equal(floordiv(mul(n, num(768)), num(12)), mul(n, num(64))));
    CHECK(sdx_dimval_equal(floordiv(mul(add(n, num(1)), m), add(n, num(1))), m));
    CHECK(sdx_dimval_equal(floordiv(add(mul(n, num(4)), num(3)), num(4)), n));
    CHECK(sdx_dimval_equal(floordiv(floordiv(n, num(2)), num(2)), floordiv(n, num(4))));
    /* Two strided convolutions: floor((H-1)/2)+1 twice is floor((H-1)/4)+1. */
    DimVal half = add(floordiv(sub(n, num(1)), num(2)), num(1));
    CHECK(sdx_dimval_equal(add(floordiv(sub(half, num(1)), num(2)), num(1)),
                           add(floordiv(sub(n, num(1)), num(4)), num(1))));
    CHECK(sdx_dimval_equal(sdx_dimval_ceildiv(tab, n, num(2)), half));
    CHECK(sdx_dimval_equal(sdx_dimval_div(tab, n, num(2)), floordiv(n, num(2))));
    CHECK(!sdx_dimval_equal(sdx_dimval_div(tab, sub(n, num(5)), num(2)), floordiv(sub(n, num(5)), num(2))));
    CHECK(sdx_dimval_equal(sdx_dimval_mod(tab, mul(n, num(6)), num(3)), num(0)));
    CHECK_INT(sdx_dimval_div(NULL, num(-7), num(2)).v, -3);
    CHECK_INT(floordiv(num(-7), num(2)).v, -4);
    CHECK_INT(floordiv(num(7), num(-2)).v, -4);
    CHECK_INT(sdx_dimval_mod(tab, num(-7), num(3)).v, 2);
    CHECK(!floordiv(n, num(0)).known);
    CHECK_INT(floordiv(n, num(0)).sym, SDX_DIM_UNKNOWN);
    sdx_arena_fini(&arena);
}

static void minima_and_maxima(void)
{
    begin();
    DimVal n = named("N"), m = named("M");
    CHECK(sdx_dimval_equal(max(n, num(0)), n));
    CHECK(sdx_dimval_equal(min(n, num(-1)), num(-1)));
    CHECK(sdx_dimval_equal(min(n, add(n, num(1))), n));
    CHECK(sdx_dimval_equal(max(n, m), max(m, n)));
    CHECK(sdx_dimval_equal(add(min(n, m), max(n, m)), add(n, m)));
    CHECK(sdx_dimval_equal(sub(n, min(num(1), n)), max(sub(n, num(1)), num(0)))); /* x[1:] and x[:-1] */
    CHECK(sdx_dimval_equal(min(max(n, m), num(-2)), num(-2)));
    check_text(max(sub(n, num(1)), num(0)), "max(0,N-1)");
    CHECK(sdx_dimval_equal(max(min(n, num(512)), num(0)), min(n, num(512))));
    /* A mask's rows [N+M-N, N+M) of 1024 are at most N. */
    DimVal rows = sub(min(add(n, m), num(1024)), min(m, num(1024)));
    Dim d;
    CHECK(sdx_dim_broadcast(tab, n.sym, rows.sym, &d) && d == n.sym);
    CHECK_INT(sdx_dimval_lower(tab, add(n, num(3))), 3);
    CHECK_INT(sdx_dimval_lower(tab, sub(num(3), n)), INT64_MIN);
    sdx_arena_fini(&arena);
}

static void broadcasting(void)
{
    begin();
    Dim n = named("N").sym, m = named("M").sym, d;
    CHECK(sdx_dim_broadcast(tab, n, 1, &d) && d == n);
    CHECK(sdx_dim_broadcast(tab, n, n, &d) && d == n);
    CHECK(sdx_dim_broadcast(tab, 7, n, &d) && d == 7);
    CHECK(sdx_dim_broadcast(tab, 0, 1, &d) && d == 0);
    CHECK(!sdx_dim_broadcast(tab, 2, 3, &d));
    CHECK(sdx_dim_broadcast(tab, n, m, &d) && d != n && d != m && d < 0);
    Dim again, cut = min(named("N"), num(512)).sym;
    CHECK(sdx_dim_broadcast(tab, m, n, &again) && again == d);
    CHECK(sdx_dim_broadcast(tab, m, d, &again) && again == d);
    CHECK(sdx_dim_broadcast(tab, cut, n, &again) && again == n);
    CHECK(sdx_dim_broadcast(NULL, SDX_DIM_UNKNOWN, SDX_DIM_UNKNOWN, &d) && d == SDX_DIM_UNKNOWN);
    CHECK(sdx_dim_broadcast(NULL, SDX_DIM_UNKNOWN, 5, &d) && d == 5);
    sdx_arena_fini(&arena);
}

static void nothing_overflows(void)
{
    begin();
    DimVal n = named("N"), big = mul(n, num(INT64_MAX));
    CHECK(sdx_dimval_equal(mul(big, num(2)), num(0)) == false);
    CHECK_INT(mul(big, num(2)).sym, SDX_DIM_UNKNOWN);
    CHECK_INT(add(big, n).sym, SDX_DIM_UNKNOWN);
    CHECK_INT(mul(num(INT64_MAX), num(2)).sym, SDX_DIM_UNKNOWN);
    DimVal low = add(mul(n, num(INT64_MIN)), num(INT64_MIN));
    floordiv(low, num(3));
    floordiv(low, num(-1));
    max(low, num(1));
    sdx_dimval_mod(tab, low, low);
    DimVal p = n;
    for (int i = 0; i < 100; i++) p = mul(p, add(p, num(1)));
    CHECK_INT(p.sym, SDX_DIM_UNKNOWN);
    p = n;
    for (int i = 0; i < 1000; i++) p = max(mul(p, num(3)), add(floordiv(p, num(2)), named("M")));
    sdx_arena_fini(&arena);
}

static int64_t bound(void *user, const char *name) { return strcmp(name, "N") == 0 ? *(int64_t *)user : -1; }

/* Every rule against plain arithmetic, for a range of N. */
static void evaluation_agrees_with_arithmetic(void)
{
    begin();
    DimVal n = named("N");
    for (int64_t a = -7; a <= 7; a++)
        for (int64_t b = -9; b <= 9; b++) {
            DimVal x = add(mul(n, num(a)), num(b)), y = add(n, num(b));
            DimVal lo = min(x, y), hi = max(x, y), q = floordiv(x, num(3)), qq = floordiv(add(q, num(b)), num(2));
            DimVal big = num(10000); /* keeps results positive */
            for (int64_t v = 0; v < 12; v++) {
                int64_t xv = a * v + b, yv = v + b, qv = (xv + 300) / 3 - 100, qqv = (qv + b + 1000) / 2 - 500;
                CHECK_INT(sdx_dim_eval(tab, sdx_dim_of(add(lo, big)), bound, &v), 10000 + (xv < yv ? xv : yv));
                CHECK_INT(sdx_dim_eval(tab, sdx_dim_of(add(hi, big)), bound, &v), 10000 + (xv > yv ? xv : yv));
                DimVal r = add(q, big), rr = add(qq, big);
                CHECK_INT(sdx_dim_eval(tab, sdx_dim_of(r), bound, &v), 10000 + qv);
                CHECK_INT(sdx_dim_eval(tab, sdx_dim_of(rr), bound, &v), 10000 + qqv);
            }
        }
    CHECK_INT(sdx_dim_eval(tab, named("M").sym, bound, &(int64_t){ 1 }), -1);
    sdx_arena_fini(&arena);
}

SUITE(dim_test)
{
    RUN(same_name_same_handle);
    RUN(polynomials_are_canonical);
    RUN(division);
    RUN(minima_and_maxima);
    RUN(broadcasting);
    RUN(nothing_overflows);
    RUN(evaluation_agrees_with_arithmetic);
}
