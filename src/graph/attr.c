#include "graph/graph.h"

#include <string.h>

const Attr *sdx_node_attr(const Node *n, const char *name)
{
    for (int i = 0; i < n->n_attrs; i++)
        if (strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
    return NULL;
}

bool sdx_node_set_attr(Node *n, const Attr *a)
{
    for (int i = 0; i < n->n_attrs; i++) {
        if (strcmp(n->attrs[i].name, a->name) != 0) continue;
        n->attrs[i] = *a;
        return true;
    }
    Attr *list = sdx_arena_array(&n->graph->model->arena, Attr, n->n_attrs + 1);
    if (!list) return false;
    for (int i = 0; i < n->n_attrs; i++) list[i] = n->attrs[i];
    list[n->n_attrs] = *a;
    n->attrs = list;
    n->n_attrs++;
    return true;
}

bool sdx_node_set_int(Node *n, const char *name, int64_t v)
{
    return sdx_node_set_attr(n, &(Attr){ .name = name, .type = ATTR_INT, .n = 1, .i = v });
}

bool sdx_node_set_float(Node *n, const char *name, float v)
{
    return sdx_node_set_attr(n, &(Attr){ .name = name, .type = ATTR_FLOAT, .n = 1, .f = v });
}

bool sdx_node_set_string(Node *n, const char *name, const char *v)
{
    size_t len = strlen(v);
    const char *copy = sdx_arena_strndup(&n->graph->model->arena, v, len);
    return copy && sdx_node_set_attr(n, &(Attr){ .name = name, .type = ATTR_STRING, .n = 1, .s = { copy, len } });
}

bool sdx_node_set_ints(Node *n, const char *name, const int64_t *v, int64_t count)
{
    int64_t *copy = sdx_arena_array(&n->graph->model->arena, int64_t, count);
    if (!copy) return false;
    if (count) memcpy(copy, v, (size_t)count * sizeof *v);
    return sdx_node_set_attr(n, &(Attr){ .name = name, .type = ATTR_INTS, .n = count, .ints = copy });
}

bool sdx_node_set_floats(Node *n, const char *name, const float *v, int64_t count)
{
    float *copy = sdx_arena_array(&n->graph->model->arena, float, count);
    if (!copy) return false;
    if (count) memcpy(copy, v, (size_t)count * sizeof *v);
    return sdx_node_set_attr(n, &(Attr){ .name = name, .type = ATTR_FLOATS, .n = count, .floats = copy });
}

void sdx_node_drop_attr(Node *n, const char *name)
{
    for (int i = 0; i < n->n_attrs; i++) {
        if (strcmp(n->attrs[i].name, name) != 0) continue;
        for (n->n_attrs--; i < n->n_attrs; i++) n->attrs[i] = n->attrs[i + 1];
        return;
    }
}
