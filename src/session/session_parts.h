/* Inside a session: parts, wires between them, and specs.
 *
 * A wire is a value that crosses the session's or a part's border. Wires are numbered: the inputs, the overridable
 * initializers, then what parts make for others or for the caller. */
#ifndef SDX_SESSION_PARTS_H
#define SDX_SESSION_PARTS_H

#include "ep/plan_cache.h"
#include "session/session.h"

typedef struct Provider {
    const EpApi *api;
    void *ep;
    Claims claims;
} Provider;

typedef struct Part {
    EpPart part;
    const EpApi *api;
    void *prog;
    int *in_wires, *out_wires;
    bool *by_content;
    PlanCache plans;
    bool has_plans; /* plans is initialised */
} Part;

struct Session {
    int refs; /* atomic */
    const Alloc *alloc;
    Model *model;
    Arena arena;
    Pool *pool;
    Recycler *results; /* NULL over a host's allocator, which has its own ways */
    PackCache *packs;
    size_t max_bytes;
    int plan_cache;
    Provider *providers;
    int n_providers;
    Part *parts;
    int n_parts;
    Value **inputs, **overridable;
    int n_inputs, n_overridable;
    Value **wires;
    int n_wires, cap_wires;
    int *wire_of;      /* by value id, -1 for none; while opening only */
    int *output_wires; /* of the graph's outputs; -1: a constant */
    Datum *defaults;   /* of the overridable initializers */
};

struct RunSpec {
    Session *session;
    int n_in, n_out;
    int *in;       /* for each given input its wire */
    int *out;      /* for each wanted output which of the graph's outputs it is */
    bool is_whole; /* the one part takes exactly these inputs and gives exactly these outputs, in this order */
};

/* Lets providers claim nodes and rewrite them, and splits the graph; UNSUPPORTED names a node nobody takes. */
sdx_status sdx_ses_claim(Session *s, const EpConfig *cfg, Err *err);
sdx_status sdx_ses_split(Session *s, Err *err);

/* Checks what was given against what the model declares; lists all that is wrong. */
sdx_status sdx_ses_check(const Session *s, const RunSpec *spec, const Datum *const *in, Err *err);

#endif
