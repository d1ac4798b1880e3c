/* Every rule against central differences in double: the derivative of sum(y * w), with weights w that differ from element to
 * element, so that a share which lands in the wrong place shows. Each case runs with known shapes, and with sizes that are
 * known while running only. The derivative of the derivative is compared with differences of the derivative. */
#include <math.h>
#include <stdio.h>

#include "onnx/onnx.h"
#include "tests/evaluate.h"
#include "tests/harness.h"
#include "train/train.h"

/* "double[2,3] x, double b" and the names of the differentiated ones, which come first; body computes y. lo, hi: of the
 * inputs; integers are 0 or 1. */
typedef struct GradCase {
    const char *inputs, *xs, *body;
    double lo, hi;
} GradCase;

enum { MAX_XS = 8 };

static Model *model_read(const char *text)
{
    Model *m = NULL;
    Err err = { 0 };
    sdx_onnx_import_text(&sdx_alloc_default, text, strlen(text), NULL, &m, &err);
    CHECK_STR(err.text, "");
    return m;
}

/* s = sum(y * w), its derivatives d0, d1, ..., and when `twice` those of t, the weighted sum of d0. */
static Model *case_model(const GradCase *c, bool twice)
{
    char text[4096], names[128] = "", outs[128] = "", args[128] = "", more[1024] = "";
    const char *gradient = "ai.onnx.preview.training.Gradient";
    int n = 0;
    for (const char *p = c->xs; *p; n++) {
        int len = (int)strcspn(p, " ");
        snprintf(names + strlen(names), 64, "%s\"%.*s\"", n ? ", " : "", len, p);
        snprintf(args + strlen(args), 64, "%s%.*s", n ? ", " : "", len, p);
        snprintf(outs + strlen(outs), 64, "%sd%d", n ? ", " : "", n);
        p += len + (p[len] == ' ');
    }
    if (twice)
        snprintf(more, sizeof more,
                 "flat1_ = Reshape(d0, minus_)  n1_ = Size(d0)  k1_ = Range(zero_, n1_, one_)\n"
                 "k1d_ = Cast<to = 11>(k1_)  w1_ = Sin(k1d_)  p1_ = Mul(flat1_, w1_)\n"
                 "t_ = ReduceSum<keepdims = 0>(p1_)  h0 = %s<xs = [%.*s], y = \"t_\">(%.*s)\n",
                 gradient, (int)strcspn(names, ","), names, (int)strcspn(args, ","), args);
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 26, \"ai.onnx.preview.training\" : 1]>\n"
             "g (%s) => (s_, %s%s) <int64[1] minus_ = {-1}, int64 zero_ = {0}, int64 one_ = {1}> {\n"
             "%s\n"
             "flat_ = Reshape(y, minus_)  n_ = Size(y)  k_ = Range(zero_, n_, one_)  kd_ = Cast<to = 11>(k_)\n"
             "w_ = Cos(kd_)  p_ = Mul(flat_, w_)  s_ = ReduceSum<keepdims = 0>(p_)\n"
             "%s = %s<xs = [%s], y = \"s_\">(%s)\n%s}",
             c->inputs, outs, twice ? ", t_, h0" : "", c->body, outs, gradient, names, args, more);
    return model_read(text);
}

static bool feed(Evaluator *e, const GradCase *c, unsigned seed)
{
    const Graph *g = e->m->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        const Type *t = &g->inputs[i]->type;
        Datum *d = &e->value[g->inputs[i]->id];
        if (sdx_datum_tensor(d, &sdx_alloc_default, t->elem, t->shape.rank, t->shape.dims, NULL) != SDX_OK)
            return false;
        uint32_t x = 2463534242u + 977u * (unsigned)i + seed;
        for (int64_t k = 0, n = sdx_tensor_count(&d->t); k < n; k++) {
            x ^= x << 13, x ^= x >> 17, x ^= x << 5; /* xorshift, Marsaglia 2003 */
            bool real = t->elem == DT_DOUBLE;
            sdx_tensor_set_double(&d->t, k, real ? c->lo + (c->hi - c->lo) * (x % 100003) / 100003. : x % 2);
        }
    }
    return true;
}

static double scalar_at(const Evaluator *e, const char *name)
{
    const Datum *d = &e->value[sdx_graph_find(e->m->graph, name)->id];
    return d->kind == DATUM_TENSOR ? sdx_tensor_get_double(&d->t, 0) : NAN;
}

/* got: the derivative of scalar `of` with respect to input i. */
static void differences(Evaluator *e, const char *of, const char *got, int i)
{
    const double h = 1e-5;
    Err err = { 0 };
    Datum *x = &e->value[e->m->graph->inputs[i]->id], grad = { 0 };
    const Datum *d = &e->value[sdx_graph_find(e->m->graph, got)->id];
    if (!CHECK(d->kind == DATUM_TENSOR && d->t.dtype == x->t.dtype)) return;
    if (!CHECK(sdx_dims_equal(d->t.dims, d->t.rank, x->t.dims, x->t.rank))) return;
    sdx_datum_copy(&grad, &d->t, &sdx_alloc_default, NULL);
    for (int64_t k = 0, n = sdx_tensor_count(&x->t); k < n; k++) {
        double x0 = sdx_tensor_get_double(&x->t, k);
        sdx_tensor_set_double(&x->t, k, x0 + h);
        evaluate_model(e, &err);
        double up = scalar_at(e, of);
        sdx_tensor_set_double(&x->t, k, x0 - h);
        evaluate_model(e, &err);
        double slope = (up - scalar_at(e, of)) / (2 * h);
        sdx_tensor_set_double(&x->t, k, x0);
        if (!CHECK_NEAR(sdx_tensor_get_double(&grad.t, k), slope, 1e-6 * (1 + fabs(slope)))) break;
    }
    sdx_datum_clear(&grad);
}

static void case_run(const GradCase *c, bool sizes, bool twice)
{
    Err err = { 0 };
    Model *m = case_model(c, twice);
    if (!m) return;
    Type types[MAX_XS * 2];
    Graph *g = m->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        types[i] = g->inputs[i]->type;
        for (int k = 0; k < types[i].shape.rank && !sizes; k++) g->inputs[i]->type.shape.dims[k] = SDX_DIM_UNKNOWN;
    }
    sdx_gradients_expand(m, 0, &err);
    CHECK_STR(err.text, "");
    sdx_model_verify(m, &err);
    if (CHECK_STR(err.text, "")) {
        Evaluator e;
        for (int i = 0; i < g->n_inputs; i++) g->inputs[i]->type = types[i];
        evaluate_init(&e, m);
        if (feed(&e, c, 1)) {
            evaluate_model(&e, &err);
            char name[16];
            int n_xs = 1;
            for (const char *p = c->xs; *p; p++) n_xs += *p == ' ';
            for (int i = 0; i < n_xs && !twice && CHECK_STR(err.text, ""); i++) {
                snprintf(name, sizeof name, "d%d", i);
                differences(&e, "s_", name, i);
                evaluate_model(&e, &err);
            }
            if (twice && CHECK_STR(err.text, "")) differences(&e, "t_", "h0", 0);
        }
        evaluate_fini(&e);
    }
    sdx_model_destroy(m);
}

static void cases_run(const GradCase *cases, int n)
{
    for (int i = 0; i < n; i++)
        for (int way = 0; way < 3; way++) {
            sdx_harness_note("%s | %s%s", cases[i].inputs, cases[i].body,
                             way == 1   ? ", unknown sizes"
                             : way == 2 ? ", twice"
                                        : "");
            case_run(&cases[i], way != 1, way == 2);
        }
    sdx_harness_note(NULL);
}
#define RUN_CASES(list) cases_run(list, (int)(sizeof(list) / sizeof *(list)))

#define X23 "double[2,3] x", "x"
#define MAP(body)                                                                                                      \
    {                                                                                                                  \
        X23, "y = " body, -2, 2                                                                                        \
    }

static void maps(void)
{
    static const GradCase cases[] = {
        MAP("Identity(x)"),
        MAP("Neg(x)"),
        MAP("Abs(x)"),
        MAP("Exp(x)"),
        MAP("Reciprocal(x)"),
        MAP("Sin(x)"),
        MAP("Cos(x)"),
        MAP("Atan(x)"),
        MAP("Sinh(x)"),
        MAP("Cosh(x)"),
        MAP("Tanh(x)"),
        MAP("Asinh(x)"),
        MAP("Relu(x)"),
        MAP("LeakyRelu(x)"),
        MAP("LeakyRelu<alpha = 0.25>(x)"),
        MAP("ThresholdedRelu(x)"),
        MAP("Shrink<bias = 0.125, lambd = 0.75>(x)"),
        MAP("Elu<alpha = 0.5>(x)"),
        MAP("Celu<alpha = 2.0>(x)"),
        MAP("Selu(x)"),
        MAP("Sigmoid(x)"),
        MAP("Softplus(x)"),
        MAP("Softsign(x)"),
        MAP("Erf(x)"),
        MAP("Gelu(x)"),
        MAP("Gelu<approximate = \"tanh\">(x)"),
        MAP("HardSigmoid<alpha = 0.5>(x)"),
        MAP("HardSwish(x)"),
        MAP("Mish(x)"),
        MAP("Swish<alpha = 1.5>(x)"),
        MAP("Floor(x)"),
        MAP("Sign(x)"),
        MAP("Dropout(x)"),
        MAP("Cast<to = 11>(x)"),
        { X23, "y = HardSwish(x)", -5, 5 },
        { X23, "y = Log(x)", 0.5, 2 },
        { X23, "y = Sqrt(x)", 0.5, 2 },
        { X23, "y = Asin(x)", -0.9, 0.9 },
        { X23, "y = Acos(x)", -0.9, 0.9 },
        { X23, "y = Atanh(x)", -0.9, 0.9 },
        { X23, "y = Acosh(x)", 1.5, 3 },
        { X23, "y = Tan(x)", -1, 1 },
        { "double[2,3] x, double a, double b", "x a b",
          "lo = Add(a, two) hi = Add(b, two) low = Neg(lo) y = Clip(x, low, hi)"
          " two = Constant<value = double {0.8}>()",
          -0.6, 0.6 },
        { X23, "t = Cast<to = 7>(x) u = Cast<to = 11>(t) y = Mul(x, u)", 1.2, 2.8 },
    };
    RUN_CASES(cases);
}

#define PAIR(body)                                                                                                     \
    { "double[2,3] a, double[2,3] b", "a b", "y = " body, 0.5, 2 },                                                    \
        { "double[2,1,3] a, double[4,1] b", "a b", "y = " body, 0.5, 2 },                                              \
    {                                                                                                                  \
        "double a, double[3,2] b", "a b", "y = " body, 0.5, 2                                                          \
    }

static void pairs(void)
{
    static const GradCase cases[] = {
        PAIR("Add(a, b)"),
        PAIR("Sub(a, b)"),
        PAIR("Mul(a, b)"),
        PAIR("Div(a, b)"),
        PAIR("Pow(a, b)"),
        PAIR("Max(a, b)"),
        PAIR("Min(a, b)"),
        PAIR("Sum(a, b, a)"),
        PAIR("Mean(a, b)"),
        { "double[2,3] a, double[2,3] b, bool[1,3] c", "a b", "y = Where(c, a, b)", -1, 1 },
        { "double[2,3] x, double[3] s", "x s", "y = PRelu(x, s)", -1, 1 },
        { X23, "two = Constant<value_int = 3>() y = Pow(x, two)", -1, 1 },
        { X23, "y = Mul(x, x)", -1, 1 },
        { X23, "y = Max(x)", -1, 1 },
        { "double[0,3] a, double[3] b", "a b", "y = Mul(a, b)", -1, 1 },
    };
    RUN_CASES(cases);
}

#define MOVE(body)                                                                                                     \
    {                                                                                                                  \
        "double[2,3,4] x", "x", body, -1, 1                                                                            \
    }
#define INTS(name, ...) name " = Constant<value_ints = [" #__VA_ARGS__ "]>() "

static void moves(void)
{
    static const GradCase cases[] = {
        MOVE(INTS("s", 4, 6) "y = Reshape(x, s)"),
        MOVE("y = Flatten(x)"),
        MOVE("y = Transpose(x)"),
        MOVE("y = Transpose<perm = [1, 2, 0]>(x)"),
        MOVE(INTS("a", 0, 2) "y = Unsqueeze(x, a)"),
        { "double[2,1,3] x", "x", INTS("a", 1) "y = Squeeze(x, a)", -1, 1 },
        { "double[2,1,3] x", "x", INTS("s", 5, 2, 4, 3) "y = Expand(x, s)", -1, 1 },
        MOVE(INTS("r", 2, 1, 3) "y = Tile(x, r)"),
        { "double[2,3] a, double[2,2] b", "a b", "y = Concat<axis = -1>(a, b, a)", -1, 1 },
        MOVE("y = Concat<axis = 0>(x)"),
        MOVE(INTS("s", 1, 3) "y, z = Split<axis = 2>(x, s)"),
        MOVE("u, y = Split<axis = 2, num_outputs = 2>(x)"),
        MOVE("u, v = Split<axis = -1, num_outputs = 2>(x) y = Mul(u, v)"),
        MOVE(INTS("s", 1, 0) INTS("e", 3, 9) INTS("a", 1, 2) INTS("t", 1, 2) "y = Slice(x, s, e, a, t)"),
        MOVE(INTS("s", -1) INTS("e", -9) INTS("a", 1) INTS("t", -1) "y = Slice(x, s, e, a, t)"),
        MOVE(INTS("i", 1, 0, 1, -1) "y = Gather(x, i)"),
        MOVE(INTS("i", 2, 0, 2) "y = Gather<axis = 1>(x, i)"),
        MOVE("i = Constant<value_int = 1>() y = Gather<axis = -1>(x, i)"),
        { "double[2,2] x", "x", "i = Constant<value = int64[2,2] {1, 0, 1, 1}>() y = GatherElements(x, i)", -1, 1 },
        MOVE("i = Constant<value = int64[3,2] {0, 1, 1, 2, 0, 1}>() y = GatherND(x, i)"),
        MOVE(INTS("p", 1, 0, -1, 0, 2, 1) "y = Pad(x, p)"),
        MOVE(INTS("p", 0, 1, 2, 1, 1, 2) "y = Pad<mode = \"reflect\">(x, p)"),
        { "double[2,3] x, double v", "x v", INTS("p", 1, 0, 0, 2) "y = Pad(x, p, v)", -1, 1 },
        MOVE("a = Constant<value_int = 1>() y = CumSum<exclusive = 1>(x, a)"),
        MOVE("y = Trilu(x)"),
        MOVE("k = Constant<value_int = -1>() y = Trilu<upper = 0>(x, k)"),
        MOVE(INTS("k", 2) "y, i = TopK(x, k)"),
        { "double[1,4,2,2] x", "x", "y = DepthToSpace<blocksize = 2>(x)", -1, 1 },
        { "double[1,1,2,4] x", "x", "y = SpaceToDepth<blocksize = 2>(x)", -1, 1 },
        { "double[3,2] a, double[2,2] b", "a b",
          "i = Constant<value = int64[2,2] {0, 2, 2, 0}>() y = ScatterElements(a, i, b)", -1, 1 },
        { "double[3,2] a, double[2,2] b", "a b",
          "i = Constant<value = int64[2,2] {0, 2, 0, 0}>() y = ScatterElements<reduction = \"add\">(a, i, b)", -1, 1 },
        { "double[3,2] a, double[2,2] b", "a b", "i = Constant<value = int64[2,1] {2, 0}>() y = ScatterND(a, i, b)", -1,
          1 },
    };
    RUN_CASES(cases);
}

#define REDUCE(op)                                                                                                     \
    { "double[2,3,4] x", "x", "y = " op "(x)", 0.5, 2 },                                                               \
        { "double[2,3,4] x", "x", INTS("a", 1, -1) "y = " op "<keepdims = 0>(x, a)", 0.5, 2 },                         \
    {                                                                                                                  \
        "double[2,3,4] x", "x", INTS("a", 1) "y = " op "(x, a)", 0.5, 2                                                \
    }

static void reductions(void)
{
    static const GradCase cases[] = {
        REDUCE("ReduceSum"),
        REDUCE("ReduceMean"),
        REDUCE("ReduceL1"),
        REDUCE("ReduceL2"),
        REDUCE("ReduceSumSquare"),
        REDUCE("ReduceLogSum"),
        REDUCE("ReduceLogSumExp"),
        REDUCE("ReduceMax"),
        REDUCE("ReduceMin"),
        MOVE("y = ReduceSum<noop_with_empty_axes = 1>(x)"),
        MOVE("y = Softmax(x)"),
        MOVE("y = Softmax<axis = 1>(x)"),
        MOVE("y = LogSoftmax<axis = 0>(x)"),
    };
    RUN_CASES(cases);
    /* Once only: there is no rule for CumProd. */
    static const GradCase once[] = {
        MOVE("y = ReduceProd<keepdims = 0>(x)"),
        MOVE(INTS("a", 1) "y = ReduceProd<keepdims = 0>(x, a)"),
        { "double[5] x", "x", "z = Floor(x) y = ReduceProd(x)", 0, 2 },
    };
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) case_run(&once[i], i & 1, false);
}

#define MATMUL(a, b)                                                                                                   \
    {                                                                                                                  \
        "double" a " a, double" b " b", "a b", "y = MatMul(a, b)", -1, 1                                               \
    }
#define GEMM(a, b, c, attrs)                                                                                           \
    {                                                                                                                  \
        "double" a " a, double" b " b, double" c " c", "a b c", "y = Gemm<" attrs ">(a, b, c)", -1, 1                  \
    }

static void products(void)
{
    static const GradCase cases[] = {
        MATMUL("[2,3]", "[3,4]"),
        MATMUL("[3]", "[3,4]"),
        MATMUL("[2,3]", "[3]"),
        MATMUL("[3]", "[3]"),
        MATMUL("[2,1,2,3]", "[4,3,2]"),
        MATMUL("[3]", "[2,3,4]"),
        MATMUL("[2,2,3]", "[3]"),
        MATMUL("[2,2,3]", "[3,2]"),
        GEMM("[2,3]", "[3,4]", "[4]", "alpha = 0.5, beta = 2.0"),
        GEMM("[3,2]", "[3,4]", "[2,1]", "transA = 1"),
        GEMM("[2,3]", "[4,3]", "", "transB = 1"),
        GEMM("[3,2]", "[4,3]", "[2,4]", "transA = 1, transB = 1, alpha = 2.0"),
        { "double[2,3] a, double[3,4] b", "a b", "y = Einsum<equation = \"ij,jk->ki\">(a, b)", -1, 1 },
        { "double[2,3] a, double[3,4] b", "a b", "y = Einsum<equation = \"ij,jk\">(a, b)", -1, 1 },
        { "double[2,3] a, double[2,4] b", "a b", "y = Einsum<equation = \"ij,ik->i\">(a, b)", -1, 1 },
        { "double[2,3] a", "a", "y = Einsum<equation = \"ij->j\">(a)", -1, 1 },
    };
    RUN_CASES(cases);
}

#define CONV(x, w, m, attrs)                                                                                           \
    {                                                                                                                  \
        "double" x " x, double" w " w, double[" m "] b", "x w b", "y = Conv<" attrs ">(x, w, b)", -1, 1                \
    }
#define CONVT(x, w, m, attrs)                                                                                          \
    {                                                                                                                  \
        "double" x " x, double" w " w, double[" m "] b", "x w b", "y = ConvTranspose<" attrs ">(x, w, b)", -1, 1       \
    }

static void convolutions(void)
{
    static const GradCase cases[] = {
        CONV("[2,2,5]", "[3,2,3]", "3", "pads = [1, 0]"),
        CONV("[1,2,5,6]", "[2,2,3,2]", "2", "strides = [2, 3], pads = [1, 0, 0, 1]"),
        CONV("[2,4,5,5]", "[6,2,2,2]", "6", "group = 2, dilations = [2, 1]"),
        CONV("[1,3,4,4]", "[3,1,3,3]", "3", "group = 3, pads = [1,1,1,1]"),
        CONV("[1,1,6,5]", "[1,1,2,2]", "1", "strides = [4, 2]"),
        CONV("[1,2,5,6]", "[2,2,3,2]", "2", "strides = [2, 1], auto_pad = \"SAME_UPPER\""),
        CONV("[1,4,5]", "[2,2,4]", "2", "group = 2, dilations = [2], auto_pad = \"SAME_LOWER\""),
        CONV("[1,1,5]", "[1,1,2]", "1", "strides = [3], auto_pad = \"VALID\""),
        CONVT("[2,2,4]", "[2,3,3]", "3", "strides = [2], pads = [1, 0], output_padding = [1]"),
        CONVT("[1,4,3,3]", "[4,2,2,2]", "4", "group = 2, dilations = [2, 1], strides = [1, 2]"),
    };
    RUN_CASES(cases);
}

static void pools(void)
{
    static const GradCase cases[] = {
        { "double[1,2,5,4] x", "x", "y = MaxPool<kernel_shape = [2, 2], strides = [2, 1], pads = [1, 0, 0, 1]>(x)", -1,
          1 },
        { "double[2,2,5] x", "x", "y = MaxPool<kernel_shape = [3]>(x)", -1, 1 },
        { "double[2,2,5,4] x", "x", "y = AveragePool<kernel_shape = [2, 3], strides = [2, 1], pads = [1, 1, 0, 1]>(x)",
          -1, 1 },
        { "double[1,2,5] x", "x", "y = AveragePool<kernel_shape = [2], pads = [1, 0], count_include_pad = 1>(x)", -1,
          1 },
        { "double[2,2,5] x", "x", "y = AveragePool<kernel_shape = [4], auto_pad = \"SAME_UPPER\", strides = [2]>(x)",
          -1, 1 },
        { "double[1,1,5] x", "x", "y = AveragePool<kernel_shape = [2], auto_pad = \"SAME_LOWER\", dilations = [2]>(x)",
          -1, 1 },
        { "double[2,2,3,4] x", "x", "y = GlobalAveragePool(x)", -1, 1 },
        { "double[2,2,3,4] x", "x", "y = GlobalMaxPool(x)", -1, 1 },
    };
    RUN_CASES(cases);
}

static void norms(void)
{
    static const GradCase cases[] = {
        { "double[2,3,4] x, double[4] s, double[4] b", "x s b", "y = LayerNormalization(x, s, b)", 0.5, 2 },
        { "double[2,3,4] x, double[3,4] s", "x s", "y = LayerNormalization<axis = 1>(x, s)", 0.5, 2 },
        { "double[2,3,4] x, double[4] s", "x s", "y = RMSNormalization(x, s)", 0.5, 2 },
        { "double[2,3,4] x, double[3] s, double[3] b", "x s b", "y = InstanceNormalization(x, s, b)", 0.5, 2 },
        { "double[2,5,3] x", "x", "y = LRN<size = 4, alpha = 0.5, bias = 2.0>(x)", 0.5, 2 },
        { "double[1,5,2,2] x", "x", "y = LRN<size = 3, beta = 0.5>(x)", -2, 2 },
        { "double[2,3] x", "x", "y = LpNormalization(x)", 0.5, 2 },
        { "double[2,3] x", "x", "y = LpNormalization<p = 1, axis = 0>(x)", 0.5, 2 },
        { "double[2,4,3] x, double[4] s, double[4] b", "x s b", "y = GroupNormalization<num_groups = 2>(x, s, b)", 0.5,
          2 },
        { "double[2,3,2] x, double[3] s, double[3] b, double[3] m, double[3] v", "x s b m v",
          "y = BatchNormalization(x, s, b, m, v)", 0.5, 2 },
        { "double[4,3,2] x, double[3] s, double[3] b, double[3] m, double[3] v", "x s b",
          "y, m1, v1 = BatchNormalization<training_mode = 1>(x, s, b, m, v)", 0.5, 2 },
    };
    RUN_CASES(cases);
}

static void losses(void)
{
    static const GradCase cases[] = {
        { "double[4,2] x, int64[4] t", "x", "y = SoftmaxCrossEntropyLoss(x, t)", -1, 1 },
        { "double[2,2,3] x, int64[2,3] t, double[2] w", "x", "y = SoftmaxCrossEntropyLoss<ignore_index = 5>(x, t, w)",
          0.5, 1 },
        { "double[4,2] x, int64[4] t", "x", "y = SoftmaxCrossEntropyLoss<reduction = \"none\">(x, t)", -1, 1 },
        { "double[6,2] x, int32[6] t, double[2] w", "x",
          "y = NegativeLogLikelihoodLoss<reduction = \"sum\", ignore_index = 1>(x, t, w)", -1, 1 },
        { "double[4,2] x, int64[4] t", "x", "l, y = SoftmaxCrossEntropyLoss(x, t)", -1, 1 },
        { "double[4,2] x, int64[4] t", "x", "l, q = SoftmaxCrossEntropyLoss(x, t) y = Mul(q, l)", -1, 1 },
    };
    RUN_CASES(cases);
}

#define ATTENTION(q, k, v, more, attrs)                                                                                \
    {                                                                                                                  \
        "double" q " q, double" k " k, double" v " v" more, "q k v", "y = Attention" attrs, -1, 1                      \
    }

static void attention(void)
{
    static const GradCase cases[] = {
        ATTENTION("[2,3,4,5]", "[2,3,2,5]", "[2,3,2,3]", "", "(q, k, v)"),
        ATTENTION("[1,4,2,3]", "[1,2,3,3]", "[1,2,3,3]", "", "<scale = 0.5>(q, k, v)"),
        ATTENTION("[2,3,4]", "[2,5,4]", "[2,5,6]", "", "<q_num_heads = 2, kv_num_heads = 2>(q, k, v)"),
        ATTENTION("[1,3,8]", "[1,3,4]", "[1,3,4]", "", "<q_num_heads = 4, kv_num_heads = 2, is_causal = 1>(q, k, v)"),
        { "double[3,5] m, double[1,2,3,4] q, double[1,2,5,4] k, double[1,2,5,4] v", "m q", "y = Attention(q, k, v, m)",
          -1, 1 },
    };
    RUN_CASES(cases);
}

#define RNN(op, gates, more, attrs, args)                                                                              \
    {                                                                                                                  \
        "double[3,2,2] x, double[1," gates ",2] w, double[1," gates ",2] r" more, "x w r",                             \
            "y, yh = " op attrs "(x, w, r" args ")", -1, 1                                                             \
    }

static void recurrent(void)
{
    static const GradCase cases[] = {
        RNN("RNN", "2", "", "<hidden_size = 2>", ""),
        RNN("RNN", "2", ", double[1,4] b", "<hidden_size = 2, direction = \"reverse\", activations = [\"Softsign\"]>",
            ", b"),
        RNN("GRU", "6", "", "<hidden_size = 2>", ""),
        RNN("LSTM", "8", "", "<hidden_size = 2, input_forget = 1>", ""),
        { "double[2,3,2] x, double[2,6,2] w, double[2,6,2] r, double[2,12] b, double[2,2,2] h", "x w r b h",
          "z, y = GRU<hidden_size = 2, direction = \"bidirectional\", linear_before_reset = 1, layout = 1, clip = 0.9>"
          "(x, w, r, b, \"\", h)",
          -1, 1 },
        { "double[2,2,2] x, double[1,8,2] w, double[1,8,2] r, double[1,16] b, double[1,2,2] h, double[1,2,2] c, "
          "double[1,6] p, int32[2] l",
          "x w r b h c p",
          "y1, y2, y3 = LSTM<hidden_size = 2>(x, w, r, b, l, h, c, p) y4 = Squeeze(y1) y5 = Concat<axis = 0>(y4, y2, "
          "y3) y = Tanh(y5)",
          -1, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int twice = 0; twice < 2; twice++) {
            sdx_harness_note("%s%s", cases[i].body, twice ? ", twice" : "");
            case_run(&cases[i], true, twice);
        }
    sdx_harness_note(NULL);
}

static void resizes(void)
{
    static const GradCase cases[] = {
        { "double[1,2,3,2] x", "x", "s = Constant<value_floats = [1.0, 1.0, 2.0, 1.5]>() y = Resize(x, \"\", s)", -1,
          1 },
        { "double[1,2,3,4] x", "x",
          "s = Constant<value_floats = [1.5, 0.6]>() y = Resize<mode = \"linear\", axes = [2, 3]>(x, \"\", s)", -1, 1 },
        { "double[1,1,4,4] x", "x",
          "s = Constant<value_ints = [1, 1, 3, 6]>()"
          " y = Resize<mode = \"cubic\", coordinate_transformation_mode = \"align_corners\">(x, \"\", \"\", s)",
          -1, 1 },
        { "double[1,1,6] x", "x",
          "s = Constant<value_ints = [3]>() y = Resize<mode = \"linear\", antialias = 1, axes = [-1]>(x, \"\", \"\", "
          "s)",
          -1, 1 },
    };
    RUN_CASES(cases);
}

/* -- random shapes ------------------------------------------------------------------------------------------------- */

static uint32_t random_below(uint32_t *x, uint32_t n)
{
    *x ^= *x << 13, *x ^= *x >> 17, *x ^= *x << 5;
    return *x % n;
}

/* A tensor that broadcasts to dims: leading axes left out, sizes of 1 in the place of others. */
static void shape_text(uint32_t *x, char *out, size_t size, const char *name, const int *dims, int rank)
{
    int from = (int)random_below(x, (uint32_t)rank + 1);
    size_t n = (size_t)snprintf(out, size, "double%s", from < rank ? "[" : "");
    for (int i = from; i < rank; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%d", i > from ? "," : "", random_below(x, 3) ? dims[i] : 1);
    snprintf(out + n, size - n, "%s %s", from < rank ? "]" : "", name);
}

static void random_broadcasts(void)
{
    static const char *const bodies[] = { "y = Add(a, b)",
                                          "y = Sub(a, b)",
                                          "y = Mul(a, b)",
                                          "y = Div(a, b)",
                                          "y = Pow(a, b)",
                                          "y = Max(a, b)",
                                          "y = Mean(a, b, a)",
                                          "c = Less(a, b) y = Where(c, b, a)",
                                          "p = Mul(a, b) y = ReduceMean(p)" };
    enum { BODIES = sizeof bodies / sizeof *bodies, TRIALS = 90, RANK = 4 };
    uint32_t x = 88172645u;
    for (int i = 0; i < TRIALS; i++) {
        int dims[RANK], rank = (int)random_below(&x, RANK + 1);
        char a[64], b[64], inputs[160];
        for (int k = 0; k < rank; k++) dims[k] = 1 + (int)random_below(&x, 3);
        shape_text(&x, a, sizeof a, "a", dims, rank);
        shape_text(&x, b, sizeof b, "b", dims, rank);
        snprintf(inputs, sizeof inputs, "%s, %s", a, b);
        GradCase c = { inputs, "a b", bodies[i % BODIES], 0.5, 2 };
        sdx_harness_note("%s | %s", inputs, c.body);
        case_run(&c, i & 1, false);
    }
    sdx_harness_note(NULL);
}

static void random_products(void)
{
    uint32_t x = 521288629u;
    for (int i = 0; i < 40; i++) {
        int dims[2], rank = (int)random_below(&x, 3), m = 1 + (int)random_below(&x, 3);
        int n = 1 + (int)random_below(&x, 3), k = 1 + (int)random_below(&x, 3);
        char a[64], b[64], inputs[160], *end;
        for (int j = 0; j < rank; j++) dims[j] = 1 + (int)random_below(&x, 3);
        shape_text(&x, a, sizeof a, "", dims, rank);
        shape_text(&x, b, sizeof b, "", dims, rank);
        /* "double[2,1] " and the matrix: "double[2,1,m,k]" */
        end = strchr(a, ']');
        if (end) *end = ',';
        snprintf(end ? end + 1 : a, 24, end ? "%d,%d] a" : "double[%d,%d] a", m, k);
        end = strchr(b, ']');
        if (end) *end = ',';
        snprintf(end ? end + 1 : b, 24, end ? "%d,%d] b" : "double[%d,%d] b", k, n);
        snprintf(inputs, sizeof inputs, "%s, %s", a, b);
        GradCase c = { inputs, "a b", "y = MatMul(a, b)", -1, 1 };
        sdx_harness_note("%s", inputs);
        case_run(&c, i & 1, false);
    }
    sdx_harness_note(NULL);
}

SUITE(vjp_test)
{
    RUN(maps);
    RUN(pairs);
    RUN(moves);
    RUN(reductions);
    RUN(products);
    RUN(convolutions);
    RUN(pools);
    RUN(norms);
    RUN(losses);
    RUN(attention);
    RUN(resizes);
    RUN(recurrent);
    RUN(random_broadcasts);
    RUN(random_products);
}
