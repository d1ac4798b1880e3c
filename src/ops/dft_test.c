#include "tests/op_case.h"

OP_CASE(forward, "y = DFT(x)", IN("float[1,4,1] x {1, 2, 3, 4}"), OUT("float[1,4,2] y {10, 0, -2, 2, -2, 0, -2, -2}"))
OP_CASE(
    forward_in_double_along_the_first_axis, "y = DFT(x, \"\", axis)", IN("double[3,2,1] x {1, 10, 2, 20, 4, 40}"),
    IN("int64 axis {0}"),
    OUT("double[3,2,2] y {7, 0, 70, 0, -2, 1.7320508075688772, -20, 17.320508075688772, -2, -1.7320508075688772, -20, "
        "-17.320508075688772}"))
OP_CASE(one_side_of_an_odd_length, "y = DFT <onesided = 1> (x, n)", IN("float16[4,1] x {1, 2, 4, 100}"),
        IN("int32 n {3}"), OUT("float16[2,2] y {7, 0, -2, 1.7320508}"))
OP_CASE(padded_with_zeros, "y = DFT(x, n)", IN("float[1,2] x {3, 5}"), IN("int64[1] n {3}"),
        OUT("float[3,2] y {3, 5, 3, 5, 3, 5}"))
OP_CASE(inverse, "y = DFT <inverse = 1> (x)", IN("float[4,2] x {10, 0, -2, 2, -2, 0, -2, -2}"),
        OUT("float[4,2] y {1, 0, 2, 0, 3, 0, 4, 0}"))
OP_CASE(inverse_of_one_side, "y = DFT <inverse = 1, onesided = 1> (x)", IN("float[3,2] x {10, 0, -2, 2, -2, 0}"),
        OUT("float[4,1] y {1, 2, 3, 4}"))
OP_CASE(the_length_decides_between_odd_and_even, "y = DFT <inverse = 1, onesided = 1> (x, n)",
        IN("double[2,2] x {7, 3, -2, 1.7320508075688772}"), IN("int64 n {3}"), OUT("double[3,1] y {1, 2, 4}"))
OP_CASE_AT(axis_was_an_attribute, 17, "y = DFT <axis = 0> (x)", IN("float[2,2,1] x {1, 2, 3, 4}"),
           OUT("float[2,2,2] y {4, 0, 6, 0, -2, 0, -2, 0}"))
OP_CASE_AT(axis_stood_after_the_batch, 17, "y = DFT(x)", IN("float[1,2,2,1] x {1, 2, 3, 4}"),
           OUT("float[1,2,2,2] y {4, 0, 6, 0, -2, 0, -2, 0}"))
OP_CASE(no_lines, "y = DFT(x, n)", IN("float[0,4,1] x {}"), IN("int64 n {1099511627777}"),
        OUT("float[0,1099511627777,2] y {}"))
OP_CASE(nothing_but_padding, "y = DFT(x, n)", IN("float[0,1] x {}"), IN("int64 n {2}"),
        OUT("float[2,2] y {0, 0, 0, 0}"))

OP_FAILS(the_complex_axis_is_none, "y = DFT(x, \"\", axis)", SDX_INVALID_MODEL, "axis 1 is outside [-2, -2] and [0, 0]",
         IN("float[2,2] x {1, 2, 3, 4}"), IN("int64 axis {1}"))
OP_FAILS(axis_beyond_the_rank, "y = DFT(x, \"\", axis)", SDX_INVALID_MODEL, "axis -4 is outside [-3, -2] and [0, 1]",
         IN("float[1,1,1] x {1}"), IN("int64 axis {-4}"))
OP_FAILS(parts_of_a_number, "y = DFT(x)", SDX_INVALID_MODEL, "last dimension is 3", IN("float[1,3] x {1, 2, 3}"))
OP_FAILS(one_side_of_a_complex_signal, "y = DFT <onesided = 1> (x)", SDX_INVALID_MODEL, "needs real input",
         IN("float[1,2] x {1, 2}"))
OP_FAILS(one_side_that_is_real, "y = DFT <onesided = 1, inverse = 1> (x)", SDX_INVALID_MODEL, "needs complex input",
         IN("float[3,1] x {1, 2, 3}"))
OP_FAILS(length_zero, "y = DFT(x, n)", SDX_INVALID_MODEL, "has length 0", IN("float[3,1] x {1, 2, 3}"),
         IN("int64 n {0}"))
OP_FAILS(length_of_one_bin, "y = DFT <onesided = 1, inverse = 1> (x)", SDX_INVALID_MODEL, "has length 0",
         IN("float[1,2] x {1, 2}"))
OP_FAILS(length_negative, "y = DFT(x, n)", SDX_INVALID_MODEL, "has length -3", IN("float[3,1] x {1, 2, 3}"),
         IN("int64 n {-3}"))
OP_FAILS(length_absurd, "y = DFT(x, n)", SDX_INVALID_ARGUMENT, "too large", IN("float[3,1] x {1, 2, 3}"),
         IN("int64 n {4611686018427387904}"))
OP_FAILS(length_of_two_numbers, "y = DFT(x, n)", SDX_INVALID_MODEL, "dft_length", IN("float[3,1] x {1, 2, 3}"),
         IN("int64[2] n {1, 2}"))

OP_CASE(frames, "y = STFT <onesided = 0> (x, step, \"\", n)", IN("float[1,5,1] x {1, 2, 3, 4, 5}"),
        IN("int64 step {2}"), IN("int64 n {2}"), OUT("float[1,2,2,2] y {3, 0, -1, 0, 7, 0, -1, 0}"))
OP_CASE(frames_under_a_window, "y = STFT(x, step, w)", IN("double[2,4] x {1, 2, 3, 4, 5, 6, 7, 8}"),
        IN("int32 step {1}"), IN("double[3] w {1, 0.5, 0}"),
        OUT("double[2,2,2,2] y {2, 0, 0.5, -0.8660254037844386, 3.5, 0, 1.25, -1.299038105676658, "
            "8, 0, 3.5, -2.598076211353316, 9.5, 0, 4.25, -3.031088913245535}"))
OP_CASE(frames_of_complex_numbers, "y = STFT <onesided = 0> (x, step, \"\", n)", IN("float[1,2,2] x {1, 2, 3, 4}"),
        IN("int64 step {1}"), IN("int64 n {2}"), OUT("float[1,1,2,2] y {4, 6, -2, -2}"))
OP_CASE(fewer_samples_than_a_frame, "y = STFT(x, step, \"\", n)", IN("float[1,3,1] x {1, 2, 3}"), IN("int64 step {1}"),
        IN("int64 n {4}"), OUT("float[1,0,3,2] y {}"))
/* Declared and real number of frames: 48 samples by 16 give 3 frames, 47 give 2. */
OP_CASE(as_many_frames_as_fit, "y = STFT(x, step, \"\", n)\n z = Shape(y)",
        IN("float[1,48,1] x {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
           "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}"),
        IN("int64 step {16}"), IN("int64 n {16}"), OUT("int64[4] z {1, 3, 9, 2}"))
OP_CASE(one_frame_fewer, "y = STFT(x, step, \"\", n)\n z = Shape(y)",
        IN("float[1,47,1] x {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
           "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}"),
        IN("int64 step {16}"), IN("int64 n {16}"), OUT("int64[4] z {1, 2, 9, 2}"))

OP_FAILS(step_zero, "y = STFT(x, step)", SDX_INVALID_MODEL, "frame_step is 0", IN("float[1,3,1] x {1, 2, 3}"),
         IN("int64 step {0}"))
OP_FAILS(window_of_another_length, "y = STFT(x, step, w, n)", SDX_INVALID_MODEL, "the window has 2 elements",
         IN("float[1,3,1] x {1, 2, 3}"), IN("int64 step {1}"), IN("float[2] w {1, 2}"), IN("int64 n {3}"))
OP_FAILS(frames_of_nothing, "y = STFT(x, step, \"\", n)", SDX_INVALID_MODEL, "the frames have 0 samples",
         IN("float[1,3,1] x {1, 2, 3}"), IN("int64 step {1}"), IN("int64 n {0}"))
OP_FAILS(one_side_of_complex_frames, "y = STFT(x, step)", SDX_INVALID_MODEL, "needs a real signal",
         IN("float[1,1,2] x {1, 2}"), IN("int64 step {1}"))
OP_FAILS(signal_of_rank_one, "y = STFT(x, step)", SDX_INVALID_MODEL, "the signal has rank 1", IN("float[2] x {1, 2}"),
         IN("int64 step {1}"))

SUITE(dft_test)
{
    RUN(forward);
    RUN(forward_in_double_along_the_first_axis);
    RUN(one_side_of_an_odd_length);
    RUN(padded_with_zeros);
    RUN(inverse);
    RUN(inverse_of_one_side);
    RUN(the_length_decides_between_odd_and_even);
    RUN(axis_was_an_attribute);
    RUN(axis_stood_after_the_batch);
    RUN(no_lines);
    RUN(nothing_but_padding);
    RUN(the_complex_axis_is_none);
    RUN(axis_beyond_the_rank);
    RUN(parts_of_a_number);
    RUN(one_side_of_a_complex_signal);
    RUN(one_side_that_is_real);
    RUN(length_zero);
    RUN(length_of_one_bin);
    RUN(length_negative);
    RUN(length_absurd);
    RUN(length_of_two_numbers);
    RUN(frames);
    RUN(frames_under_a_window);
    RUN(frames_of_complex_numbers);
    RUN(fewer_samples_than_a_frame);
    RUN(as_many_frames_as_fit);
    RUN(one_frame_fewer);
    RUN(step_zero);
    RUN(window_of_another_length);
    RUN(frames_of_nothing);
    RUN(one_side_of_complex_frames);
    RUN(signal_of_rank_one);
}
