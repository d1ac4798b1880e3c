#include "tests/pass_case.h"

#define X                                                                                                              \
    "g (float[N,1,4,4] x, float[1,1,3,3] w) => (y) <int64[8] p = {0,0,1,2,0,0,3,0}, int64[8] q = {0,1,0,0,0,0,0,0}, "  \
    "float one = {1}> "

PASS_CASE(pads_add_up, "pad_conv", X "{ t = Pad(x, p) y = Conv <pads = [1, 1, 0, 0]> (t, w) }",
          X "{ y = Conv <pads = [2, 3, 3, 0]> (x, w) }")
PASS_KEEPS(pad_with_ones, "pad_conv", X "{ t = Pad(x, p, one) y = Conv (t, w) }")
PASS_KEEPS(pad_mirrors, "pad_conv", X "{ t = Pad <mode = \"reflect\"> (x, p) y = Conv (t, w) }")
PASS_KEEPS(auto_pad, "pad_conv", X "{ t = Pad(x, p) y = Conv <auto_pad = \"SAME_UPPER\"> (t, w) }")

SUITE(pad_conv_test)
{
    RUN(pads_add_up);
    RUN(pad_with_ones);
    RUN(pad_mirrors);
    RUN(auto_pad);
}
