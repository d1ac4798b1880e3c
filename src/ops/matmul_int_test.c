#include "tests/op_case.h"

#define QLINEAR "y = QLinearMatMul (a, sa, za, b, sb, zb, sy, zy)"
#define QLINEAR_IN(sa, za, sb, zb, sy, zy)                                                                             \
    IN("uint8[2,2] a {1, 2, 3, 4}"), IN(sa " sa {0.5}"), IN(za " za {1}"), IN("uint8[2,2] b {1, 2, 3, 4}"),            \
        IN(sb " sb {0.5}"), IN(zb " zb {1}"), IN(sy " sy {0.5}"), IN(zy " zy {3}")

OP_CASE(qlinear_scalars, QLINEAR, QLINEAR_IN("float", "uint8", "float", "uint8", "float", "uint8"),
        OUT("uint8[2,2] y {4, 5, 6, 9}"))
OP_CASE(qlinear_by_row, QLINEAR, IN("uint8[2,2] a {1, 2, 3, 4}"), IN("float[2] sa {0.5, 1}"), IN("uint8[2] za {1, 0}"),
        IN("uint8[2,2] b {1, 2, 3, 4}"), IN("float sb {0.5}"), IN("uint8 zb {1}"), IN("float[2] sy {0.5, 1}"),
        IN("uint8[2] zy {3, 0}"), OUT("uint8[2,2] y {4, 5, 4, 8}"))

/* A parameter without elements is no parameter. */
#define EMPTY(name, node, message, ...) OP_FAILS(name, node, SDX_INVALID_MODEL, message, __VA_ARGS__)
#define A IN("uint8[2,2] a {1, 2, 3, 4}")
#define B IN("uint8[2,2] b {1, 2, 3, 4}")
EMPTY(empty_a_scale, QLINEAR, "the scale of a has 0 values", A, IN("float[0] sa {}"), IN("uint8 za {0}"), B,
      IN("float sb {1}"), IN("uint8 zb {0}"), IN("float sy {1}"), IN("uint8 zy {0}"))
EMPTY(empty_a_zero, QLINEAR, "the zero point of a has 0 values", A, IN("float sa {1}"), IN("uint8[0] za {}"), B,
      IN("float sb {1}"), IN("uint8 zb {0}"), IN("float sy {1}"), IN("uint8 zy {0}"))
EMPTY(empty_b_scale, QLINEAR, "the scale of b has 0 values", A, IN("float sa {1}"), IN("uint8 za {0}"), B,
      IN("float[0] sb {}"), IN("uint8 zb {0}"), IN("float sy {1}"), IN("uint8 zy {0}"))
EMPTY(empty_b_zero, QLINEAR, "the zero point of b has 0 values", A, IN("float sa {1}"), IN("uint8 za {0}"), B,
      IN("float sb {1}"), IN("uint8[0] zb {}"), IN("float sy {1}"), IN("uint8 zy {0}"))
EMPTY(empty_y_scale, QLINEAR, "the scale of y has 0 values", A, IN("float sa {1}"), IN("uint8 za {0}"), B,
      IN("float sb {1}"), IN("uint8 zb {0}"), IN("float[0] sy {}"), IN("uint8 zy {0}"))
EMPTY(empty_y_zero, QLINEAR, "the zero point of y has 0 values", A, IN("float sa {1}"), IN("uint8 za {0}"), B,
      IN("float sb {1}"), IN("uint8 zb {0}"), IN("float sy {1}"), IN("uint8[0] zy {}"))
EMPTY(empty_integer_zero, "y = MatMulInteger (a, b, za)", "the zero point of a has 0 values", A, B,
      IN("uint8[0] za {}"))

SUITE(matmul_int_test)
{
    RUN(qlinear_scalars);
    RUN(qlinear_by_row);
    RUN(empty_a_scale);
    RUN(empty_a_zero);
    RUN(empty_b_scale);
    RUN(empty_b_zero);
    RUN(empty_y_scale);
    RUN(empty_y_zero);
    RUN(empty_integer_zero);
}
