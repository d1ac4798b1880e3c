/* kern/move/move_nd.c - moves over any number of axes, reduced to rows, strided rows and transposes. */
#include "kern/kern.h"

#include <string.h>

enum { UNIT_BYTES = 65536 };

static size_t magnitude(ptrdiff_t s) { return s < 0 ? (size_t)-s : (size_t)s; }

static void move_axis(MoveNd *m, unsigned to, unsigned from)
{
    m->n[to] = m->n[from], m->sx[to] = m->sx[from], m->sy[to] = m->sy[from];
}

/* Without axes of length 1, the largest steps of y first. */
static void drop_and_sort(MoveNd *m)
{
    unsigned rank = 0;
    for (unsigned a = 0; a < m->rank; a++)
        if (m->n[a] != 1) move_axis(m, rank++, a);
    m->rank = rank;
    for (unsigned i = 1; i < rank; i++) {
        const size_t n = m->n[i];
        const ptrdiff_t sx = m->sx[i], sy = m->sy[i];
        unsigned j = i;
        for (; j > 0 && magnitude(m->sy[j - 1]) < magnitude(sy); j--) move_axis(m, j, j - 1);
        m->n[j] = n, m->sx[j] = sx, m->sy[j] = sy;
    }
}

/* Two neighbours that one longer axis could walk become one. */
static void merge(MoveNd *m)
{
    unsigned last = 0;
    for (unsigned a = 1; a < m->rank; a++) {
        const ptrdiff_t n = (ptrdiff_t)m->n[a];
        if (m->sx[last] == m->sx[a] * n && m->sy[last] == m->sy[a] * n) {
            const size_t all = m->n[last] * m->n[a];
            move_axis(m, last, a);
            m->n[last] = all;
        } else {
            move_axis(m, ++last, a);
        }
    }
    if (m->rank) m->rank = last + 1;
}

/* A short contiguous last axis becomes a larger element, if all other steps allow. */
static void widen(MoveNd *m)
{
    while (m->rank > 1) {
        const unsigned l = m->rank - 1;
        if (m->sx[l] != 1 || m->sy[l] != 1 || m->n[l] % 2 || m->log2 == 4 || m->n[l] << m->log2 > 16) return;
        for (unsigned a = 0; a < l; a++)
            if (m->sx[a] % 2 || m->sy[a] % 2) return;
        for (unsigned a = 0; a < l; a++) m->sx[a] /= 2, m->sy[a] /= 2;
        m->log2++;
        if ((m->n[l] /= 2) == 1) m->rank--;
    }
}

/* The axis with steps of 1 in x goes next to the last, which has them in y. */
static bool find_transpose(MoveNd *m)
{
    const unsigned l = m->rank - 1;
    if (m->sy[l] != 1 || m->sx[l] == 0) return false;
    for (unsigned a = 0; a < l; a++) {
        if (m->sx[a] != 1) continue;
        const size_t n = m->n[a];
        const ptrdiff_t sy = m->sy[a];
        for (unsigned b = a; b + 1 < l; b++) move_axis(m, b, b + 1);
        m->n[l - 1] = n, m->sx[l - 1] = 1, m->sy[l - 1] = sy;
        return true;
    }
    return false;
}

void sdx_move_nd_prepare(MoveNd *m)
{
    m->units = 0;
    for (unsigned a = 0; a < m->rank; a++)
        if (m->n[a] == 0) return;
    drop_and_sort(m);
    merge(m);
    widen(m);
    m->units = 1;
    m->inner = 0;
    m->piece = 1;
    if (m->rank == 0) return;
    const unsigned l = m->rank - 1;
    m->inner = m->rank > 1 && (m->sx[l] != 1 || m->sy[l] != 1) && find_transpose(m) ? 2 : 1;
    const unsigned cut = m->rank - m->inner;
    size_t rest = ((size_t)1 << m->log2) * (m->inner == 2 ? m->n[l] : 1);
    m->piece = rest >= UNIT_BYTES / 16 ? 16 : UNIT_BYTES / rest / 16 * 16; /* whole tiles of a transpose */
    if (m->piece > m->n[cut]) m->piece = m->n[cut];
    for (unsigned a = 0; a < cut; a++) m->units *= m->n[a];
    m->units *= (m->n[cut] + m->piece - 1) / m->piece;
}

void sdx_move_nd_run(const Kern *k, const MoveNd *m, void *y_, const void *x_, size_t first, size_t count)
{
    const ptrdiff_t size = (ptrdiff_t)1 << m->log2;
    if (m->inner == 0) {
        if (count) memcpy(y_, x_, (size_t)size);
        return;
    }
    const unsigned cut = m->rank - m->inner, l = m->rank - 1;
    const size_t pieces = (m->n[cut] + m->piece - 1) / m->piece;
    size_t i[SDX_MOVE_RANK], p = first % pieces, rest = first / pieces;
    const char *x = x_;
    char *y = y_;
    for (unsigned a = cut; a-- > 0; rest /= m->n[a]) {
        i[a] = rest % m->n[a];
        x += (ptrdiff_t)i[a] * m->sx[a] * size;
        y += (ptrdiff_t)i[a] * m->sy[a] * size;
    }
    for (; count; count--) {
        const size_t at = p * m->piece, n = m->n[cut] - at < m->piece ? m->n[cut] - at : m->piece;
        const char *px = x + (ptrdiff_t)at * m->sx[cut] * size;
        char *py = y + (ptrdiff_t)at * m->sy[cut] * size;
        if (m->inner == 2)
            k->transpose[m->log2](py, m->sy[cut], px, m->sx[l], m->n[l], n);
        else if (m->sy[l] == 1 && m->sx[l] == 1)
            memcpy(py, px, n << m->log2);
        else if (m->sy[l] == 1 && m->sx[l] == 0)
            k->fill[m->log2](py, px, n);
        else
            k->copy_strided[m->log2](py, m->sy[l], px, m->sx[l], n);
        if (++p < pieces) continue;
        p = 0;
        for (unsigned a = cut; a-- > 0;) { /* the next index, last axis fastest */
            x += m->sx[a] * size;
            y += m->sy[a] * size;
            if (++i[a] < m->n[a]) break;
            x -= (ptrdiff_t)m->n[a] * m->sx[a] * size;
            y -= (ptrdiff_t)m->n[a] * m->sy[a] * size;
            i[a] = 0;
        }
    }
}
