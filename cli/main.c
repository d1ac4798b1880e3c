/* sdx - run, inspect and measure ONNX models. */
#include <string.h>

#include "cli/cli.h"

#define COMMAND(name) extern const Command cli_##name;
#include "cli/commands.def"
#undef COMMAND

int cli_parse(const Command *c, int argc, char **argv, Args *a);
void cli_help(const Command *c, FILE *f);

static const Command *const commands[] = {
#define COMMAND(name) &cli_##name,
#include "cli/commands.def"
#undef COMMAND
};
#define N_COMMANDS (sizeof commands / sizeof *commands)

static void print_overview(FILE *f)
{
    fprintf(f, "sdx %s - run, inspect and measure ONNX models\n\n", sdx_version());
    for (size_t i = 0; i < N_COMMANDS; i++) fprintf(f, "  sdx %-9s %s\n", commands[i]->name, commands[i]->help);
    fprintf(f, "\n`sdx COMMAND --help` tells the options. Exit codes: 0 ok, 1 check failed, 2 usage or bad input, "
               "3 unsupported, 4 internal.\n");
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";
    if (strcmp(word, "--version") == 0) {
        printf("sdx %s\n", sdx_version());
        return EXIT_OK;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_overview(argc > 1 ? stdout : stderr);
        return argc > 1 ? EXIT_OK : EXIT_USAGE;
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(word, commands[i]->name) != 0) continue;
        Args a;
        int code = cli_parse(commands[i], argc - 2, argv + 2, &a);
        if (code >= 0) return code;
        return commands[i]->run(&a);
    }
    fprintf(stderr, "sdx: no command \"%s\"; `sdx --help` lists them\n", word);
    return EXIT_USAGE;
}
