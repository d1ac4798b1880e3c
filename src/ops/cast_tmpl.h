/* Casts from one C type to all C types: included once per source type.
 *
 * Define T, FN(name), and T_FLOAT. Floats become integers by way of int64: truncated, NaN is 0, out of range saturates
 * there; then, as between integers, the low bits stay. */
#if T_FLOAT
#define TO_INT(x) sdx_double_to_i64(x)
#define TO_U64(x) double_to_u64(x)
#else
#define TO_INT(x) (x)
#define TO_U64(x) (uint64_t)(x)
#endif
#define LOOP(code, C, expr)                                                                                            \
    case DT_##code:                                                                                                    \
        for (int64_t i = 0; i < n; i++) ((C *)dst)[i] = (C)(expr);                                                     \
        break;

static void FN(cast)(DType to, void *dst, const void *src, int64_t n)
{
    const T *x = src;
    switch (to) {
        LOOP(FLOAT, float, x[i])
        LOOP(DOUBLE, double, x[i])
        LOOP(INT8, int8_t, TO_INT(x[i]))
        LOOP(UINT8, uint8_t, TO_INT(x[i]))
        LOOP(INT16, int16_t, TO_INT(x[i]))
        LOOP(UINT16, uint16_t, TO_INT(x[i]))
        LOOP(INT32, int32_t, TO_INT(x[i]))
        LOOP(UINT32, uint32_t, TO_INT(x[i]))
        LOOP(INT64, int64_t, TO_INT(x[i]))
        LOOP(UINT64, uint64_t, TO_U64(x[i]))
        LOOP(BOOL, uint8_t, x[i] != 0)
    default: break;
    }
}

#undef LOOP
#undef TO_INT
#undef TO_U64
#undef T
#undef FN
#undef T_FLOAT
