/* ops/nms.c - NonMaxSuppression
 *
 * Per item and class: boxes by falling score (equal scores: lower index first), those not above score_threshold left
 * out; a box is kept unless its overlap with one kept before it exceeds iou_threshold, until max_output_boxes are. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"

typedef struct NmsAttrs {
    int64_t center_point_box;
} NmsAttrs;

static const AttrSpec nms_attrs[] = { OP_INT(NmsAttrs, center_point_box, 0), OP_ATTR_END };

static sdx_status nms_infer(Infer *c)
{
    TRY(infer_rank_between(c, 0, 3, 3, "boxes"));
    TRY(infer_rank_between(c, 1, 3, 3, "scores"));
    const Shape *b = infer_shape(c, 0), *s = infer_shape(c, 1);
    if (b && dim_differs(b->dims[2], 4))
        return sdx_infer_fail(c, "boxes have %lld coordinates; they need 4", (long long)b->dims[2]);
    if (b && s && (dim_differs(b->dims[0], s->dims[0]) || dim_differs(b->dims[1], s->dims[2])))
        return sdx_infer_fail(c, "boxes for %lld x %lld against scores for %lld x %lld", (long long)b->dims[0],
                              (long long)b->dims[1], (long long)s->dims[0], (long long)s->dims[2]);
    infer_out_rank(c, 0, 2)[1] = 3;
    return SDX_OK;
}

typedef struct Box {
    float y1, x1, y2, x2, area;
} Box;

typedef struct Candidate {
    float score;
    int32_t index;
} Candidate;

typedef struct NmsJob {
    const float *boxes, *scores;
    int64_t n, classes, most;
    float iou, threshold;
    bool center, filter;
    Candidate *candidates; /* n a worker */
    Box *kept;             /* most a worker */
    int32_t *selected;     /* most for each (item, class) */
    int64_t *count;        /* of them */
} NmsJob;

static Box nms_box(const float *b, bool center)
{
    float y1 = b[0], x1 = b[1], y2 = b[2], x2 = b[3];
    if (center) { /* x, y, width, height */
        y1 = b[1] - b[3] / 2;
        y2 = b[1] + b[3] / 2;
        x1 = b[0] - b[2] / 2;
        x2 = b[0] + b[2] / 2;
    }
    Box o = { y1 < y2 ? y1 : y2, x1 < x2 ? x1 : x2, y1 < y2 ? y2 : y1, x1 < x2 ? x2 : x1, 0 };
    o.area = (o.y2 - o.y1) * (o.x2 - o.x1);
    return o;
}

static bool overlaps(const Box *a, const Box *b, float limit)
{
    float h = (a->y2 < b->y2 ? a->y2 : b->y2) - (a->y1 > b->y1 ? a->y1 : b->y1);
    float w = (a->x2 < b->x2 ? a->x2 : b->x2) - (a->x1 > b->x1 ? a->x1 : b->x1);
    if (!(h > 0 && w > 0)) return false;
    float both = h * w, either = a->area + b->area - both;
    return a->area > 0 && b->area > 0 && either > 0 && both / either > limit;
}

static int by_score(const void *av, const void *bv)
{
    const Candidate *a = av, *b = bv;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void nms_range(void *arg, int64_t from, int64_t to, int worker)
{
    const NmsJob *j = arg;
    Candidate *cand = j->candidates + worker * j->n;
    Box *kept = j->kept + worker * j->most;
    for (int64_t u = from; u < to; u++) {
        const float *scores = j->scores + u * j->n, *boxes = j->boxes + u / j->classes * j->n * 4;
        int64_t n = 0, count = 0;
        for (int64_t i = 0; i < j->n; i++)
            if (j->filter ? scores[i] > j->threshold : scores[i] == scores[i])
                cand[n++] = (Candidate){ scores[i], (int32_t)i };
        qsort(cand, (size_t)n, sizeof *cand, by_score);
        for (int64_t i = 0; i < n && count < j->most; i++) {
            Box box = nms_box(boxes + (int64_t)cand[i].index * 4, j->center);
            int64_t k = 0;
            while (k < count && !overlaps(&box, &kept[k], j->iou)) k++;
            if (k < count) continue;
            kept[count] = box;
            j->selected[u * j->most + count++] = cand[i].index;
        }
        j->count[u] = count;
    }
}

static double nms_scalar(const Run *r, int i, double dflt)
{
    return i < r->n_in && r->in[i] && sdx_tensor_count(&r->in[i]->t) ? sdx_tensor_get_double(&r->in[i]->t, 0) : dflt;
}

static sdx_status nms_run(Run *r)
{
    const NmsAttrs *a = r->args;
    const Tensor *boxes = &r->in[0]->t, *scores = &r->in[1]->t;
    NmsJob j = { .boxes = boxes->data,
                 .scores = scores->data,
                 .n = boxes->dims[1],
                 .classes = scores->dims[1],
                 .center = a->center_point_box != 0,
                 .filter = r->n_in > 4 && r->in[4] };
    int64_t lists = scores->dims[0] * j.classes, most = 0;
    if (r->n_in > 2 && r->in[2] && sdx_tensor_count(&r->in[2]->t)) most = sdx_tensor_get_int(&r->in[2]->t, 0);
    j.most = most < 0 ? 0 : most < j.n ? most : j.n;
    j.iou = (float)nms_scalar(r, 3, 0);
    j.threshold = (float)nms_scalar(r, 4, 0);
    if (!(j.iou >= 0 && j.iou <= 1))
        return sdx_run_fail(r, "iou_threshold is %g; it must lie in [0, 1]", (double)j.iou);
    if (j.n > INT32_MAX) return sdx_run_fail(r, "%lld boxes are too many", (long long)j.n);
    size_t workers = (size_t)sdx_pool_threads(r->pool), sel, cand, kept;
    if (!sdx_mul_size(&sel, (size_t)lists, (size_t)j.most * sizeof(int32_t)) ||
        !sdx_mul_size(&cand, workers, (size_t)j.n * sizeof(Candidate)) ||
        !sdx_mul_size(&kept, workers, (size_t)j.most * sizeof(Box)))
        return sdx_run_fail(r, "too many boxes");
    j.selected = sdx_run_heap(r, sel);
    j.candidates = sdx_run_heap(r, cand);
    j.kept = sdx_run_heap(r, kept);
    j.count = sdx_run_heap(r, (size_t)lists * sizeof(int64_t));
    if (!j.selected || !j.candidates || !j.kept || !j.count)
        return sdx_fail(r->err, SDX_OUT_OF_MEMORY, "out of memory");
    if (lists) sdx_run_range(r, lists, grain_for(8 * j.n), nms_range, &j);

    int64_t total = 0;
    for (int64_t u = 0; u < lists; u++) total += j.count[u];
    void *out;
    TRY(sdx_run_output(r, 0, DT_INT64, 2, (int64_t[]){ total, 3 }, &out));
    int64_t *y = out;
    for (int64_t u = 0; u < lists; u++)
        for (int64_t i = 0; i < j.count[u]; i++) {
            *y++ = u / j.classes;
            *y++ = u % j.classes;
            *y++ = j.selected[u * j.most + i];
        }
    return SDX_OK;
}

static const OpVer nms_vers[] = { { 11, { 0 } }, { 10, { 0 } }, { 0 } };

const OpDef sdx_op_NonMaxSuppression = {
    .name = "NonMaxSuppression",
    .sig = "f32,f32,i64?,f32?,f32?->i64",
    .attrs = nms_attrs,
    .attrs_size = sizeof(NmsAttrs),
    .vers = nms_vers,
    .flags = OP_DATA_SHAPE,
    .infer = nms_infer,
    .cpu = { NULL, nms_run },
};
