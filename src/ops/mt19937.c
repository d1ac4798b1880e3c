#include "ops/mt19937.h"

#include <time.h>

enum { N = 624, M = 397 };

void sdx_mt_seed(Mt19937 *g, uint32_t seed)
{
    g->state[0] = seed;
    for (uint32_t i = 1; i < N; i++) g->state[i] = 1812433253u * (g->state[i - 1] ^ g->state[i - 1] >> 30) + i;
    g->next = N;
}

static void mt_refill(Mt19937 *g)
{
    for (int i = 0; i < N; i++) {
        uint32_t y = (g->state[i] & 0x80000000u) | (g->state[(i + 1) % N] & 0x7fffffffu);
        g->state[i] = g->state[(i + M) % N] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    g->next = 0;
}

uint32_t sdx_mt_next(Mt19937 *g)
{
    if (g->next >= N) mt_refill(g);
    uint32_t y = g->state[g->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

double sdx_mt_double(Mt19937 *g)
{
    uint32_t a = sdx_mt_next(g) >> 5, b = sdx_mt_next(g) >> 6;
    return (a * 0x1p26 + b) * 0x1p-53;
}

uint32_t sdx_mt_fresh_seed(void)
{
    static uint32_t calls;
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    uint32_t n = __atomic_add_fetch(&calls, 0x9e3779b9u, __ATOMIC_RELAXED);
    return (uint32_t)t.tv_nsec ^ (uint32_t)t.tv_sec << 10 ^ n;
}
