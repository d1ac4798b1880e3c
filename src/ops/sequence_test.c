/* Sequences and optionals; each case ends in tensors. */
#include "tests/op_case.h"

OP_CASE(construct_and_read, "s = SequenceConstruct(a, b)  y = SequenceAt(s, i)", IN("float[1] a {1}"),
        IN("float[2] b {2, 3}"), IN("int64 i {-1}"), OUT("float[2] y {2, 3}"))
OP_CASE(length_after_insert_and_erase,
        "e = SequenceEmpty <dtype = 6> ()  s = SequenceInsert(e, a)  t = SequenceInsert(s, b, i)  u = SequenceErase(t) "
        " n = SequenceLength(t)  m = SequenceLength(u)  y = SequenceAt(t, i)",
        IN("int32[1] a {1}"), IN("int32[1] b {2}"), IN("int64 i {0}"), OUT("int64 n {2}"), OUT("int64 m {1}"),
        OUT("int32[1] y {2}"))
OP_CASE(split_and_join, "s = SplitToSequence <axis = 1> (x, p)  y = ConcatFromSequence <axis = 0> (s)",
        IN("int8[1,4] x {1, 2, 3, 4}"), IN("int64 p {2}"), OUT("int8[2,2] y {1, 2, 3, 4}"))
OP_CASE(split_drops_the_axis,
        "s = SplitToSequence <axis = 0, keepdims = 0> (x)  y = ConcatFromSequence <axis = 1, new_axis = 1> (s)",
        IN("float[2,2] x {1, 2, 3, 4}"), OUT("float[2,2] y {1, 3, 2, 4}"))
OP_CASE(optional_round_trip, "o = Optional(x)  h = OptionalHasElement(o)  y = OptionalGetElement(o)",
        IN("float[2] x {1, 2}"), OUT("bool h {1}"), OUT("float[2] y {1, 2}"))
OP_FAILS(positions_are_checked, "y = SequenceAt(s, i)  s = SequenceConstruct(a)", SDX_RUN_FAILED,
         "position 1 is outside [-1, 0]", IN("float[1] a {1}"), IN("int64 i {1}"))
OP_FAILS(sizes_must_add_up, "s = SplitToSequence(x, p)", SDX_RUN_FAILED, "do not add up", IN("float[3] x {1, 2, 3}"),
         IN("int64[2] p {1, 1}"))

SUITE(sequence_test)
{
    RUN(construct_and_read);
    RUN(length_after_insert_and_erase);
    RUN(split_and_join);
    RUN(split_drops_the_axis);
    RUN(optional_round_trip);
    RUN(positions_are_checked);
    RUN(sizes_must_add_up);
}
