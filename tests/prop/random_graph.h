/* tests/prop/random_graph.h - small random models: the same seed gives the same model */
#ifndef SDX_TESTS_PROP_RANDOM_GRAPH_H
#define SDX_TESTS_PROP_RANDOM_GRAPH_H

#include "ops/infer.h"

/* A model of one graph with about n_nodes nodes, float and integer inputs, numbers and symbols as dims, constants, and
 * every value that nobody reads as an output. Types have been inferred. Everything it computes is defined and of moderate
 * size. NULL: out of memory. */
Model *sdx_random_graph(uint32_t seed, int n_nodes);

#endif
