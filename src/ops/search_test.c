#include "tests/op_case.h"

/* Results: tests/py/contrib_parity.py. Here, what is refused. */
#define DECODER(past)                                                                                                  \
    "decoder = d (int32[b,s] i, int32[b,s] p, int32[b,t] m, " past " k) => (float[b,s,4] l, " past " q) "              \
    "{ l = Identity(k) q = Identity(k) }"
OP_FAILS(search_past_of_unknown_heads,
         "y = com.microsoft.GreedySearch <eos_token_id = 1, pad_token_id = 0, " DECODER("float[2,b,h,n,3]") "> (x, n)",
         SDX_INVALID_MODEL, "heads and size known", IN("int32[1,1] x {1}"), IN("int32[1] n {4}"))
OP_FAILS(search_encoder,
         "y = com.microsoft.GreedySearch <eos_token_id = 1, pad_token_id = 0, model_type = 1, " DECODER(
             "float[2,b,1,n,3]") "> (x, n)",
         SDX_INVALID_MODEL, "only decoders alone", IN("int32[1,1] x {1}"), IN("int32[1] n {4}"))
OP_FAILS(search_max_length,
         "y = com.microsoft.GreedySearch <eos_token_id = 1, pad_token_id = 0, " DECODER("float[2,b,1,n,3]") "> (x, n)",
         SDX_RUN_FAILED, "max_length is 1, the prompt has 1 tokens", IN("int32[1,1] x {1}"), IN("int32[1] n {1}"))
OP_FAILS(search_more_than_beams,
         "y = com.microsoft.BeamSearch <eos_token_id = 1, pad_token_id = 0, " DECODER(
             "float[2,b,1,n,3]") "> (x, n, \"\", b, c)",
         SDX_RUN_FAILED, "num_return_sequences is 3 of 2 beams", IN("int32[1,1] x {1}"), IN("int32[1] n {4}"),
         IN("int32[1] b {2}"), IN("int32[1] c {3}"))

SUITE(search_test)
{
    RUN(search_past_of_unknown_heads);
    RUN(search_encoder);
    RUN(search_max_length);
    RUN(search_more_than_beams);
}
