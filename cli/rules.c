#include "cli/rules.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool apply_rule(TestCase *c, const char *path, const char *rule, const char *reason)
{
    if (strcmp(rule, "skip") == 0) {
        c->result = CASE_SKIPPED;
        c->text = cli_printf("%s", reason);
        return true;
    }
    if (strcmp(rule, "binary") == 0) return c->tol.binary = true;
    if (strcmp(rule, "bfloat16-bits") == 0) return c->bfloat16_bits = true;
    if (strcmp(rule, "repeat") == 0) return c->repeat = true;
    if (strcmp(rule, "corrected") == 0) {
        const char *slash = strrchr(path, '/');
        int n = slash ? (int)(slash - path) + 1 : 0;
        c->corrected = cli_printf("%.*scorrected/%s", n, path, c->name);
        return true;
    }
    if (strncmp(rule, "rtol=", 5) == 0) return c->tol.rtol = strtod(rule + 5, NULL), true;
    if (strncmp(rule, "atol=", 5) == 0) return c->tol.atol = strtod(rule + 5, NULL), true;
    return false;
}

static bool apply_line(const char *path, char *line, TestCase *cases, size_t n)
{
    char *hash = strchr(line, '#'), *save;
    const char *reason = hash ? hash + 1 : "";
    while (*reason == ' ') reason++;
    if (hash) *hash = '\0';
    const char *pattern = strtok_r(line, " \t", &save);
    if (!pattern) return true; /* a comment */
    if (!*reason) return false;
    for (const char *rule; (rule = strtok_r(NULL, " \t", &save));)
        for (size_t i = 0; i < n; i++)
            if (fnmatch(pattern, cases[i].name, 0) == 0 && !apply_rule(&cases[i], path, rule, reason)) return false;
    return true;
}

bool rules_apply(const char *path, TestCase *cases, size_t n)
{
    sdx_error err = { 0 };
    size_t nbytes;
    char *text = cli_read_file(path, &nbytes, &err), *save;
    if (!text) return cli_fail(0, "%s", err.text), false;
    bool ok = true;
    int number = 0;
    for (char *line = strtok_r(text, "\n", &save); line && ok; line = strtok_r(NULL, "\n", &save)) {
        number++;
        ok = apply_line(path, line, cases, n);
        if (!ok) cli_fail(0, "%s: rule line %d is unknown or has no reason", path, number);
    }
    free(text);
    return ok;
}
