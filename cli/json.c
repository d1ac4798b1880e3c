#include "cli/json.h"

#include <math.h>
#include <string.h>

#include "cli/cli.h"

static void put_text(FILE *f, const char *s, size_t n)
{
    fputc('"', f);
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t len = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
        bool good = len && i + len <= n;
        for (size_t k = 1; good && k < len; k++) good = ((unsigned char)s[i + k] & 0xc0) == 0x80;
        if (!good)
            fputs("\\ufffd", f), i++;
        else if (len > 1)
            fwrite(s + i, 1, len, f), i += len;
        else if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c), i++;
        else if (c < 0x20)
            fprintf(f, "\\u%04x", c), i++;
        else
            fputc(c, f), i++;
    }
    fputc('"', f);
}

static void put_key(Json *j, const char *key)
{
    if (!j->first[j->depth]) fputc(',', j->f);
    j->first[j->depth] = false;
    if (j->depth) fprintf(j->f, "\n%*s", 2 * j->depth, "");
    if (!key) return;
    put_text(j->f, key, strlen(key));
    fputs(": ", j->f);
}

static void put_open(Json *j, const char *key, char bracket)
{
    put_key(j, key);
    fputc(bracket, j->f);
    if (j->depth < 31) j->depth++;
    j->first[j->depth] = true;
}

void json_open(Json *j, FILE *f, const char *kind)
{
    *j = (Json){ .f = f, .first = { true } };
    put_open(j, NULL, '{');
    json_int(j, "schema", CLI_SCHEMA);
    json_string(j, "kind", kind);
}

void json_close(Json *j)
{
    json_end(j, '}');
    fputc('\n', j->f);
}

void json_object(Json *j, const char *key) { put_open(j, key, '{'); }
void json_array(Json *j, const char *key) { put_open(j, key, '['); }

void json_end(Json *j, char bracket)
{
    bool empty = j->first[j->depth];
    if (j->depth) j->depth--;
    if (!empty) fprintf(j->f, "\n%*s", 2 * j->depth, "");
    fputc(bracket, j->f);
}

void json_string(Json *j, const char *key, const char *value)
{
    put_key(j, key);
    put_text(j->f, value, strlen(value));
}

void json_int(Json *j, const char *key, int64_t value)
{
    put_key(j, key);
    fprintf(j->f, "%lld", (long long)value);
}

void json_number(Json *j, const char *key, double value)
{
    put_key(j, key);
    if (isfinite(value))
        fprintf(j->f, "%.9g", value);
    else
        fputs("null", j->f);
}

void json_bool(Json *j, const char *key, bool value)
{
    put_key(j, key);
    fputs(value ? "true" : "false", j->f);
}
