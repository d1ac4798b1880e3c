/* sdx info, sdx check - what a model is, and whether it loads. */
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"

static const Option info_options[] = {
    { "text", 0, NULL, "print the model in ONNX's textual form" },
    { "nodes", 'n', NULL, "list the nodes as they run" },
    { NULL, 0, NULL, NULL },
};

static const char *const fact_names[] = { "producer_name", "producer_version", "domain",
                                          "description",   "graph_name",       "graph_description",
                                          "model_version", "ir_version",       "opset" };
#define N_FACTS (sizeof fact_names / sizeof *fact_names)

typedef struct Counter {
    size_t nodes, kinds;
    struct {
        char name[64];
        size_t count;
    } kind[256]; /* operators beyond are counted in nodes only */
} Counter;

static void count_node(void *user, const sdx_node_info *node)
{
    Counter *c = user;
    char name[64];
    snprintf(name, sizeof name, "%s%s%s", node->domain, *node->domain ? "." : "", node->op_type);
    c->nodes++;
    size_t i = 0;
    while (i < c->kinds && strcmp(c->kind[i].name, name) != 0) i++;
    if (i == c->kinds && c->kinds < 256) memcpy(c->kind[c->kinds++].name, name, sizeof name);
    if (i < 256) c->kind[i].count++;
}

static void print_node(void *user, const sdx_node_info *node)
{
    (void)user;
    printf("  %-20s %s = (%s)  %s\n", node->op_type, node->outputs, node->inputs, node->type);
}

typedef const char *(*PortName)(const sdx_session *, size_t);
typedef const sdx_type *(*PortType)(const sdx_session *, size_t);

static void print_ports(const sdx_session *s, const char *title, size_t n, PortName name, PortType type)
{
    for (size_t i = 0; i < n; i++) printf("%-10s %s: %s\n", i ? "" : title, name(s, i), sdx_type_string(type(s, i)));
}

static void json_ports(Json *j, const sdx_session *s, const char *title, size_t n, PortName name, PortType type)
{
    json_array(j, title);
    for (size_t i = 0; i < n; i++) {
        json_object(j, NULL);
        json_string(j, "name", name(s, i));
        json_string(j, "type", sdx_type_string(type(s, i)));
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void info_json(const sdx_session *s, const Counter *c)
{
    Json j;
    json_open(&j, stdout, "info");
    for (size_t i = 0; i < N_FACTS; i++)
        if (sdx_session_model_info(s, fact_names[i]))
            json_string(&j, fact_names[i], sdx_session_model_info(s, fact_names[i]));
    json_object(&j, "metadata");
    for (size_t i = 0; i < sdx_session_metadata_count(s); i++)
        json_string(&j, sdx_session_metadata_key(s, i), sdx_session_metadata_value(s, i));
    json_end(&j, '}');
    json_ports(&j, s, "inputs", sdx_session_input_count(s), sdx_session_input_name, sdx_session_input_type);
    json_ports(&j, s, "outputs", sdx_session_output_count(s), sdx_session_output_name, sdx_session_output_type);
    json_ports(&j, s, "overridable", sdx_session_overridable_count(s), sdx_session_overridable_name,
               sdx_session_overridable_type);
    json_int(&j, "nodes", (int64_t)c->nodes);
    json_object(&j, "operators");
    for (size_t i = 0; i < c->kinds; i++) json_int(&j, c->kind[i].name, (int64_t)c->kind[i].count);
    json_end(&j, '}');
    json_close(&j);
}

static void info_print(const Args *a, const sdx_session *s, const Counter *c)
{
    for (size_t i = 0; i < N_FACTS; i++)
        if (sdx_session_model_info(s, fact_names[i]))
            printf("%-17s %s\n", fact_names[i], sdx_session_model_info(s, fact_names[i]));
    for (size_t i = 0; i < sdx_session_metadata_count(s); i++)
        printf("metadata          %s = %.200s\n", sdx_session_metadata_key(s, i), sdx_session_metadata_value(s, i));
    print_ports(s, "inputs", sdx_session_input_count(s), sdx_session_input_name, sdx_session_input_type);
    print_ports(s, "outputs", sdx_session_output_count(s), sdx_session_output_name, sdx_session_output_type);
    printf("%-10s %zu:", "nodes", c->nodes);
    for (size_t i = 0; i < c->kinds; i++)
        printf(" %s %zu%s", c->kind[i].name, c->kind[i].count, i + 1 < c->kinds ? "," : "");
    printf("\n");
    if (args_flag(a, "nodes")) sdx_session_each_node(s, print_node, NULL);
}

static void write_stdout(void *user, const char *text, size_t n)
{
    (void)user;
    fwrite(text, 1, n, stdout);
}

static int info_text(const Args *a)
{
    sdx_source source = SDX_SOURCE_INIT;
    sdx_error err = { 0 };
    source.path = a->words[0];
    sdx_status st = sdx_model_print(&source, write_stdout, NULL, &err);
    return st == SDX_OK ? EXIT_OK : cli_error(a->words[0], st, &err);
}

static int info_run(const Args *a)
{
    if (args_flag(a, "text")) return info_text(a);
    sdx_session_options o;
    sdx_session *s;
    sdx_error err = { 0 };
    int code = cli_options(a, &o);
    if (code != EXIT_OK) return code;
    if (!args_value(a, "level")) o.level = SDX_LEVEL_NONE; /* the model as it is written */
    sdx_status st = sdx_session_open(a->words[0], &o, &s, &err);
    if (st != SDX_OK) return cli_error(a->words[0], st, &err);
    Counter c = { 0 };
    sdx_session_each_node(s, count_node, &c);
    if (args_flag(a, "json"))
        info_json(s, &c);
    else
        info_print(a, s, &c);
    sdx_session_release(s);
    return EXIT_OK;
}

static const Option *const info_tables[] = { info_options, cli_session_options, cli_json_option, NULL };

const Command cli_info = {
    .name = "info",
    .usage = "MODEL [--nodes] [--text]",
    .help = "Shows a model's inputs, outputs, facts and operators.",
    .options = info_tables,
    .min_words = 1,
    .max_words = 1,
    .run = info_run,
};

/* -- check --------------------------------------------------------------------------------------------------------- */

static int check_one(const Args *a, const char *path, Json *j)
{
    sdx_session_options o;
    sdx_session *s = NULL;
    sdx_error err = { 0 };
    int code = cli_options(a, &o);
    if (code != EXIT_OK) return code;
    sdx_status st = sdx_session_open(path, &o, &s, &err);
    sdx_session_release(s);
    if (j) {
        json_object(j, NULL);
        json_string(j, "path", path);
        json_bool(j, "ok", st == SDX_OK);
        json_string(j, "status", sdx_status_name(st));
        json_string(j, "text", err.text);
        json_end(j, '}');
    } else if (st == SDX_OK) {
        printf("%s: ok\n", path);
    } else {
        printf("%s: %s: %s\n", path, sdx_status_name(st), err.text);
    }
    if (st == SDX_OK || st == SDX_INVALID_MODEL) return st == SDX_OK ? EXIT_OK : EXIT_CHECK;
    return cli_exit_code(st);
}

static int check_run(const Args *a)
{
    Json j, *to = args_flag(a, "json") ? &j : NULL;
    int worst = EXIT_OK;
    if (to) json_open(to, stdout, "check"), json_array(to, "models");
    for (int i = 0; i < a->n_words; i++) {
        int code = check_one(a, a->words[i], to);
        if (code > worst) worst = code;
    }
    if (to) json_end(to, ']'), json_close(to);
    return worst;
}

static const Option *const check_tables[] = { cli_session_options, cli_json_option, NULL };

const Command cli_check = {
    .name = "check",
    .usage = "MODEL...",
    .help = "Loads models and says what is wrong with those that cannot run.",
    .options = check_tables,
    .min_words = 1,
    .max_words = -1,
    .run = check_run,
};
