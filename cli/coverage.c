/* sdx coverage - which nodes of a model run and how, and which operators there are. */
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"

static const Option coverage_options[] = {
    { "operators", 0, NULL, "the operators of this build instead: versions, types, how they run" },
    { "missing", 0, NULL, "of models, print only the nodes that do not run" },
    { NULL, 0, NULL, NULL },
};

static const char *const hows[] = { "native", "body", "rewritten", "not" };

/* -- models -------------------------------------------------------------------------------------------------------- */

typedef struct Report {
    Json *j; /* NULL: text */
    bool only_missing;
    size_t count[4];
} Report;

static void put_node(void *user, const sdx_node_coverage *n)
{
    Report *r = user;
    r->count[n->how]++;
    if (!r->j) {
        char op[128], version[16] = "";
        if (r->only_missing && n->how != SDX_RUNS_NOT) return;
        bool plain = strcmp(n->domain, "ai.onnx") == 0;
        if (n->since_version) snprintf(version, sizeof version, "-%d", n->since_version);
        snprintf(op, sizeof op, "%s%s%s%s", plain ? "" : n->domain, plain ? "" : ".", n->op_type, version);
        printf("  %-10s %-28s %s%s%s\n", hows[n->how], op, *n->name ? n->name : n->output, *n->text ? ": " : "",
               n->text);
        return;
    }
    if (r->only_missing && n->how != SDX_RUNS_NOT) return;
    json_object(r->j, NULL);
    json_string(r->j, "name", n->name);
    json_string(r->j, "output", n->output);
    json_string(r->j, "domain", n->domain);
    json_string(r->j, "op_type", n->op_type);
    json_int(r->j, "since_version", n->since_version);
    json_string(r->j, "how", hows[n->how]);
    json_string(r->j, "text", n->text);
    json_end(r->j, '}');
}

static void put_verdict(Json *j, const char *path, const Report *r, sdx_status st, const sdx_error *err)
{
    size_t nodes = 0;
    for (int how = 0; how < 4; how++) nodes += r->count[how];
    if (!j) {
        printf("%s: %zu nodes: %zu native, %zu rewritten, %zu calls of functions, %zu not\n", path, nodes,
               r->count[SDX_RUNS_NATIVE], r->count[SDX_RUNS_REWRITTEN], r->count[SDX_RUNS_BODY],
               r->count[SDX_RUNS_NOT]);
        if (st != SDX_OK) printf("%s: %s: %s\n", path, sdx_status_name(st), err->text);
        return;
    }
    json_end(j, ']');
    json_object(j, "counts");
    for (int how = 0; how < 4; how++) json_int(j, hows[how], (int64_t)r->count[how]);
    json_end(j, '}');
    json_bool(j, "runs", st == SDX_OK);
    json_string(j, "status", sdx_status_name(st));
    json_string(j, "text", err->text);
    json_end(j, '}');
}

static int cover_one(const sdx_session_options *o, const char *path, bool only_missing, Json *j)
{
    sdx_source source = SDX_SOURCE_INIT;
    sdx_error err = { 0 };
    Report r = { .j = j, .only_missing = only_missing };
    source.path = path;
    if (j) {
        json_object(j, NULL);
        json_string(j, "path", path);
        json_array(j, "nodes");
    }
    sdx_status st = sdx_model_coverage(&source, o, put_node, &r, &err);
    put_verdict(j, path, &r, st, &err);
    return st == SDX_OK ? EXIT_OK : cli_exit_code(st);
}

/* -- operators ----------------------------------------------------------------------------------------------------- */

static void put_operator(void *user, const sdx_operator_info *op)
{
    Json *j = user;
    if (!j) {
        printf("%-26s %-28s %3d  %-10s %s  %s\n", op->domain, op->name, op->since_version, hows[op->how], op->signature,
               op->types);
        return;
    }
    json_object(j, NULL);
    json_string(j, "domain", op->domain);
    json_string(j, "name", op->name);
    json_int(j, "since_version", op->since_version);
    json_string(j, "how", hows[op->how]);
    json_string(j, "signature", op->signature);
    json_string(j, "types", op->types);
    json_end(j, '}');
}

static int cover_operators(bool as_json)
{
    Json j;
    if (as_json) json_open(&j, stdout, "operators"), json_array(&j, "operators");
    sdx_each_operator_version(put_operator, as_json ? &j : NULL);
    if (as_json) json_end(&j, ']'), json_close(&j);
    return EXIT_OK;
}

static int coverage_run(const Args *a)
{
    bool as_json = args_flag(a, "json");
    if (args_flag(a, "operators") || !a->n_words) return cover_operators(as_json);
    sdx_session_options o;
    Json j;
    int code = cli_options(a, &o), worst = EXIT_OK;
    if (code != EXIT_OK) return code;
    if (as_json) json_open(&j, stdout, "coverage"), json_array(&j, "models");
    for (int i = 0; i < a->n_words; i++) {
        code = cover_one(&o, a->words[i], args_flag(a, "missing"), as_json ? &j : NULL);
        if (code > worst) worst = code;
    }
    if (as_json) json_end(&j, ']'), json_close(&j);
    return worst;
}

static const Option *const coverage_tables[] = { coverage_options, cli_session_options, cli_json_option, NULL };

const Command cli_coverage = {
    .name = "coverage",
    .usage = "[MODEL...] [--operators]",
    .help = "Says which nodes of models run and how; without a model, which operators there are.",
    .options = coverage_tables,
    .min_words = 0,
    .max_words = -1,
    .run = coverage_run,
};
