/* kern/gemm/igemm_amx.c - integer products on tile registers: 16 rows by 16 columns by 64 bytes of k an instruction.
 *
 * A block is two tiles of rows by the two halves of a packed panel. Lanes of a segment beyond the last sixteen go through
 * tiles of that length. What is less than a tile of rows, or of lanes, is left to the level below; sums are integers, so
 * nobody can tell who made them. */
#include <string.h>

#include "kern/gemm/igemm.h"

#if SDX_ARCH_X86
#define ISA_AMX
#include "kern/isa_begin.h"

enum { TILE = 16 /* rows, columns, or lanes of k */, IT_MR = 2 * TILE, IT_NR = 2 * TILE };

/* Tile registers: sums by row tile and half panel, then operands of whole and of short length. */
#define SUM_00 0
#define SUM_01 1
#define SUM_10 2
#define SUM_11 3
#define A_WHOLE 4
#define B_WHOLE 5
#define A_SHORT 6
#define B_SHORT 7

/* Operand of LDTILECFG: Intel SDM volume 1, 18.3. */
typedef struct TileConfig {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_nbytes[16];
    uint8_t rows[16];
} TileConfig;

static void tiles_begin(size_t short_lanes)
{
    TileConfig c = { .palette = 1 };
    for (int i = 0; i < 8; i++) c.rows[i] = TILE, c.row_nbytes[i] = TILE * 4;
    c.row_nbytes[A_SHORT] = (uint16_t)(short_lanes ? short_lanes * 4 : 4);
    c.rows[B_SHORT] = (uint8_t)(short_lanes ? short_lanes : 1);
    _tile_loadconfig(&c);
}

/* One length of k: each half panel meets both row tiles. */
#define TILES_MULTIPLY(A, B)                                                                                           \
    _tile_loadd(A, a, t->lda);                                                                                         \
    _tile_loadd(B, b, IT_NR * 4);                                                                                      \
    _tile_dpbusd(SUM_00, A, B);                                                                                        \
    _tile_loadd(B, b + TILE, IT_NR * 4);                                                                               \
    _tile_dpbusd(SUM_01, A, B);                                                                                        \
    if (two) {                                                                                                         \
        _tile_loadd(A, a + TILE * t->lda, t->lda);                                                                     \
        _tile_dpbusd(SUM_11, A, B);                                                                                    \
        _tile_loadd(B, b, IT_NR * 4);                                                                                  \
        _tile_dpbusd(SUM_10, A, B);                                                                                    \
    }

/* TILE rows, or twice as many, of one panel. y: the sums, and, when not first, what they add to. */
static void tiles_run(const IgemmTile *t, size_t row, size_t panel, int32_t *y, const bool two)
{
    if (t->first) {
        _tile_zero(SUM_00);
        _tile_zero(SUM_01);
        _tile_zero(SUM_10);
        _tile_zero(SUM_11);
    } else {
        _tile_loadd(SUM_00, y, IT_NR * 4);
        _tile_loadd(SUM_01, y + TILE, IT_NR * 4);
        if (two) {
            _tile_loadd(SUM_10, y + TILE * IT_NR, IT_NR * 4);
            _tile_loadd(SUM_11, y + TILE * IT_NR + TILE, IT_NR * 4);
        }
    }
    const int32_t *b = t->b + panel * t->b_panel;
    for (size_t s = 0; s < t->nseg; s++) {
        const uint8_t *a = t->a + t->seg[s] + row * t->lda;
        size_t k = t->seglen;
        for (; k >= TILE; k -= TILE, a += TILE * 4, b += TILE * IT_NR) {
            TILES_MULTIPLY(A_WHOLE, B_WHOLE)
        }
        if (k) {
            TILES_MULTIPLY(A_SHORT, B_SHORT)
            b += k * IT_NR;
        }
    }
    _tile_stored(SUM_00, y, IT_NR * 4);
    _tile_stored(SUM_01, y + TILE, IT_NR * 4);
    if (two) {
        _tile_stored(SUM_10, y + TILE * IT_NR, IT_NR * 4);
        _tile_stored(SUM_11, y + TILE * IT_NR + TILE, IT_NR * 4);
    }
}

/* Bytes of an element of the result. */
static size_t out_size(const IgemmOut *o) { return o->kind <= SDX_IOUT_F32 ? 4 : 1; }

static void tiles_rows(const IgemmTile *t, size_t row, size_t panel, const bool two)
{
    const size_t rows = two ? 2 * TILE : TILE, col = panel * IT_NR, left = t->cols - col;
    int32_t sums[2 * TILE * IT_NR], *part = t->part ? t->part + (panel * t->rows + row) * IT_NR : NULL;
    if (!t->last) {
        tiles_run(t, row, panel, part, two);
        return;
    }
    if (!t->first) memcpy(sums, part, rows * IT_NR * sizeof *sums);
    tiles_run(t, row, panel, sums, two);
    sdx_iout_block_avx512vnni(t->out, sums, IT_NR, (uint8_t *)t->c + (row * t->ldc + col) * out_size(t->out), t->ldc,
                              row, col, rows, left < IT_NR ? left : IT_NR);
}

/* The rows from `row` on, whose partial sums lie behind those of the rows before. */
static void rows_below(const IgemmTile *t, size_t row)
{
    IgemmOut out = *t->out;
    IgemmTile rest = *t;
    rest.a += row * t->lda;
    rest.c = (uint8_t *)t->c + row * t->ldc * out_size(t->out);
    if (rest.part) rest.part += t->npanel * row * IT_NR;
    rest.rows -= row;
    rest.out = &out;
    if (out.row_sum) out.row_sum += row;
    if (out.epi.bias && out.epi.bias_by_row) out.epi.bias += row;
    if (out.epi.add) out.epi.add += row * out.epi.ldadd;
    sdx_igemm_tile_avx512vnni(&rest);
}

void sdx_igemm_tile_amx(const IgemmTile *t);
void sdx_igemm_tile_amx(const IgemmTile *t)
{
    const size_t whole = t->rows / TILE * TILE;
    if (whole == 0 || t->seglen < TILE) {
        sdx_igemm_tile_avx512vnni(t);
        return;
    }
    IgemmTile tiles = *t;
    tiles.rows = whole;
    tiles_begin(t->seglen % TILE);
    for (size_t p = 0; p < t->npanel; p++)
        for (size_t row = 0; row < whole; row += 2 * TILE) tiles_rows(&tiles, row, p, whole - row >= 2 * TILE);
    /* Sums that begin and end here may be made twice: the last rows then share a tile with some before them. */
    const bool again = whole < t->rows && t->first && t->last && t->rows - whole > TILE / 4 && !t->out->epi.add;
    for (size_t p = 0; again && p < t->npanel; p++) tiles_rows(t, t->rows - TILE, p, false);
    _tile_release();
    if (whole < t->rows && !again) rows_below(t, whole);
}

void sdx_kern_init_igemm_amx(Kern *k);
void sdx_kern_init_igemm_amx(Kern *k)
{
    k->igemm_tile = sdx_igemm_tile_amx;
    k->igemm_mr = IT_MR;
}

#include "kern/isa_end.h"
#endif
