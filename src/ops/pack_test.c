#include "ops/pack.h"

#include <string.h>

#include "tests/harness.h"

static int packings;

static void pack_doubled(void *user, void *dst, const Tensor *src)
{
    packings++;
    for (int64_t i = 0; i < sdx_tensor_count(src); i++)
        ((float *)dst)[i] = ((const float *)src->data)[i] * *(const float *)user;
}

static sdx_status get(PackCache *c, float *data, int64_t n, const char *key, const void **out)
{
    Kern kern = { 0 };
    Datum d = { .kind = DATUM_TENSOR, .t = { .dtype = DT_FLOAT, .rank = 1, .dims = { n }, .data = data } };
    const Datum *in = &d;
    bool is_const = true;
    float two = 2;
    Value value = { .constant = &d.t };
    Value *values[1] = { &value };
    Node node = { .in = values, .n_in = 1 };
    Prepare p = { .node = &node, .n_in = 1, .in = &in, .in_const = &is_const, .kern = &kern, .packs = c };
    return sdx_prepare_pack(&p, 0, key, (size_t)n * sizeof(float), pack_doubled, &two, out);
}

static void one_copy_for_equal_content(void)
{
    PackCache *a, *b;
    if (!CHECK_INT(sdx_packs_create(&sdx_alloc_default, NULL, 0, &a, NULL), SDX_OK) ||
        !CHECK_INT(sdx_packs_create(&sdx_alloc_default, NULL, 0, &b, NULL), SDX_OK))
        return;
    float x[100], y[100], z[100];
    for (int i = 0; i < 100; i++) x[i] = y[i] = z[i] = (float)i;
    z[57] = -1;
    const void *p, *q, *r;
    packings = 0;
    CHECK_INT(get(a, x, 100, "k", &p), SDX_OK);
    CHECK_INT(get(a, x, 100, "k", &q), SDX_OK);
    CHECK_INT(get(b, y, 100, "k", &r), SDX_OK);
    CHECK(p == q && p == r);
    CHECK_INT(packings, 1);
    CHECK(((const float *)p)[99] == 198);
    CHECK_INT(sdx_packs_nbytes(a), 400);
    CHECK_INT(sdx_packs_nbytes(b), 400);
    /* Another key, another shape, another content: other copies. */
    CHECK_INT(get(b, y, 100, "other", &q), SDX_OK);
    CHECK_INT(get(b, y, 50, "k", &r), SDX_OK);
    CHECK(q != p && r != p);
    PackCache *c;
    if (!CHECK_INT(sdx_packs_create(&sdx_alloc_default, NULL, 0, &c, NULL), SDX_OK)) return;
    CHECK_INT(get(c, z, 100, "k", &r), SDX_OK);
    CHECK(r != p);
    /* The copy lives on with its last holder. */
    sdx_packs_destroy(a);
    CHECK(((const float *)p)[1] == 2);
    sdx_packs_destroy(b);
    sdx_packs_destroy(c);
    sdx_packs_destroy(NULL);
}

SUITE(pack_test) { RUN(one_copy_for_equal_content); }
