/* sdx explain - which rewrites were applied, and what runs where. */
#include <string.h>

#include "cli/cli.h"
#include "cli/feeds.h"
#include "cli/json.h"

static const Option explain_options[] = {
    { "list", 0, NULL, "list the rewrites that exist, with the level that each needs" },
    { "memory", 'm', NULL, "also tell the working memory for the given input shapes" },
    { NULL, 0, NULL, NULL },
};

static void put_rewrite(void *user, const char *name, const char *detail)
{
    Json *j = user;
    if (!j) {
        printf("  %-24s %s\n", name, detail);
        return;
    }
    json_object(j, NULL);
    json_string(j, "name", name);
    json_string(j, "detail", detail);
    json_end(j, '}');
}

static void put_node(void *user, const sdx_node_info *n)
{
    Json *j = user;
    if (!j) {
        printf("  %-8s %-22s %s = (%s)  %s%s%s\n", n->provider, n->op_type, n->outputs, n->inputs, n->type,
               *n->reason ? "  not before: " : "", n->reason);
        return;
    }
    json_object(j, NULL);
    json_string(j, "name", n->name);
    json_string(j, "op_type", n->op_type);
    json_string(j, "domain", n->domain);
    json_string(j, "provider", n->provider);
    json_string(j, "reason", n->reason);
    json_string(j, "inputs", n->inputs);
    json_string(j, "outputs", n->outputs);
    json_string(j, "type", n->type);
    json_end(j, '}');
}

static void put_known_rewrite(void *user, const char *name, sdx_level level, const char *text)
{
    static const char *const levels[] = { "none", "exact", "default", "fast" };
    Json *j = user;
    if (!j) {
        printf("%-24s %-8s %s\n", name, levels[level], text);
        return;
    }
    json_object(j, NULL);
    json_string(j, "name", name);
    json_string(j, "level", levels[level]);
    json_string(j, "text", text);
    json_end(j, '}');
}

static int explain_list(bool as_json)
{
    Json j;
    if (as_json) json_open(&j, stdout, "rewrites"), json_array(&j, "rewrites");
    sdx_each_rewrite(put_known_rewrite, as_json ? &j : NULL);
    if (as_json) json_end(&j, ']'), json_close(&j);
    return EXIT_OK;
}

static int plan_bytes(const Args *a, sdx_session *s, size_t *nbytes)
{
    FeedSet f;
    sdx_error err = { 0 };
    int code = feeds_make(a, s, &f);
    if (code != EXIT_OK) return code;
    sdx_status st = sdx_session_plan_bytes(s, f.names, (const sdx_value *const *)f.values, f.n, nbytes, &err);
    feeds_free(&f);
    return st == SDX_OK ? EXIT_OK : cli_error(a->words[0], st, &err);
}

static int explain_run(const Args *a)
{
    bool as_json = args_flag(a, "json");
    if (args_flag(a, "list")) return explain_list(as_json);
    if (a->n_words != 1) return cli_fail(EXIT_USAGE, "a model is needed");
    sdx_session *s;
    size_t nbytes = 0;
    int code = cli_open(a, &s);
    if (code != EXIT_OK) return code;
    if (args_flag(a, "memory")) code = plan_bytes(a, s, &nbytes);
    Json j;
    if (as_json)
        json_open(&j, stdout, "explain"), json_array(&j, "rewrites");
    else
        printf("rewrites\n");
    sdx_session_each_rewrite(s, put_rewrite, as_json ? &j : NULL);
    if (as_json)
        json_end(&j, ']'), json_array(&j, "nodes");
    else
        printf("nodes\n");
    sdx_session_each_node(s, put_node, as_json ? &j : NULL);
    if (as_json) json_end(&j, ']');
    if (args_flag(a, "memory") && code == EXIT_OK) {
        if (as_json)
            json_int(&j, "plan_bytes", (int64_t)nbytes);
        else
            printf("working memory for these shapes: %zu bytes\n", nbytes);
    }
    if (as_json) json_close(&j);
    sdx_session_release(s);
    return code;
}

static const Option *const explain_tables[] = { explain_options, cli_feed_options, cli_session_options, cli_json_option,
                                                NULL };

const Command cli_explain = {
    .name = "explain",
    .usage = "MODEL [--memory] | --list",
    .help = "Lists the rewrites applied to a model and where each node runs.",
    .options = explain_tables,
    .min_words = 0,
    .max_words = 1,
    .run = explain_run,
};
