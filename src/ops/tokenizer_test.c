#include "tests/op_case.h"

OP_CASE(tokenizer_separators,
        "y = com.microsoft.Tokenizer <mark = 1, mincharnum = 1, pad_value = \"#\", separators = [\";\", \"-\"]> (x)",
        IN("string[2] x {\"a-b;c\", \";\"}"),
        OUT("string[2,5] y {\"\x02\", \"a\", \"b\", \"c\", \"\x03\", \"\x02\", \"\x03\", \"#\", \"#\", \"#\"}"))
OP_CASE(tokenizer_longest,
        "y = com.microsoft.Tokenizer <mark = 0, mincharnum = 2, pad_value = \"#\", tokenexp = \"a|ab\"> (x)",
        IN("string[1,1] x {\"aabab\"}"), OUT("string[1,1,2] y {\"ab\", \"ab\"}"))
OP_CASE(tokenizer_empty_matches_cut_nothing,
        "y = com.microsoft.Tokenizer <mark = 0, mincharnum = 1, pad_value = \"#\", separators = [\"x*\"]> (x)",
        IN("string[1] x {\"axb\"}"), OUT("string[1,2] y {\"a\", \"b\"}"))
OP_FAILS(tokenizer_both,
         "y = com.microsoft.Tokenizer <mark = 0, mincharnum = 1, pad_value = \"#\", tokenexp = \"a\", separators = "
         "[\"b\"]> (x)",
         SDX_INVALID_MODEL, "and not both", IN("string[1] x {\"a\"}"))
OP_FAILS(tokenizer_expression,
         "y = com.microsoft.Tokenizer <mark = 0, mincharnum = 1, pad_value = \"#\", tokenexp = \"(a\"> (x)",
         SDX_INVALID_MODEL, "", IN("string[1] x {\"a\"}"))

SUITE(tokenizer_test)
{
    RUN(tokenizer_separators);
    RUN(tokenizer_longest);
    RUN(tokenizer_empty_matches_cut_nothing);
    RUN(tokenizer_both);
    RUN(tokenizer_expression);
}
