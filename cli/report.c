#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

#include "cli/json.h"

static const char *const result_names[] = { "pending", "passed", "failed", "skipped" };

static void print_lines(const Args *a, const TestCase *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const TestCase *c = &cases[i];
        if (c->result == CASE_PASSED && !args_flag(a, "verbose")) continue;
        printf("%s %s%s%s\n",
               c->result == CASE_PASSED    ? "ok"
               : c->result == CASE_SKIPPED ? "skip"
                                           : "FAIL",
               c->name, c->text && *c->text ? ": " : "", c->text ? c->text : "");
    }
}

static void print_tap(const TestCase *cases, size_t n)
{
    printf("TAP version 13\n1..%zu\n", n);
    for (size_t i = 0; i < n; i++) {
        const TestCase *c = &cases[i];
        printf("%s %zu - %s%s%s\n", c->result == CASE_FAILED ? "not ok" : "ok", i + 1, c->name,
               c->result == CASE_SKIPPED ? " # SKIP " : "", c->result == CASE_SKIPPED ? c->text : "");
        if (c->result == CASE_FAILED) printf("  # %s\n", c->text);
    }
}

static void put_xml(FILE *f, const char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '&')
            fputs("&amp;", f);
        else if (c == '<')
            fputs("&lt;", f);
        else if (c == '"')
            fputs("&quot;", f);
        else if (c >= 0x20 && c < 0x7f)
            fputc(c, f);
        else
            fputc('?', f);
    }
}

static void write_junit(const char *path, const TestCase *cases, size_t n, const size_t *counts)
{
    FILE *f = fopen(path, "w");
    if (!f) {
        cli_fail(0, "%s: cannot be written", path);
        return;
    }
    fprintf(f,
            "<?xml version=\"1.0\"?>\n<testsuite name=\"sdx test\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n",
            n, counts[CASE_FAILED], counts[CASE_SKIPPED]);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "  <testcase name=\"");
        put_xml(f, cases[i].name);
        fprintf(f, "\" time=\"%.3f\">", cases[i].seconds);
        if (cases[i].result == CASE_FAILED) {
            fprintf(f, "<failure message=\"");
            put_xml(f, cases[i].text);
            fprintf(f, "\"/>");
        }
        if (cases[i].result == CASE_SKIPPED) fprintf(f, "<skipped/>");
        fprintf(f, "</testcase>\n");
    }
    fprintf(f, "</testsuite>\n");
    fclose(f);
}

static void print_json(const TestCase *cases, size_t n, const size_t *counts)
{
    Json j;
    json_open(&j, stdout, "test");
    json_int(&j, "passed", (int64_t)counts[CASE_PASSED]);
    json_int(&j, "failed", (int64_t)counts[CASE_FAILED]);
    json_int(&j, "skipped", (int64_t)counts[CASE_SKIPPED]);
    json_array(&j, "cases");
    for (size_t i = 0; i < n; i++) {
        json_object(&j, NULL);
        json_string(&j, "name", cases[i].name);
        json_string(&j, "result", result_names[cases[i].result]);
        json_string(&j, "text", cases[i].text ? cases[i].text : "");
        json_number(&j, "max_abs", cases[i].max_abs);
        json_number(&j, "max_rel", cases[i].max_rel);
        json_number(&j, "seconds", cases[i].seconds);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_close(&j);
}

/* -- the ratchet: one name a line, sorted ------------------------------------------------------------------------- */

static const TestCase *find_case(const TestCase *cases, size_t n, const char *name)
{
    for (size_t lo = 0, hi = n; lo < hi;) {
        size_t mid = (lo + hi) / 2;
        int order = strcmp(name, cases[mid].name);
        if (order == 0) return &cases[mid];
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

static size_t ratchet_losses(const char *path, const TestCase *cases, size_t n)
{
    sdx_error err = { 0 };
    size_t nbytes, lost = 0;
    char *text = cli_read_file(path, &nbytes, &err), *save;
    if (!text) return cli_fail(0, "%s", err.text), 1;
    for (char *name = strtok_r(text, "\n", &save); name; name = strtok_r(NULL, "\n", &save)) {
        const TestCase *c = find_case(cases, n, name);
        if (c && c->result == CASE_PASSED) continue;
        printf("LOST %s: %s\n", name, c ? c->text ? c->text : "" : "the case is gone");
        lost++;
    }
    free(text);
    return lost;
}

static void ratchet_write(const char *path, const TestCase *cases, size_t n)
{
    FILE *f = fopen(path, "w");
    if (!f) {
        cli_fail(0, "%s: cannot be written", path);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (cases[i].result == CASE_PASSED) fprintf(f, "%s\n", cases[i].name);
    fclose(f);
}

int report_cases(const Args *a, const TestCase *cases, size_t n)
{
    size_t counts[4] = { 0 }, crashes = 0, lost = 0;
    for (size_t i = 0; i < n; i++) {
        counts[cases[i].result]++;
        crashes += cases[i].crashed;
    }
    const char *ratchet = args_value(a, "ratchet"), *junit = args_value(a, "junit");
    if (junit) write_junit(junit, cases, n, counts);
    if (args_flag(a, "json"))
        print_json(cases, n, counts);
    else if (args_flag(a, "tap"))
        print_tap(cases, n);
    else
        print_lines(a, cases, n);
    if (ratchet && args_flag(a, "update-ratchet"))
        ratchet_write(ratchet, cases, n);
    else if (ratchet)
        lost = ratchet_losses(ratchet, cases, n);
    FILE *f = args_flag(a, "json") ? stderr : stdout;
    if (crashes) fprintf(f, "%zu crashed\n", crashes);
    /* Under a ratchet, what fails as before is not news: the names on the list decide. */
    fprintf(f, "%zu passed, %zu failed, %zu skipped\n", counts[CASE_PASSED], counts[CASE_FAILED], counts[CASE_SKIPPED]);
    if (ratchet) return lost || crashes ? EXIT_CHECK : EXIT_OK;
    return counts[CASE_FAILED] || counts[CASE_PENDING] ? EXIT_CHECK : EXIT_OK;
}
