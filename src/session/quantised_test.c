/* Convolutions of integers: as written, in plain loops, and as the CPU provider rewrites them give the same integers. */
#include <stdio.h>
#include <string.h>

#include "session/session.h"
#include "tests/harness.h"

/* x and y are uint8; c channels, m filters. */
static const char qlinear[] =
    "<ir_version: 8, opset_import: [\"\" : 13]>\n"
    "agraph (uint8[1,%d,9,7] x, int8[%d,%d,3,3] w) => (uint8[1,%d,9,7] y)\n"
    "<float xs = {0.02}, uint8 xz = {%d}, float[%d] ws = {%s}, int8[%d] wz = {%s}, float ys = {2},\n"
    " uint8 yz = {120}, int32[%d] b = {%s}>\n"
    "{ y = QLinearConv <pads = [1, 1, 1, 1], group = %d> (x, xs, xz, w, ws, wz, ys, yz, b) }";

static void repeated(char *to, size_t size, const char *item, int n)
{
    size_t at = 0;
    for (int i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(to + at, size - at, "%s%s%d", i ? ", " : "", item, i % 7);
}

/* The model with w made constant, at a level; its output for one input. */
static bool run_at(const char *text, OptLevel level, unsigned cpu, const Tensor *x, const Tensor *w, uint8_t *y,
                   size_t nbytes)
{
    Err err = { 0 };
    Model *m = NULL;
    Session *s = NULL;
    ImportOptions import = { .load = LOAD_COPY };
    SessionOptions o;
    sdx_ses_options_init(&o);
    o.level = level;
    o.kern = sdx_kern_at(cpu);
    o.threads = 1;
    if (!CHECK_INT(sdx_onnx_import_text(&sdx_alloc_default, text, strlen(text), &import, &m, &err), SDX_OK))
        return false;
    Value *weights = m->graph->inputs[1];
    weights->constant = w;
    weights->flags &= ~(unsigned)VALUE_GRAPH_INPUT;
    m->graph->n_inputs = 1;
    sdx_ses_open(&m, &o, &s, &err);
    if (!CHECK_STR(err.text, "")) return false;
    const Rewrite *r = sdx_ses_model(s)->rewrites;
    while (r && strcmp(r->pass, "qdq_conv")) r = r->next;
    CHECK((r != NULL) == (level >= OPT_DEFAULT));
    const char *in_name = "x", *out_name = "y";
    Datum in = { .kind = DATUM_TENSOR, .t = *x }, out = { .kind = DATUM_NONE };
    const Datum *ins = &in;
    sdx_ses_run_names(s, &in_name, &ins, 1, &out_name, &out, 1, NULL, &err);
    bool ok = CHECK_STR(err.text, "");
    if (ok) memcpy(y, out.t.data, nbytes);
    sdx_datum_clear(&out);
    sdx_ses_close(s);
    return ok;
}

static void qlinear_convolutions_agree(void)
{
    static const struct {
        int c, m, group, x_zero;
        bool by_channel;
    } cases[] = { { 3, 5, 1, 7, true }, { 16, 24, 1, 128, false }, { 20, 40, 2, 0, true }, { 33, 33, 33, 90, true } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int c = cases[i].c, m = cases[i].m, per = c / cases[i].group, scales = cases[i].by_channel ? m : 1;
        char text[2048], ws[512], wz[256], b[512];
        uint8_t x[33 * 63], w[40 * 33 * 9], want[40 * 63], got[40 * 63];
        uint32_t seed = (uint32_t)i;
        repeated(ws, sizeof ws, "0.0", scales);
        for (char *p = ws; (p = strstr(p, "0.00")); p++) p[3] = '8';
        repeated(wz, sizeof wz, "-0", scales);
        for (char *p = wz; *p; p++) *p = *p == ',' || *p == ' ' ? *p : *p == '-' ? ' ' : '0';
        repeated(b, sizeof b, "-20", m);
        snprintf(text, sizeof text, qlinear, c, m, per, m, cases[i].x_zero, scales, ws, scales, wz, m, b,
                 cases[i].group);
        for (size_t k = 0; k < sizeof x; k++) x[k] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
        for (size_t k = 0; k < sizeof w; k++) w[k] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
        Tensor tx = { .dtype = DT_UINT8, .rank = 4, .dims = { 1, c, 9, 7 }, .data = x };
        Tensor tw = { .dtype = DT_INT8, .rank = 4, .dims = { m, per, 3, 3 }, .data = w };
        size_t n = (size_t)m * 63;
        sdx_harness_note("%d channels, %d filters, %d groups", c, m, cases[i].group);
        if (!run_at(text, OPT_NONE, SDX_CPU_C, &tx, &tw, want, n)) continue;
        for (unsigned cpu = 0; cpu < SDX_CPU_LEVELS; cpu++)
            if (sdx_cpu_has(cpu) && run_at(text, OPT_DEFAULT, cpu, &tx, &tw, got, n)) CHECK_BYTES(got, want, n);
    }
    sdx_harness_note(NULL);
}

SUITE(quantised_test) { RUN(qlinear_convolutions_agree); }
