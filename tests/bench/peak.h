/* tests/bench/peak.h - what the arithmetic units can do at best. */
#ifndef SDX_TESTS_BENCH_PEAK_H
#define SDX_TESTS_BENCH_PEAK_H

/* f32 multiply-adds of a CPU level on registers alone, in GFLOP/s, measured now (about 1 ms). */
double sdx_bench_peak_f32(unsigned level);

#endif
