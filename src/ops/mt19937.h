/* The Mersenne Twister of Matsumoto and Nishimura, 1998, with the doubles that NumPy's legacy generator makes of it:
 * what seeded operators of the conformance suite draw from. */
#ifndef SDX_OPS_MT19937_H
#define SDX_OPS_MT19937_H

#include <stdint.h>

typedef struct Mt19937 {
    uint32_t state[624];
    int next;
} Mt19937;

void sdx_mt_seed(Mt19937 *g, uint32_t seed);
uint32_t sdx_mt_next(Mt19937 *g);
/* Uniform in [0, 1) with 53 bits, from two outputs. */
double sdx_mt_double(Mt19937 *g);
/* A seed that differs from call to call. */
uint32_t sdx_mt_fresh_seed(void);

#endif
