#include "base/regex.h"

#include <stdlib.h>
#include <string.h>

#include "base/unicode.h"

/* -- what an expression is made of ------------------------------------------------------------------------------------- */

typedef struct Range {
    uint32_t first, last;
} Range;

typedef struct Class {
    Range *ranges; /* sorted, apart */
    int n, cap;
    uint32_t categories; /* of Unicode, whole */
    bool negated, fold;
    uint64_t ascii[2]; /* the answers for characters below 128 */
} Class;

typedef enum AssertKind {
    AT_TEXT_START,
    AT_TEXT_END,
    AT_LINE_START,
    AT_LINE_END,
    AT_WORD_EDGE,
    INSIDE_WORD
} AssertKind;

typedef enum TermKind { TERM_CHAR, TERM_FOLD, TERM_CLASS, TERM_ASSERT, TERM_LIST, TERM_CHOICE, TERM_REPEAT } TermKind;

typedef struct Term {
    TermKind kind;
    uint32_t value; /* a character, its fold, or an AssertKind */
    Class *set;
    int min, max;       /* of a repeat; max -1: any number */
    struct Term *child; /* the first of a list or choice; what is repeated */
    struct Term *next;  /* in the list it belongs to */
} Term;

typedef enum OpCode { OP_CHAR, OP_FOLD, OP_CLASS, OP_ASSERT, OP_FORK, OP_JUMP, OP_ACCEPT } OpCode;

typedef struct Instr {
    OpCode code;
    uint32_t x, y; /* a character, its fold, an AssertKind; targets */
    const Class *set;
} Instr;

struct Regex {
    Instr *v;
    int n, cap;
};

/* -- reading --------------------------------------------------------------------------------------------------------- */

enum { FOLD = 1, LINES = 2, DOT_ALL = 4 }; /* the flags i, m, s; greediness, U, is no matter for full matches */

typedef struct Reader {
    const char *start, *p, *end;
    unsigned flags;
    int depth;
    bool literal; /* between \Q and \E */
    Arena *arena;
    Err *err;
} Reader;

static sdx_status read_choice(Reader *r, Term **out);

static sdx_status bad_at(const Reader *r, const char *at, const char *what)
{
    return sdx_fail(r->err, SDX_INVALID_MODEL, "the pattern is wrong at byte %zu: %s", (size_t)(at - r->start), what);
}

static bool more(const Reader *r) { return r->p < r->end; }
static bool next_is(const Reader *r, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(r->end - r->p) >= n && !memcmp(r->p, text, n);
}
static bool take(Reader *r, const char *text)
{
    if (!next_is(r, text)) return false;
    r->p += strlen(text);
    return true;
}

static sdx_status read_char(Reader *r, uint32_t *c)
{
    int n = sdx_utf8_read(r->p, (size_t)(r->end - r->p), c);
    if (n == 0) return bad_at(r, r->p, "bytes that are no UTF-8");
    r->p += n;
    return SDX_OK;
}

static sdx_status term_new(Reader *r, TermKind kind, Term **out)
{
    *out = sdx_arena_new(r->arena, Term);
    TRY_MEM(*out, r->err);
    (*out)->kind = kind;
    return SDX_OK;
}

static sdx_status term_assert(Reader *r, AssertKind kind, Term **out)
{
    TRY(term_new(r, TERM_ASSERT, out));
    (*out)->value = kind;
    return SDX_OK;
}

static sdx_status term_char(Reader *r, uint32_t c, Term **out)
{
    TRY(term_new(r, r->flags & FOLD ? TERM_FOLD : TERM_CHAR, out));
    (*out)->value = r->flags & FOLD ? sdx_unicode_fold(c) : c;
    return SDX_OK;
}

/* -- classes of characters ------------------------------------------------------------------------------------------- */

static sdx_status class_new(Reader *r, Term **out)
{
    TRY(term_new(r, TERM_CLASS, out));
    Class *set = (*out)->set = sdx_arena_new(r->arena, Class);
    TRY_MEM(set, r->err);
    set->fold = r->flags & FOLD;
    return SDX_OK;
}

static sdx_status class_add(Reader *r, Class *set, uint32_t first, uint32_t last)
{
    if (!sdx_arena_grow(r->arena, set->ranges, set->n, set->cap))
        return sdx_fail(r->err, SDX_OUT_OF_MEMORY, "out of memory");
    set->ranges[set->n++] = (Range){ first, last };
    return SDX_OK;
}

/* Characters, in pairs of first and last, that a named class stands for. */
typedef struct NamedClass {
    const char *name, *pairs;
} NamedClass;
static const NamedClass perl_classes[] = { { "d", "09" }, { "s", "\t\n\f\r  " }, { "w", "09AZ__az" } };
enum { LONG_S = 0x17f, KELVIN = 0x212a }; /* other cases of s and k */
static const NamedClass posix_classes[] = {
    { "alnum", "09AZaz" },
    { "alpha", "AZaz" },
    { "ascii", "\0\x7f" },
    { "blank", "\t\t  " },
    { "cntrl", "\0\x1f\x7f\x7f" },
    { "digit", "09" },
    { "graph", "!~" },
    { "lower", "az" },
    { "print", " ~" },
    { "punct", "!/:@[`{~" },
    { "space", "\t\r  " },
    { "upper", "AZ" },
    { "word", "09AZ__az" },
    { "xdigit", "09AFaf" },
};

/* \0 may be the first of the pairs, so their end is the next \0. The complement is that of the class with its other cases,
 * where case is ignored: of ASCII letters, two have one beyond ASCII. */
static sdx_status class_add_named(Reader *r, Class *set, const NamedClass *c, bool negated)
{
    const char *pairs = set->fold && (!strcmp(c->pairs, "az") || !strcmp(c->pairs, "AZ")) ? "AZaz" : c->pairs;
    size_t n = 1 + strlen(pairs + 1);
    uint32_t from = 0;
    for (size_t i = 0; i < n; i += 2) {
        uint32_t first = (unsigned char)pairs[i], last = (unsigned char)pairs[i + 1];
        if (!negated)
            TRY(class_add(r, set, first, last));
        else if (first > from)
            TRY(class_add(r, set, from, first - 1));
        from = last + 1;
    }
    if (!negated) return SDX_OK;
    if (set->fold && strstr(pairs, "az")) {
        TRY(class_add(r, set, from, LONG_S - 1));
        TRY(class_add(r, set, LONG_S + 1, KELVIN - 1));
        from = KELVIN + 1;
    }
    return class_add(r, set, from, UNICODE_END - 1);
}

/* After "\p" or "\P". */
static sdx_status class_add_categories(Reader *r, Class *set, bool alone, bool negated)
{
    const char *at = r->p, *name = r->p, *close;
    size_t n = 1;
    if (!more(r)) return bad_at(r, at, "a class of Unicode without a name");
    if (*r->p == '{') {
        close = memchr(r->p, '}', (size_t)(r->end - r->p));
        if (!close) return bad_at(r, at, "a class of Unicode that does not end");
        name++;
        n = (size_t)(close - name);
        r->p = close + 1;
        if (n && *name == '^') negated = !negated, name++, n--;
    } else {
        r->p++;
    }
    bool any = n == 3 && !memcmp(name, "Any", 3);
    uint32_t categories = any ? UINT32_MAX : n >= 1 && n <= 2 ? sdx_unicode_categories(name, n) : 0;
    if (n == 1 && *name == 'C') categories &= ~sdx_unicode_categories("Cn", 2);
    if (!categories) return bad_at(r, at, "only general categories of Unicode, such as L or Lu, are supported");
    if (alone)
        set->negated = negated;
    else if (negated && set->fold)
        return bad_at(r, at, "the complement of a class of Unicode, in brackets that ignore case, is not supported");
    set->categories |= negated && !alone ? ~categories : categories;
    return SDX_OK;
}

/* An escape that stands for a class of characters, after the backslash. alone: not in brackets. *took: it was one. */
static sdx_status class_add_escape(Reader *r, Class *set, bool alone, bool *took)
{
    char c = *r->p, lower = (char)(c | 0x20);
    *took = true;
    if (lower == 'p') {
        r->p++;
        return class_add_categories(r, set, alone, c == 'P');
    }
    for (size_t i = 0; i < sizeof perl_classes / sizeof *perl_classes; i++)
        if (lower == perl_classes[i].name[0]) {
            r->p++;
            return class_add_named(r, set, &perl_classes[i], c != lower);
        }
    *took = false;
    return SDX_OK;
}

/* Characters whose other cases cannot be told from the simple mappings in one step: a class that has one, and ignores
 * case, gets its fold too. */
static const Range odd_cases[] = {
    { 0xb5, 0xb5 },     { 0x17f, 0x17f },   { 0x1c5, 0x1c5 },   { 0x1c8, 0x1c8 },   { 0x1cb, 0x1cb },
    { 0x1f2, 0x1f2 },   { 0x345, 0x345 },   { 0x3c2, 0x3c2 },   { 0x3d0, 0x3d1 },   { 0x3d5, 0x3d6 },
    { 0x3f0, 0x3f1 },   { 0x3f4, 0x3f5 },   { 0x1c80, 0x1c88 }, { 0x1e9b, 0x1e9b }, { 0x1e9e, 0x1e9e },
    { 0x1f88, 0x1f8f }, { 0x1f98, 0x1f9f }, { 0x1fa8, 0x1faf }, { 0x1fbc, 0x1fbc }, { 0x1fbe, 0x1fbe },
    { 0x1fcc, 0x1fcc }, { 0x1ffc, 0x1ffc }, { 0x2126, 0x2126 }, { 0x212a, 0x212b },
};

static bool class_has_exactly(const Class *set, uint32_t c)
{
    if (set->categories && (set->categories & sdx_unicode_category(c))) return true;
    int lo = 0, hi = set->n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (set->ranges[mid].last < c)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < set->n && set->ranges[lo].first <= c;
}

static bool class_matches(const Class *set, uint32_t c)
{
    bool has = class_has_exactly(set, c);
    if (!has && set->fold) {
        uint32_t fold = sdx_unicode_fold(c), upper = sdx_unicode_upper(fold);
        has = class_has_exactly(set, fold) || (sdx_unicode_fold(upper) == fold && class_has_exactly(set, upper));
    }
    return has != set->negated;
}

static int range_order(const void *a, const void *b)
{
    const Range *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Sorts and joins the ranges, and prepares what matching asks. */
static sdx_status class_finish(Reader *r, Class *set)
{
    int n = 0;
    int given = set->n;
    for (size_t i = 0; set->fold && i < sizeof odd_cases / sizeof *odd_cases; i++)
        for (uint32_t c = odd_cases[i].first; c <= odd_cases[i].last; c++) {
            bool has = set->categories & sdx_unicode_category(c);
            for (int k = 0; k < given && !has; k++) has = set->ranges[k].first <= c && c <= set->ranges[k].last;
            if (has) TRY(class_add(r, set, sdx_unicode_fold(c), sdx_unicode_fold(c)));
        }
    if (set->n) qsort(set->ranges, (size_t)set->n, sizeof *set->ranges, range_order);
    for (int i = 0; i < set->n; i++) {
        Range *last = set->ranges + n - 1;
        if (n && set->ranges[i].first <= last->last) {
            if (set->ranges[i].last > last->last) last->last = set->ranges[i].last;
        } else {
            set->ranges[n++] = set->ranges[i];
        }
    }
    set->n = n;
    for (uint32_t c = 0; c < 128; c++)
        if (class_matches(set, c)) set->ascii[c / 64] |= (uint64_t)1 << c % 64;
    return SDX_OK;
}

/* -- escapes --------------------------------------------------------------------------------------------------------- */

static int digit_of(char c, int base)
{
    int d = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 99;
    return d < base ? d : -1;
}

/* The character that an escape stands for, after the backslash. */
static sdx_status read_escape(Reader *r, uint32_t *out)
{
    static const char names[] = "aftnrv", values[] = "\a\f\t\n\r\v";
    const char *at = r->p - 1, *found;
    if (!more(r)) return bad_at(r, at, "a backslash at the end");
    char c = *r->p++;
    *out = (unsigned char)c;
    if (c == 'x') {
        bool braces = take(r, "{");
        uint32_t v = 0;
        int n = 0, most = braces ? 8 : 2;
        for (int d; more(r) && n < most && (d = digit_of(*r->p, 16)) >= 0 && v < UNICODE_END; n++, r->p++)
            v = v * 16 + (uint32_t)d;
        *out = v;
        if (v >= UNICODE_END || (braces ? n == 0 || !take(r, "}") : n != 2))
            return bad_at(r, at, "\\x without its hexadecimal digits, or beyond 10FFFF");
        return SDX_OK;
    }
    /* One digit but 0 would refer to a group. */
    if (c == '0' || (c >= '1' && c <= '7' && more(r) && digit_of(*r->p, 8) >= 0)) {
        uint32_t v = (uint32_t)(c - '0');
        for (int n = 1; n < 3 && more(r) && digit_of(*r->p, 8) >= 0; n++) v = v * 8 + (uint32_t)digit_of(*r->p++, 8);
        *out = v;
        return SDX_OK;
    }
    if ((found = strchr(names, c))) {
        *out = (unsigned char)values[found - names];
        return SDX_OK;
    }
    bool plain = (unsigned char)c < 0x80 && c && digit_of(c, 10) < 0 && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    return plain ? SDX_OK : bad_at(r, at, "an escape that RE2 does not know, or that is not supported");
}

/* -- the grammar ----------------------------------------------------------------------------------------------------- */

/* One end of a range in brackets. */
static sdx_status read_class_char(Reader *r, uint32_t *c)
{
    if (!more(r)) return bad_at(r, r->p, "brackets that do not end");
    return take(r, "\\") ? read_escape(r, c) : read_char(r, c);
}

static sdx_status read_posix(Reader *r, Class *set, bool *took)
{
    *took = false;
    if (!next_is(r, "[:")) return SDX_OK;
    const char *name = r->p + 2, *p = name;
    while (p + 1 < r->end && !(p[0] == ':' && p[1] == ']')) p++;
    if (p + 1 >= r->end) return SDX_OK; /* a bracket like any other character */
    bool negated = *name == '^';
    name += negated;
    for (size_t i = 0; i < sizeof posix_classes / sizeof *posix_classes; i++)
        if (strlen(posix_classes[i].name) == (size_t)(p - name) &&
            !memcmp(posix_classes[i].name, name, (size_t)(p - name))) {
            r->p = p + 2;
            *took = true;
            return class_add_named(r, set, &posix_classes[i], negated);
        }
    return bad_at(r, r->p, "no class has that name");
}

/* After "[". */
static sdx_status read_class(Reader *r, Term **out)
{
    TRY(class_new(r, out));
    Class *set = (*out)->set;
    set->negated = take(r, "^");
    for (bool first = true; first || !take(r, "]"); first = false) {
        const char *at = r->p;
        uint32_t lo, hi;
        bool took;
        if (!more(r)) return bad_at(r, at, "brackets that do not end");
        TRY(read_posix(r, set, &took));
        if (took) continue;
        if (*r->p == '\\' && r->p + 1 < r->end) {
            r->p++;
            TRY(class_add_escape(r, set, false, &took));
            if (took) continue;
            r->p--;
        }
        TRY(read_class_char(r, &lo));
        hi = lo;
        if (next_is(r, "-") && r->p + 1 < r->end && r->p[1] != ']') {
            r->p++;
            TRY(read_class_char(r, &hi));
        }
        if (hi < lo) return bad_at(r, at, "a range that ends before it begins");
        TRY(class_add(r, set, lo, hi));
    }
    return class_finish(r, set);
}

/* After "(?": the flags up to ':' or ')'. */
static sdx_status read_flags(Reader *r, bool *group)
{
    static const char names[] = "ims";
    const char *at = r->p;
    bool off = false, any = false;
    for (; more(r); r->p++) {
        const char *found = *r->p ? strchr(names, *r->p) : NULL;
        if (*r->p == ':' || *r->p == ')') {
            if (off && !any) break;
            *group = *r->p++ == ':';
            return SDX_OK;
        }
        if (*r->p == '-' && !off) {
            off = true;
            any = false;
            continue;
        }
        if (!found && *r->p != 'U') break;
        unsigned bit = found ? 1u << (found - names) : 0;
        r->flags = off ? r->flags & ~bit : r->flags | bit;
        any = true;
    }
    return bad_at(r, at, "flags, or a kind of group, that RE2 does not know");
}

/* After "(". */
static sdx_status read_group(Reader *r, Term **out)
{
    const char *at = r->p - 1;
    unsigned flags = r->flags;
    if (++r->depth > REGEX_MAX_DEPTH) return bad_at(r, at, "groups that nest deeper than 100");
    if (next_is(r, "?P<") || (next_is(r, "?<") && !next_is(r, "?<=") && !next_is(r, "?<!"))) {
        const char *name = r->p + (r->p[1] == 'P' ? 3 : 2), *p = name;
        while (p < r->end && (*p == '_' || digit_of(*p, 10) >= 0 || (unsigned char)*p >= 0x80 ||
                              ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z')))
            p++;
        if (p == name || p == r->end || *p != '>') return bad_at(r, at, "a group without a proper name");
        r->p = p + 1;
    } else if (take(r, "?")) {
        bool group = false;
        TRY(read_flags(r, &group));
        if (!group) { /* the flags hold to the end of the group around */
            r->depth--;
            *out = NULL;
            return SDX_OK;
        }
    }
    TRY(read_choice(r, out));
    if (!take(r, ")")) return bad_at(r, at, "a parenthesis that is not closed");
    r->depth--;
    r->flags = flags;
    return SDX_OK;
}

/* After a backslash, outside of brackets. */
static sdx_status read_escaped_term(Reader *r, Term **out)
{
    bool took;
    uint32_t c;
    if (take(r, "A")) return term_assert(r, AT_TEXT_START, out);
    if (take(r, "z")) return term_assert(r, AT_TEXT_END, out);
    if (take(r, "b")) return term_assert(r, AT_WORD_EDGE, out);
    if (take(r, "B")) return term_assert(r, INSIDE_WORD, out);
    if (take(r, "Q")) {
        r->literal = true;
        *out = NULL;
        return SDX_OK;
    }
    if (more(r) && strchr("dDsSwWpP", *r->p) && *r->p) {
        TRY(class_new(r, out));
        TRY(class_add_escape(r, (*out)->set, true, &took));
        return class_finish(r, (*out)->set);
    }
    TRY(read_escape(r, &c));
    return term_char(r, c, out);
}

static sdx_status read_dot(Reader *r, Term **out)
{
    TRY(class_new(r, out));
    Class *set = (*out)->set;
    set->fold = false;
    set->negated = true;
    if (!(r->flags & DOT_ALL)) TRY(class_add(r, set, '\n', '\n'));
    return class_finish(r, set);
}

/* {n}, {n,} or {n,m} at p, without leading zeros; anything else is no repeat, and leaves the reader where it is. */
static bool read_counts(Reader *r, int *min, int *max)
{
    const char *p = r->p + 1;
    int v[2] = { -1, -1 }, n = 0;
    for (;; n++) {
        for (; p < r->end && digit_of(*p, 10) >= 0; p++) {
            if (v[n] == 0) return false;
            if (v[n] < 0) v[n] = 0;
            if (v[n] <= REGEX_MAX_REPEAT) v[n] = v[n] * 10 + digit_of(*p, 10);
        }
        if (n == 1 || p == r->end || *p != ',') break;
        p++;
    }
    if (p == r->end || *p != '}' || v[0] < 0) return false;
    *min = v[0];
    *max = n == 0 ? v[0] : v[1];
    r->p = p + 1;
    return true;
}

static bool read_repeat(Reader *r, int *min, int *max)
{
    if (!more(r) || r->literal) return false;
    *min = 0;
    *max = -1;
    switch (*r->p) {
    case '*': break;
    case '+': *min = 1; break;
    case '?': *max = 1; break;
    case '{': return read_counts(r, min, max);
    default: return false;
    }
    r->p++;
    return true;
}

/* One thing that can be repeated. *out NULL: flags, or the beginning of literal text. */
static sdx_status read_atom(Reader *r, Term **out)
{
    uint32_t c;
    if (!r->literal) {
        if (take(r, "(")) return read_group(r, out);
        if (take(r, "[")) return read_class(r, out);
        if (take(r, ".")) return read_dot(r, out);
        if (take(r, "^")) return term_assert(r, r->flags & LINES ? AT_LINE_START : AT_TEXT_START, out);
        if (take(r, "$")) return term_assert(r, r->flags & LINES ? AT_LINE_END : AT_TEXT_END, out);
        if (take(r, "\\")) return read_escaped_term(r, out);
    }
    TRY(read_char(r, &c));
    return term_char(r, c, out);
}

/* Wraps the term before, if a repeat comes. */
static sdx_status read_repeated(Reader *r, Term **last, bool last_repeats, bool *took)
{
    const char *at = r->p;
    int min, max;
    Term *t;
    *took = read_repeat(r, &min, &max);
    if (!*took) return SDX_OK;
    take(r, "?");
    if (!last) return bad_at(r, at, "nothing to repeat");
    if (last_repeats) return bad_at(r, at, "a repeat of a repeat");
    if (min > REGEX_MAX_REPEAT || max > REGEX_MAX_REPEAT || (max >= 0 && max < min))
        return bad_at(r, at, "a repeat of more than 1000, or of no range");
    TRY(term_new(r, TERM_REPEAT, &t));
    t->min = min;
    t->max = max;
    t->child = *last;
    *last = t;
    return SDX_OK;
}

static sdx_status read_list(Reader *r, Term **out)
{
    TRY(term_new(r, TERM_LIST, out));
    Term **tail = &(*out)->child, **last = NULL;
    bool repeats = false, took;
    while (more(r)) {
        if (r->literal && take(r, "\\E")) {
            r->literal = repeats = false;
            continue;
        }
        if (!r->literal && (next_is(r, "|") || next_is(r, ")"))) break;
        TRY(read_repeated(r, last, repeats, &took));
        repeats = took;
        if (!took) {
            Term *t;
            TRY(read_atom(r, &t));
            if (!t) continue;
            last = tail;
            *tail = t;
        }
        tail = &(*last)->next;
    }
    return SDX_OK;
}

static sdx_status read_choice(Reader *r, Term **out)
{
    TRY(read_list(r, out));
    if (!next_is(r, "|")) return SDX_OK;
    Term *first = *out, **tail = &first->next;
    TRY(term_new(r, TERM_CHOICE, out));
    (*out)->child = first;
    while (take(r, "|")) {
        TRY(read_list(r, tail));
        tail = &(*tail)->next;
    }
    return SDX_OK;
}

/* -- the program ----------------------------------------------------------------------------------------------------- */

typedef struct Writer {
    Regex *re;
    int visits; /* terms written, again for each repeat: also of those that write nothing */
    Arena *arena;
    Err *err;
} Writer;

static sdx_status write_instr(Writer *w, Instr i, int *at)
{
    Regex *re = w->re;
    if (re->n >= REGEX_MAX_STATES)
        return sdx_fail(w->err, SDX_LIMIT_BYTES, "the pattern needs more than %d states", REGEX_MAX_STATES);
    if (!sdx_arena_grow(w->arena, re->v, re->n, re->cap)) return sdx_fail(w->err, SDX_OUT_OF_MEMORY, "out of memory");
    if (at) *at = re->n;
    re->v[re->n++] = i;
    return SDX_OK;
}

static sdx_status write_term(Writer *w, const Term *t);

static sdx_status write_choice(Writer *w, const Term *t)
{
    int last_jump = -1; /* jumps to the end are linked through x until the end is known */
    for (const Term *c = t->child; c; c = c->next) {
        int fork = -1;
        if (c->next) TRY(write_instr(w, (Instr){ .code = OP_FORK, .x = (uint32_t)w->re->n + 1 }, &fork));
        TRY(write_term(w, c));
        if (!c->next) break;
        TRY(write_instr(w, (Instr){ .code = OP_JUMP, .x = (uint32_t)last_jump }, &last_jump));
        w->re->v[fork].y = (uint32_t)w->re->n;
    }
    while (last_jump >= 0) {
        int before = (int)w->re->v[last_jump].x;
        w->re->v[last_jump].x = (uint32_t)w->re->n;
        last_jump = before;
    }
    return SDX_OK;
}

static sdx_status write_repeat(Writer *w, const Term *t)
{
    int fork, last_fork = -1;
    for (int i = 0; i < t->min; i++) TRY(write_term(w, t->child));
    if (t->max < 0) {
        TRY(write_instr(w, (Instr){ .code = OP_FORK, .x = (uint32_t)w->re->n + 1 }, &fork));
        TRY(write_term(w, t->child));
        TRY(write_instr(w, (Instr){ .code = OP_JUMP, .x = (uint32_t)fork }, NULL));
        w->re->v[fork].y = (uint32_t)w->re->n;
        return SDX_OK;
    }
    for (int i = t->min; i < t->max; i++) { /* forks to the end, linked through y */
        Instr in = { .code = OP_FORK, .x = (uint32_t)w->re->n + 1, .y = (uint32_t)last_fork };
        TRY(write_instr(w, in, &last_fork));
        TRY(write_term(w, t->child));
    }
    while (last_fork >= 0) {
        int before = (int)w->re->v[last_fork].y;
        w->re->v[last_fork].y = (uint32_t)w->re->n;
        last_fork = before;
    }
    return SDX_OK;
}

static sdx_status write_term(Writer *w, const Term *t)
{
    if (++w->visits > 8 * REGEX_MAX_STATES)
        return sdx_fail(w->err, SDX_LIMIT_BYTES, "the pattern's repeats multiply beyond reason");
    switch (t->kind) {
    case TERM_CHAR: return write_instr(w, (Instr){ .code = OP_CHAR, .x = t->value }, NULL);
    case TERM_FOLD: return write_instr(w, (Instr){ .code = OP_FOLD, .x = t->value }, NULL);
    case TERM_CLASS: return write_instr(w, (Instr){ .code = OP_CLASS, .set = t->set }, NULL);
    case TERM_ASSERT: return write_instr(w, (Instr){ .code = OP_ASSERT, .x = t->value }, NULL);
    case TERM_CHOICE: return write_choice(w, t);
    case TERM_REPEAT: return write_repeat(w, t);
    case TERM_LIST: break;
    }
    for (const Term *c = t->child; c; c = c->next) TRY(write_term(w, c));
    return SDX_OK;
}

sdx_status sdx_regex_compile(Regex **out, const char *pattern, size_t n, Arena *arena, Err *err)
{
    static const char none[] = "";
    if (n == 0) pattern = none;
    Reader r = { .start = pattern, .p = pattern, .end = pattern + n, .arena = arena, .err = err };
    Term *t;
    TRY(read_choice(&r, &t));
    if (more(&r)) return bad_at(&r, r.p, "a parenthesis that was not opened");
    Writer w = { .re = sdx_arena_new(arena, Regex), .arena = arena, .err = err };
    TRY_MEM(w.re, err);
    TRY(write_term(&w, t));
    TRY(write_instr(&w, (Instr){ .code = OP_ACCEPT }, NULL));
    *out = w.re;
    return SDX_OK;
}

/* -- the machine ----------------------------------------------------------------------------------------------------- */

/* A set of states: those in dense, in order; sparse says where (Briggs and Torczon 1993). */
typedef struct States {
    uint32_t *dense, *sparse, n;
} States;

static bool states_have(const States *s, uint32_t pc) { return s->sparse[pc] < s->n && s->dense[s->sparse[pc]] == pc; }

enum { CHAR_NONE = UNICODE_END, CHAR_INVALID = UNICODE_END + 1 }; /* beyond either end; no UTF-8 */

static bool is_word(uint32_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool assert_holds(uint32_t kind, uint32_t before, uint32_t after)
{
    switch ((AssertKind)kind) {
    case AT_TEXT_START: return before == CHAR_NONE;
    case AT_TEXT_END: return after == CHAR_NONE;
    case AT_LINE_START: return before == CHAR_NONE || before == '\n';
    case AT_LINE_END: return after == CHAR_NONE || after == '\n';
    case AT_WORD_EDGE: return is_word(before) != is_word(after);
    case INSIDE_WORD: return is_word(before) == is_word(after);
    }
    return false;
}

/* Adds pc and the states that follow from it without reading, between two characters. */
static void states_add(States *s, const Instr *v, uint32_t pc, uint32_t before, uint32_t after, uint32_t *stack)
{
    size_t top = 0;
    stack[top++] = pc;
    while (top) {
        pc = stack[--top];
        if (states_have(s, pc)) continue;
        s->sparse[pc] = s->n;
        s->dense[s->n++] = pc;
        if (v[pc].code == OP_FORK) {
            stack[top++] = v[pc].y;
            stack[top++] = v[pc].x;
        } else if (v[pc].code == OP_JUMP) {
            stack[top++] = v[pc].x;
        } else if (v[pc].code == OP_ASSERT && assert_holds(v[pc].x, before, after)) {
            stack[top++] = pc + 1;
        }
    }
}

static bool instr_reads(const Instr *i, uint32_t c)
{
    switch (i->code) {
    case OP_CHAR: return i->x == c;
    case OP_FOLD: return c < UNICODE_END && i->x == sdx_unicode_fold(c);
    case OP_CLASS:
        if (c < 128) return i->set->ascii[c / 64] >> c % 64 & 1;
        return c < UNICODE_END && class_matches(i->set, c);
    default: return false;
    }
}

/* The character at p, or CHAR_NONE. */
static uint32_t char_at(const char *p, const char *end, int *len)
{
    uint32_t c;
    *len = 1;
    if (p == end) return CHAR_NONE;
    int n = sdx_utf8_read(p, (size_t)(end - p), &c);
    if (n == 0) return CHAR_INVALID;
    *len = n;
    return c;
}

/* Two sets and a stack: what is pushed was not in the set, or is one of two behind such a state. */
size_t sdx_regex_work(const Regex *r) { return ((size_t)r->n * 6 + 2) * sizeof(uint32_t); }

/* What stands before text + at. */
static uint32_t char_before(const char *text, size_t at)
{
    size_t from = at;
    int len;
    if (!at) return CHAR_NONE;
    while (from && at - from < 4 && ((unsigned char)text[--from] & 0xc0) == 0x80) {}
    return char_at(text + from, text + at, &len);
}

/* From text + from to the end of the text, or of the longest match when `longest` is given. */
static RegexMatch regex_run(const Regex *r, const char *text, size_t n, size_t from, void *work,
                            bool (*stop)(void *user), void *user, size_t *longest)
{
    uint32_t *memory = work, accept = (uint32_t)r->n - 1;
    States set[2] = { { memory, memory + r->n, 0 }, { memory + 2 * r->n, memory + 3 * r->n, 0 } };
    uint32_t *stack = memory + 4 * r->n, before = char_before(text, from);
    const char *p = n ? text + from : text, *end = n ? text + n : text;
    RegexMatch found = REGEX_NO;
    size_t steps = 0;
    int len, now = 0;
    memset(work, 0, sdx_regex_work(r));
    uint32_t c = char_at(p, end, &len);
    states_add(&set[now], r->v, 0, before, c, stack);
    for (;; now = !now) {
        States *here = &set[now], *to = &set[!now];
        if ((longest || c == CHAR_NONE) && states_have(here, accept)) {
            found = REGEX_YES;
            if (longest) *longest = (size_t)(p - text);
        }
        if (c == CHAR_NONE || here->n == 0) return found;
        to->n = 0;
        p += len;
        uint32_t after = char_at(p, end, &len);
        for (uint32_t i = 0; i < here->n; i++)
            if (instr_reads(&r->v[here->dense[i]], c)) states_add(to, r->v, here->dense[i] + 1, c, after, stack);
        steps += here->n + to->n;
        if (steps > 1 << 20) {
            if (stop && stop(user)) return REGEX_STOPPED;
            steps = 0;
        }
        c = after;
    }
}

RegexMatch sdx_regex_full(const Regex *r, const char *text, size_t n, void *work, bool (*stop)(void *user), void *user)
{
    return regex_run(r, text, n, 0, work, stop, user, NULL);
}

RegexMatch sdx_regex_longest(const Regex *r, const char *text, size_t n, size_t from, void *work,
                             bool (*stop)(void *user), void *user, size_t *end)
{
    return regex_run(r, text, n, from, work, stop, user, end);
}
