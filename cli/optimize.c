/* sdx optimize - write a model as the portable rewrites leave it. */
#include "cli/cli.h"

static const Option optimize_options[] = {
    { "output", 'o', "FILE", "where to write; required" },
    { "external", 0, "NAME", "put tensors of 1 KiB and more into a file of this name beside it" },
    { NULL, 0, NULL, NULL },
};

static int optimize_run(const Args *a)
{
    sdx_session_options o;
    sdx_source source = SDX_SOURCE_INIT;
    sdx_error err = { 0 };
    int code = cli_options(a, &o);
    if (code != EXIT_OK) return code;
    if (!args_value(a, "output")) return cli_fail(EXIT_USAGE, "--output FILE is needed");
    source.path = a->words[0];
    sdx_status st = sdx_model_optimize(&source, &o, args_value(a, "output"), args_value(a, "external"), &err);
    return st == SDX_OK ? EXIT_OK : cli_error(a->words[0], st, &err);
}

static const Option *const optimize_tables[] = { optimize_options, cli_session_options, NULL };

const Command cli_optimize = {
    .name = "optimize",
    .usage = "MODEL -o FILE [--external NAME]",
    .help = "Rewrites a model and saves it as plain ONNX.",
    .options = optimize_tables,
    .min_words = 1,
    .max_words = 1,
    .run = optimize_run,
};
