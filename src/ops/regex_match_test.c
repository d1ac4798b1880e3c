#include "tests/op_case.h"

OP_CASE(whole_strings, "y = RegexFullMatch <pattern = \"[\\\\w.]+@(yahoo|gmail).com\"> (x)",
        IN("string[2,2] x {\"a.b@gmail.com\", \"a@hotmail.com\", \"not email\", \"c@yahoo.com\"}"),
        OUT("bool[2,2] y {1, 0, 0, 1}"))
OP_CASE(no_strings, "y = RegexFullMatch <pattern = \"a\"> (x)", IN("string[2,0] x {}"), OUT("bool[2,0] y {}"))
OP_FAILS(no_pattern, "y = RegexFullMatch(x)", SDX_INVALID_MODEL, "there is no pattern", IN("string[1] x {\"a\"}"))
OP_FAILS(wrong_pattern, "y = RegexFullMatch <pattern = \"(a\"> (x)", SDX_INVALID_MODEL, "wrong at byte 0",
         IN("string[1] x {\"a\"}"))

SUITE(regex_match_test)
{
    RUN(whole_strings);
    RUN(no_strings);
    RUN(no_pattern);
    RUN(wrong_pattern);
}
