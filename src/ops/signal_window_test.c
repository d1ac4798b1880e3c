#include "tests/op_case.h"

OP_CASE(hann, "y = HannWindow(n)", IN("int32 n {4}"), OUT("float[4] y {0, 0.5, 1, 0.5}"))
OP_CASE(hann_symmetric, "y = HannWindow <periodic = 0> (n)", IN("int64 n {3}"), OUT("float[3] y {0, 1, 0}"))
OP_CASE(hamming_in_half_precision, "y = HammingWindow <output_datatype = 10> (n)", IN("int64[1] n {2}"),
        OUT("float16[2] y {0.08695652, 1}"))
OP_CASE(blackman_in_double, "y = BlackmanWindow <output_datatype = 11> (n)", IN("int32 n {4}"),
        OUT("double[4] y {0, 0.34, 1, 0.34}"))
OP_CASE(as_integers, "y = HannWindow <output_datatype = 6> (n)", IN("int32 n {4}"), OUT("int32[4] y {0, 0, 1, 0}"))
OP_CASE(of_no_points, "y = HannWindow(n)", IN("int32 n {0}"), OUT("float[0] y {}"))
OP_CASE(of_one_point, "y = HannWindow <periodic = 0> (n)", IN("int32 n {1}"), OUT("float[1] y {1}"))
OP_FAILS(of_fewer_points, "y = HannWindow(n)", SDX_INVALID_MODEL, "the size is -1", IN("int32 n {-1}"))
OP_FAILS(of_too_many_points, "y = HannWindow <output_datatype = 11> (n)", SDX_INVALID_ARGUMENT, "too large",
         IN("int64 n {2305843009213693952}"))
OP_FAILS(as_strings, "y = HannWindow <output_datatype = 8> (n)", SDX_INVALID_MODEL, "output_datatype 8",
         IN("int32 n {4}"))

OP_CASE(mel, "y = MelWeightMatrix(bins, n, rate, low, high)", IN("int32 bins {2}"), IN("int32 n {16}"),
        IN("int32 rate {8192}"), IN("float low {0}"), IN("float high {4096}"),
        OUT("float[9,2] y {1, 0, 0.5, 0.5, 0, 1, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}"))
OP_CASE(mel_of_no_bins, "y = MelWeightMatrix(bins, n, rate, low, high)", IN("int32 bins {0}"), IN("int32 n {8}"),
        IN("int32 rate {16}"), IN("float low {0}"), IN("float high {8}"), OUT("float[5,0] y {}"))
OP_FAILS(mel_beyond_the_spectrum, "y = MelWeightMatrix(bins, n, rate, low, high)", SDX_RUN_FAILED,
         "upper_edge_hertz, 80, lies beyond the spectrum", IN("int32 bins {2}"), IN("int32 n {8}"),
         IN("int32 rate {16}"), IN("float low {0}"), IN("float high {80}"))
OP_FAILS(mel_of_nan, "y = MelWeightMatrix(bins, n, rate, low, high)", SDX_RUN_FAILED, "not a range of frequencies",
         IN("int32 bins {2}"), IN("int32 n {8}"), IN("int32 rate {16}"), IN("float low {0}"), IN("float high {nan}"))
OP_FAILS(mel_without_a_rate, "y = MelWeightMatrix(bins, n, rate, low, high)", SDX_RUN_FAILED, "sample_rate is 0",
         IN("int32 bins {2}"), IN("int32 n {8}"), IN("int32 rate {0}"), IN("float low {0}"), IN("float high {8}"))

SUITE(signal_window_test)
{
    RUN(hann);
    RUN(hann_symmetric);
    RUN(hamming_in_half_precision);
    RUN(blackman_in_double);
    RUN(as_integers);
    RUN(of_no_points);
    RUN(of_one_point);
    RUN(of_fewer_points);
    RUN(of_too_many_points);
    RUN(as_strings);
    RUN(mel);
    RUN(mel_of_no_bins);
    RUN(mel_beyond_the_spectrum);
    RUN(mel_of_nan);
    RUN(mel_without_a_rate);
}
