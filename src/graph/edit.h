/* What the files of graph/ share: the lower half of editing. */
#ifndef SDX_GRAPH_EDIT_H
#define SDX_GRAPH_EDIT_H

#include "graph/graph.h"

/* Makes v (new, or leaving its graph) a value of g under this name, or a made-up one when it is taken. */
bool sdx_value_rename(Value *v, Graph *g, const char *name);

bool sdx_use_reserve(Value *v); /* room for one more use; v NULL is allowed, here and below */
void sdx_use_add(Value *v, Node *n, int index);
void sdx_use_drop(Value *v, const Node *n, int index);

#endif
