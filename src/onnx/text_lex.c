#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/text.h"

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void skip_space(Text *t)
{
    while (t->p < t->end) {
        if (*t->p == '#')
            while (t->p < t->end && *t->p != '\n') t->p++;
        else if (strchr(" \t\r\n", *t->p) && *t->p)
            t->p++;
        else
            return;
    }
}

/* A string in quotes; a backslash makes the next character stand for itself, \n and \t for what they are elsewhere.
 * Kept: attributes point to it. */
static Token lex_string(Text *t)
{
    const char *at = t->p++, *from = t->p;
    bool escaped = false;
    for (; t->p < t->end && *t->p != '"'; t->p++)
        if (*t->p == '\\' && t->p + 1 < t->end) {
            t->p++;
            escaped = true;
        }
    size_t n = (size_t)(t->p - from), to = 0;
    char *copy = t->p < t->end ? sdx_arena_strndup(t->proto->kept, from, n) : NULL;
    if (!copy) return (Token){ TOKEN_BAD, { at, 1 }, at };
    t->p++;
    for (size_t i = 0; escaped && i < n; i++) {
        char c = copy[i];
        if (c == '\\' && i + 1 < n) {
            c = copy[++i];
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        copy[to++] = c;
    }
    return (Token){ TOKEN_STRING, { copy, escaped ? to : n }, at };
}

static Token lex_number(Text *t)
{
    const char *at = t->p;
    bool is_float = false;
    if (*t->p == '-' || *t->p == '+') t->p++;
    if (t->p < t->end && is_letter(*t->p)) { /* -inf, -nan */
        while (t->p < t->end && is_letter(*t->p)) t->p++;
        return (Token){ TOKEN_FLOAT, { at, (size_t)(t->p - at) }, at };
    }
    for (; t->p < t->end; t->p++) {
        char c = *t->p;
        bool sign = (c == '-' || c == '+') && (t->p[-1] == 'e' || t->p[-1] == 'E');
        if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && !sign) break;
        is_float |= !is_digit(c);
    }
    return (Token){ is_float ? TOKEN_FLOAT : TOKEN_INT, { at, (size_t)(t->p - at) }, at };
}

static Token lex(Text *t)
{
    skip_space(t);
    const char *at = t->p;
    if (at >= t->end) return (Token){ TOKEN_END, { "the end", 7 }, at };
    if (*at == '"') return lex_string(t);
    if (is_letter(*at)) {
        while (t->p < t->end && (is_letter(*t->p) || is_digit(*t->p))) t->p++;
        return (Token){ TOKEN_NAME, { at, (size_t)(t->p - at) }, at };
    }
    bool sign = (*at == '-' || *at == '+') && at + 1 < t->end && (is_digit(at[1]) || is_letter(at[1]) || at[1] == '.');
    if (is_digit(*at) || sign) return lex_number(t);
    t->p += at + 1 < t->end && at[0] == '=' && at[1] == '>' ? 2 : 1;
    return (Token){ TOKEN_SIGN, { at, (size_t)(t->p - at) }, at };
}

void sdx_text_init(Text *t, Model *m, Proto *proto, const char *text, size_t n, Err *err)
{
    *t = (Text){ .start = text, .p = text, .end = text + n, .model = m, .proto = proto, .err = err };
    sdx_text_advance(t);
}

void sdx_text_advance(Text *t) { t->next = lex(t); }

sdx_status sdx_text_fail(Text *t, const char *what)
{
    int line = 1;
    for (const char *p = t->start; p < t->next.at; p++) line += *p == '\n';
    if (t->next.kind == TOKEN_BAD) what = "a string does not end, or memory is short,";
    return sdx_fail(t->err, SDX_INVALID_MODEL, "line %d: %s before `%.*s`", line, what, STR_ARG(t->next.text));
}

bool sdx_text_at(const Text *t, const char *sign)
{
    return t->next.kind == TOKEN_SIGN && sdx_str_is(t->next.text, sign);
}

bool sdx_text_at_word(const Text *t, const char *word)
{
    return t->next.kind == TOKEN_NAME && sdx_str_is(t->next.text, word);
}

bool sdx_text_take(Text *t, const char *sign)
{
    if (!sdx_text_at(t, sign)) return false;
    sdx_text_advance(t);
    return true;
}

sdx_status sdx_text_expect(Text *t, const char *sign)
{
    char what[32];
    if (sdx_text_take(t, sign)) return SDX_OK;
    snprintf(what, sizeof what, "`%s` is missing", sign);
    return sdx_text_fail(t, what);
}

sdx_status sdx_text_name(Text *t, Str *out)
{
    if (t->next.kind != TOKEN_NAME && t->next.kind != TOKEN_STRING) return sdx_text_fail(t, "a name is missing");
    *out = t->next.text;
    sdx_text_advance(t);
    return SDX_OK;
}

sdx_status sdx_text_string(Text *t, Str *out)
{
    if (t->next.kind != TOKEN_STRING) return sdx_text_fail(t, "a string in quotes is missing");
    *out = t->next.text;
    sdx_text_advance(t);
    return SDX_OK;
}

sdx_status sdx_text_int(Text *t, int64_t *out)
{
    Str s = t->next.text;
    uint64_t v = 0;
    if (t->next.kind != TOKEN_INT) return sdx_text_fail(t, "an integer is missing");
    bool negative = *s.p == '-';
    for (size_t i = negative || *s.p == '+'; i < s.n; i++) {
        unsigned digit = (unsigned)(s.p[i] - '0');
        if (v > (UINT64_MAX - digit) / 10) return sdx_text_fail(t, "an integer is too large");
        v = v * 10 + digit;
    }
    if (negative && v > (uint64_t)INT64_MAX + 1) return sdx_text_fail(t, "an integer is too large");
    *out = (int64_t)(negative ? 0 - v : v); /* above INT64_MAX: the bits of a uint64 */
    sdx_text_advance(t);
    return SDX_OK;
}

static bool is_special(const Text *t)
{
    return sdx_text_at_word(t, "inf") || sdx_text_at_word(t, "nan") || sdx_text_at_word(t, "infinity");
}

bool sdx_text_is_number(const Text *t)
{
    return t->next.kind == TOKEN_INT || t->next.kind == TOKEN_FLOAT || is_special(t);
}

sdx_status sdx_text_float(Text *t, double *out)
{
    char buf[128], *end;
    Str s = t->next.text;
    if (!sdx_text_is_number(t) || s.n >= sizeof buf) return sdx_text_fail(t, "a number is missing");
    memcpy(buf, s.p, s.n);
    buf[s.n] = 0;
    char *dot = strchr(buf, '.'); /* strtod wants the host's own sign */
    if (dot) *dot = *localeconv()->decimal_point;
    *out = strtod(buf, &end);
    if (*end) return sdx_text_fail(t, "a number is malformed");
    sdx_text_advance(t);
    return SDX_OK;
}
