/* kern/simd/common.h - the part of the vocabulary that is the same text on every instruction set; the
 * headers beside it include it at their end. */

/* The first w lanes, w <= VW; faster than _n where w is mostly VW. */
V_INLINE vf32 v_load_upto(const float *p, size_t w) { return w == VW ? v_load(p) : v_load_n(p, w); }
V_INLINE void v_store_upto(float *p, vf32 a, size_t w)
{
    if (w == VW)
        v_store(p, a);
    else
        v_store_n(p, a, w);
}
