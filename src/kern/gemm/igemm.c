#include "kern/gemm/igemm.h"

#include <string.h>

static size_t div_up(size_t a, size_t b) { return (a + b - 1) / b; }
static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static size_t form_size(const Kern *kern) { return kern->igemm_form == SDX_IFORM_S16 ? 2 : 1; }
static size_t lanes_of(const Kern *kern, size_t k) { return div_up(k, kern->igemm_group); }

/* ---- packing ----------------------------------------------------------------------------------- */

bool sdx_igemm_pack_size(const Kern *kern, size_t k, size_t n, size_t *nbytes)
{
    size_t nr = kern->igemm_nr, columns, rows;
    if (n > SIZE_MAX - nr || k > SIZE_MAX - 4) return false;
    columns = div_up(n, nr) * nr;
    rows = lanes_of(kern, k) + 1;
    return !__builtin_mul_overflow(columns, rows, nbytes) && !__builtin_mul_overflow(*nbytes, 4, nbytes);
}

static int32_t *colsum_of(const Kern *kern, void *packed, size_t k, size_t n)
{
    return (int32_t *)packed + lanes_of(kern, k) * div_up(n, kern->igemm_nr) * kern->igemm_nr;
}

const int32_t *sdx_igemm_colsum(const Kern *kern, const void *packed, size_t k, size_t n)
{
    return colsum_of(kern, (void *)(uintptr_t)packed, k, n);
}

void sdx_igemm_pack(const Kern *kern, const void *b, bool b_signed, size_t ldb, unsigned form, size_t k, size_t n,
                    size_t panel, size_t npanel, void *packed)
{
    size_t nr = kern->igemm_nr, group = kern->igemm_group, lanes = lanes_of(kern, k);
    size_t row = form == SDX_MAT_COLS ? 1 : ldb, column = form == SDX_MAT_COLS ? ldb : 1;
    bool wide = kern->igemm_form == SDX_IFORM_S16;
    int32_t *sums = colsum_of(kern, packed, k, n);
    for (size_t p = panel; p < panel + npanel; p++) {
        int8_t *to8 = (int8_t *)packed + p * lanes * nr * 4;
        int16_t *to16 = (int16_t *)(void *)to8;
        size_t cols = min_size(nr, n - p * nr);
        const uint8_t *from = (const uint8_t *)b + p * nr * column;
        memset(to8, 0, lanes * nr * 4);
        memset(sums + p * nr, 0, nr * sizeof *sums);
        for (size_t i = 0; i < k; i++) {
            size_t at = i / group * nr * group + i % group;
            for (size_t j = 0; j < cols; j++) {
                int8_t v = (int8_t)(from[i * row + j * column] ^ (b_signed ? 0 : 0x80));
                if (wide)
                    to16[at + j * group] = v;
                else
                    to8[at + j * group] = v;
                sums[p * nr + j] += v;
            }
        }
    }
}

bool sdx_igemm_columns(const Kern *kern, const int32_t *colsum, size_t k, size_t n, bool a_signed, int32_t za,
                       bool b_signed, const int32_t *zb, bool one_zb, const int32_t *bias, int32_t *col,
                       int32_t *b_zero)
{
    uint32_t a_zero = (uint32_t)(za + sdx_igemm_shift(kern, a_signed)), any = 0;
    for (size_t j = 0; j < n; j++) {
        uint32_t z = (uint32_t)((zb ? zb[one_zb ? 0 : j] : 0) - (b_signed ? 0 : 128));
        uint32_t v = (bias ? (uint32_t)bias[j] : 0) - a_zero * (uint32_t)colsum[j] + (uint32_t)k * a_zero * z;
        col[j] = (int32_t)v;
        if (b_zero) b_zero[j] = (int32_t)z;
        any |= z;
    }
    return any != 0;
}

/* ---- running ----------------------------------------------------------------------------------- */

void sdx_igemm_convert(const Kern *kern, bool a_signed, const void *a, size_t n, void *dst)
{
    const uint8_t *from = a;
    uint8_t *to = dst;
    if (kern->igemm_form == SDX_IFORM_S16) {
        kern->igemm_widen(dst, a, a_signed, n);
    } else if (sdx_igemm_shift(kern, a_signed) == 0) {
        memcpy(to, from, n);
    } else {
        size_t i = 0;
        for (uint64_t eight; n - i >= 8; i += 8) {
            memcpy(&eight, from + i, 8);
            eight ^= 0x8080808080808080u;
            memcpy(to + i, &eight, 8);
        }
        for (; i < n; i++) to[i] = from[i] ^ 0x80;
    }
}

void sdx_igemm_plan(const Kern *kern, IgemmPlan *p)
{
    /* In place where rows are already in the right form and end with a whole lane. */
    bool copy = kern->igemm_form == SDX_IFORM_S16 || sdx_igemm_shift(kern, p->a_signed) != 0 ||
                p->k % kern->igemm_group != 0;
    p->cut = (GemmPlan){ .m = p->m,
                         .n = p->n,
                         .k = lanes_of(kern, p->k),
                         .lda = copy ? 1 : div_up(p->lda, 4),
                         .a_form = copy ? SDX_MAT_COLS : SDX_MAT_ROWS,
                         .b_form = SDX_MAT_PACKED };
    sdx_gemm_cut(kern->igemm_mr, kern->igemm_nr, kern->igemm_kc, &p->cut);
    p->chunks = p->cut.chunks;
    p->scratch = p->cut.scratch + (p->row_sums ? p->cut.mb * sizeof(int32_t) : 0);
}

/* Sum of the k elements of a row, in the level's form. */
static int32_t row_sum(const Kern *kern, bool a_signed, const uint8_t *a, size_t k)
{
    int32_t s = 0;
    for (size_t i = 0; i < k; i++) s += a_signed ? (int8_t)a[i] : a[i];
    return (int32_t)((uint32_t)s + (uint32_t)k * (uint32_t)sdx_igemm_shift(kern, a_signed));
}

void sdx_igemm_chunk(const Kern *kern, const IgemmPlan *p, const void *a, const void *packed, const IgemmOut *out,
                     void *c, size_t i, void *scratch)
{
    const GemmPlan *cut = &p->cut;
    size_t nr = kern->igemm_nr, column = i / cut->mchunks;
    size_t row = (i - column * cut->mchunks) * cut->mb, panel = column * cut->nb;
    size_t rows = min_size(cut->mb, p->m - row), npanel = min_size(cut->nb, cut->panels - panel), col = panel * nr;
    size_t a_stride = sdx_gemm_copy_stride(cut->kc) * 4, size = form_size(kern);
    const uint8_t *from = (const uint8_t *)a + row * p->lda;

    uint8_t *copy = scratch, *rest = copy + (cut->copy_a ? cut->mb * a_stride : 0);
    int32_t *part = (int32_t *)(void *)rest, *sums = part + (cut->kc < cut->k ? cut->mb * cut->nb * nr : 0);

    IgemmOut o = *out;
    if (o.col) o.col += col;
    if (o.scale && !o.one_scale) o.scale += col;
    if (o.epi.bias) o.epi.bias += o.epi.bias_by_row ? row : col;
    if (o.epi.add) o.epi.add += row * o.epi.ldadd + col;
    if (p->row_sums) {
        for (size_t r = 0; r < rows; r++) sums[r] = row_sum(kern, p->a_signed, from + r * p->lda, p->k);
        o.b_zero += col;
        o.row_sum = sums;
    } else {
        o.b_zero = o.row_sum = NULL;
    }

    const ptrdiff_t seg = 0;
    size_t c_size = o.kind <= SDX_IOUT_F32 ? 4 : 1;
    IgemmTile t = {
        .seg = &seg,
        .nseg = 1,
        .part = part,
        .c = (uint8_t *)c + (row * p->ldc + col) * c_size,
        .ldc = p->ldc,
        .rows = rows,
        .npanel = npanel,
        .cols = min_size(npanel * nr, p->n - col),
        .out = &o,
        .b_panel = cut->k * nr,
    };
    for (size_t k = 0; k == 0 || k < cut->k; k += cut->kc) {
        size_t kc = min_size(cut->kc, cut->k - k), at = k * kern->igemm_group;
        t.first = k == 0;
        t.last = k + kc == cut->k;
        t.seglen = kc;
        t.b = (const int32_t *)packed + (panel * cut->k + k) * nr;
        t.a = from + at;
        t.lda = p->lda;
        if (cut->copy_a) {
            size_t n = min_size(kc * kern->igemm_group, p->k - at);
            for (size_t r = 0; r < rows; r++) {
                uint8_t *to = copy + r * a_stride;
                sdx_igemm_convert(kern, p->a_signed, from + r * p->lda + at, n, to);
                memset(to + n * size, 0, kc * 4 - n * size);
            }
            t.a = copy;
            t.lda = a_stride;
        }
        kern->igemm_tile(&t);
    }
}
