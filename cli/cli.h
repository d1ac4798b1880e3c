/* cli.h - what the commands of `sdx` share: arguments, sessions from options, messages, exit codes.
 *
 * A command is a row of commands.def, a table of its options, and one function. It includes sardonyx.h and nothing from
 * src/. */
#ifndef SDX_CLI_CLI_H
#define SDX_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sardonyx/sardonyx.h"

enum { /* exit codes */
       EXIT_OK = 0,
       EXIT_CHECK = 1,       /* the thing checked is not as it should be */
       EXIT_USAGE = 2,       /* bad arguments or bad input */
       EXIT_UNSUPPORTED = 3, /* valid, but not something this build can do */
       EXIT_INTERNAL = 4
};

#define CLI_SCHEMA 1 /* version of every --json document */

/* An option of a command. name without dashes; value NULL: a flag. The table ends with a NULL name. */
typedef struct Option {
    const char *name;
    char letter; /* short form, or 0 */
    const char *value;
    const char *help;
} Option;

typedef struct Args {
    const struct Command *command;
    int n_words;
    const char **words; /* arguments that are no options */
    int n_set;
    struct ArgSet {
        const Option *option;
        const char *value; /* NULL for flags */
    } * set;
} Args;

typedef struct Command {
    const char *name, *usage, *help;
    const Option *const *options; /* tables, NULL-terminated */
    int min_words, max_words;     /* max -1: any number */
    int (*run)(const Args *a);
} Command;

extern const Option cli_session_options[]; /* --level, --threads, ... */
extern const Option cli_json_option[];     /* --json */

/* Value of the option given last, or NULL. For repeated options: i-th value, NULL past the end. */
const char *args_value(const Args *a, const char *name);
const char *args_nth(const Args *a, const char *name, int i);
bool args_flag(const Args *a, const char *name);
/* A number >= min, or the fallback when the option is absent; exits with a usage message when it is none. */
int64_t args_int(const Args *a, const char *name, int64_t fallback, int64_t min);
double args_double(const Args *a, const char *name, double fallback);
/* "KEY=VALUE": the length of KEY (its end being the last `sep` when `last`), 0 when there is none. */
size_t args_split(const char *text, char sep, bool last, const char **value);

/* Prints "sdx COMMAND: ..." to stderr; returns the code. */
int cli_fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a library error. */
int cli_error(const char *what, sdx_status st, const sdx_error *err);
int cli_exit_code(sdx_status st);
/* Out of memory ends the program. */
void *cli_alloc(size_t n);
void *cli_realloc(void *p, size_t n);
char *cli_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Session options from the arguments; names stay valid as long as the arguments. 0, or an exit code. */
int cli_options(const Args *a, sdx_session_options *o);
/* Opens the model named by words[0]. "-" reads stdin. */
int cli_open(const Args *a, sdx_session **s);

bool cli_is_terminal(FILE *f); /* colours and progress are for terminals only */
int64_t cli_now_ns(void);

/* A whole file: cli_alloc'ed, a NUL after its end. NULL with a message in err. */
void *cli_read_file(const char *path, size_t *nbytes, sdx_error *err);
bool cli_write_file(const char *path, const void *data, size_t nbytes, sdx_error *err);
void cli_error_set(sdx_error *err, sdx_status st, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
