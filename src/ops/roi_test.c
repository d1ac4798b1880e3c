#include "tests/op_case.h"

OP_CASE(a_region_that_is_no_number_has_one_cell, "y = MaxRoiPool <pooled_shape = [1,1]> (x, r)",
        IN("float[1,1,2,2] x {1, 2, 3, 4}"), IN("float[1,5] r {0, nan, nan, nan, nan}"), OUT("float[1,1,1,1] y {0}"))
OP_CASE(the_maximum_of_a_region, "y = MaxRoiPool <pooled_shape = [1,2]> (x, r)", IN("float[1,1,2,2] x {1, 2, 3, 4}"),
        IN("float[1,5] r {0, 0, 0, 1, 1}"), OUT("float[1,1,1,2] y {3, 4}"))
SUITE(roi_test)
{
    RUN(a_region_that_is_no_number_has_one_cell);
    RUN(the_maximum_of_a_region);
}
