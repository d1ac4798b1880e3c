#include "tests/op_case.h"

/* One axis shrinks, rounding up; the other one grows, rounding down. */
OP_CASE_AT(resize_10_rounds_by_axis, 10, "y = Resize <mode = \"nearest\"> (x, s)",
           IN("float[2,4] x {1, 2, 3, 4, 5, 6, 7, 8}"), IN("float[2] s {1.5, 0.6}"),
           OUT("float[3,2] y {1, 3, 1, 3, 5, 7}"))
OP_CASE_AT(resize_10_doubles, 10, "y = Resize (x, s)", IN("float[1,2] x {1, 2}"), IN("float[2] s {1, 2}"),
           OUT("float[1,4] y {1, 1, 2, 2}"))
OP_CASE_AT(resize_10_interpolates, 10, "y = Resize <mode = \"linear\"> (x, s)", IN("float[1,2] x {1, 2}"),
           IN("float[2] s {1, 2}"), OUT("float[1,4] y {1, 1.5, 2, 2}"))
OP_CASE_AT(upsample_9_shrinks, 9, "y = Upsample (x, s)", IN("float[1,4] x {1, 2, 3, 4}"), IN("float[2] s {1, 0.6}"),
           OUT("float[1,2] y {1, 3}"))

SUITE(resize_test)
{
    RUN(resize_10_rounds_by_axis);
    RUN(resize_10_doubles);
    RUN(resize_10_interpolates);
    RUN(upsample_9_shrinks);
}
