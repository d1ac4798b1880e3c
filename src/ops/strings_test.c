#include "tests/op_case.h"

OP_CASE(concat_broadcasts, "z = StringConcat(x, y)", IN("string[2] x {\"a\", \"\"}"), IN("string y {\"-b\"}"),
        OUT("string[2] z {\"a-b\", \"-b\"}"))
OP_CASE(split_at_white_space, "y, z = StringSplit(x)", IN("string[2] x {\"  a  b \", \"\"}"),
        OUT("string[2,2] y {\"a\", \"b\", \"\", \"\"}"), OUT("int64[2] z {2, 0}"))
OP_CASE(split_at_a_delimiter, "y, z = StringSplit <delimiter = \"--\", maxsplit = 1> (x)",
        IN("string[2] x {\"a--b--c\", \"--\"}"), OUT("string[2,2] y {\"a\", \"b--c\", \"\", \"\"}"),
        OUT("int64[2] z {2, 2}"))
OP_CASE(normalize_beyond_ascii, "y = StringNormalizer <case_change_action = \"UPPER\", stopwords = [\"der\"]> (x)",
        IN("string[3] x {\"Der\", \"stra\xc3\x9f\x65\", \"\xc3\xa4\xd0\xb6\xce\xb1\"}"),
        OUT("string[2] y {\"STRA\xc3\x9f\x45\", \"\xc3\x84\xd0\x96\xce\x91\"}"))
OP_CASE(normalize_leaves_one_empty_string, "y = StringNormalizer <is_case_sensitive = 1, stopwords = [\"a\"]> (x)",
        IN("string[1,1] x {\"a\"}"), OUT("string[1,1] y {\"\"}"))
OP_FAILS(normalize_takes_one_row, "y = StringNormalizer(x)", SDX_RUN_FAILED, "neither [C] nor [1,C]",
         IN("string[2,1] x {\"a\", \"b\"}"))

SUITE(strings_test)
{
    RUN(concat_broadcasts);
    RUN(split_at_white_space);
    RUN(split_at_a_delimiter);
    RUN(normalize_beyond_ascii);
    RUN(normalize_leaves_one_empty_string);
    RUN(normalize_takes_one_row);
}
