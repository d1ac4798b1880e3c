#include "base/regex.h"

#include <stdlib.h>
#include <string.h>

#include "base/unicode.h"
#include "tests/harness.h"

/* 1, 0, or -1 when the pattern is refused: err tells. */
static int match(const char *pattern, const char *text, size_t n, Err *err)
{
    Arena arena;
    Regex *re;
    int got = -1;
    sdx_arena_init(&arena, &sdx_alloc_default, 0);
    sdx_err_clear(err);
    if (sdx_regex_compile(&re, pattern, strlen(pattern), &arena, err) == SDX_OK) {
        void *work = malloc(sdx_regex_work(re));
        got = sdx_regex_full(re, text, n, work, NULL, NULL);
        free(work);
    }
    sdx_arena_fini(&arena);
    return got;
}

/* pattern, texts that match, texts that do not: each ended by NULL. */
typedef struct Case {
    const char *pattern, *yes[6], *no[6];
} Case;

static void whole_texts_match(void)
{
    static const Case cases[] = {
        { "", { "" }, { "a" } },
        { "abc", { "abc" }, { "ab", "abcd", "xabc", "" } },
        { "a|bc|", { "a", "bc", "" }, { "ab", "b", "abc" } },
        { "a|ab", { "a", "ab" }, { "b" } }, /* the longer alternative too: all of the text has to match */
        { "(a|ab)(c|bcd)", { "ac", "abc", "abcd", "abbcd" }, { "a", "ad" } },
        { "x*", { "", "x", "xxxx" }, { "y", "xy" } },
        { "x+?y??", { "x", "xxy" }, { "", "y", "xyy" } },
        { "a{2}", { "aa" }, { "a", "aaa" } },
        { "a{2,}", { "aa", "aaaa" }, { "a", "" } },
        { "a{0,2}b", { "b", "ab", "aab" }, { "aaab" } },
        { "(?:ab){1,3}?", { "ab", "ababab" }, { "", "abababab", "aba" } },
        { "a{,2}|b{|{x}", { "a{,2}", "b{", "{x}" }, { "a", "aa" } },
        { ".", { "a", "\xc3\xa4", "\xf0\x9f\x98\x80" }, { "", "\n", "ab", "\xc3", "\xff" } },
        { "(?s).", { "\n", "a" }, { "" } },
        { "^a$", { "a" }, { "a\n", "ba" } },
        { "(?m)a$\n^b", { "a\nb" }, { "ab" } },
        { "\\Aa\\z", { "a" }, { "b" } },
        { "a\\b b", { "a b" }, { "ab" } },
        { "a\\Bb", { "ab" }, { "a b" } },
        { "www\\.[\\w.-]+\\.\\bcom\\b", { "www.google.com" }, { "www.bbc.co.uk", "www.com" } },
        { "(\\W|^)[\\w.\\-]{0,25}@(yahoo|gmail)\\.com(\\W|$)",
          { "account@gmail.com", " a@yahoo.com!" },
          { "a@hotmail.com" } },
        { "[a-c]", { "a", "b", "c" }, { "d", "-", "" } },
        { "[^a-c]", { "d", "\n", "\xe2\x82\xac" }, { "a", "", "\xe2\x82" } },
        { "[]a-]+", { "]", "-a]" }, { "b" } },
        { "[a\\]\\-\\\\]+", { "a]-\\" }, { "b" } },
        { "[\\d-z]+", { "1-z" }, { "a" } },
        { "[[:alpha:]_][^[:^digit:]]", { "a1", "_9" }, { "1a", "aa" } },
        { "[[:foo]", { ":", "[", "f" }, { "x" } },
        { "\\d\\D\\s\\S\\w\\W", { "1a b_!" }, { "aa b_!" } },
        { "\\x41\\x{20AC}\\101\\a\\f\\t\\n\\r\\v\\.", { "A\xe2\x82\xac\x41\a\f\t\n\r\v." }, { "A" } },
        { "\\Qa.b*\\E+", { "a.b*", "a.b**" }, { "aab", "a.b" } },
        { "\\Qa\\", { "a\\" }, { "a" } },
        { "(?i)stra\xc3\x9f\x65", { "STRA\xc3\x9f\x65", "stra\xe1\xba\x9e\x65" }, { "strasse" } },
        { "(?i)[k-s]+", { "KLMS", "\xe2\x84\xaa\xc5\xbf" }, { "J" } },
        { "(?i)[\xc5\xbf]", { "s", "S", "\xc5\xbf" }, { "t" } },
        { "(?i)\\W", { "!", "\xc3\xa9" }, { "s", "k", "\xc5\xbf", "\xe2\x84\xaa", "A" } },
        { "(?i)[[:^lower:]]", { "!", "1" }, { "a", "A" } },
        { "a(?i)b(?-i)c|(?i:d)e", { "abc", "aBc", "De", "de" }, { "aBC", "Abc", "dE" } },
        { "(a(?i)b)c", { "aBc" }, { "aBC" } },
        { "(?U)a+|(?i-s)b", { "aa", "B" }, { "" } },
        { "(?P<year>\\d{4})-(?<month>\\d\\d)", { "2024-05" }, { "2024-5" } },
        { "\\pL\\p{Nd}\\P{L}\\p{^L}[\\p{Lu}\\p{Zs}]",
          { "\xce\xb1"
            "5!.\xc3\x84",
            "a5!. " },
          { "a5a.A", "a5!.a" } },
        { "(?i)\\p{Lu}\\P{Lu}", { "a1", "A!" }, { "aa", "aA", "\xc4\xb1!", "a\xc3\x9f" } },
        { "a(?i)*", { "", "aa" }, { "A", "b" } },
        { "a{02}", { "a{02}" }, { "aa" } },
        { "\\p{Any}+", { "a\n\xe2\x82\xac" }, { "" } },
        { "(a*)*|(b|)+(^*)", { "", "aaaa", "bb" }, { "ab" } },
        { "((a{0,30}){0,30}b)?", { "", "b", "aaab" }, { "aaac" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Err err;
        for (const char *const *t = cases[i].yes; *t; t++) {
            sdx_harness_note("pattern %s, text %s", cases[i].pattern, *t);
            CHECK_INT(match(cases[i].pattern, *t, strlen(*t), &err), 1);
            CHECK_STR(err.text, "");
        }
        for (const char *const *t = cases[i].no; *t; t++) {
            sdx_harness_note("pattern %s, text %s", cases[i].pattern, *t);
            CHECK_INT(match(cases[i].pattern, *t, strlen(*t), &err), 0);
        }
    }
    sdx_harness_note(NULL);
}

static void wrong_patterns_are_told(void)
{
    static const struct {
        const char *pattern, *says;
    } cases[] = {
        { "(a", "byte 0: a parenthesis that is not closed" },
        { "a)", "byte 1: a parenthesis that was not opened" },
        { "[a", "brackets that do not end" },
        { "[", "brackets that do not end" },
        { "a[b-a]", "byte 2: a range that ends before it begins" },
        { "[a-\\d]", "an escape that RE2 does not know" },
        { "[[:nope:]]", "no class has that name" },
        { "*a", "byte 0: nothing to repeat" },
        { "a|{2}", "nothing to repeat" },
        { "(?i)+", "nothing to repeat" },
        { "a**", "byte 2: a repeat of a repeat" },
        { "a{2}{3}", "a repeat of a repeat" },
        { "a{1001}", "a repeat of more than 1000" },
        { "a{99999999999999999999}", "a repeat of more than 1000" },
        { "a{3,2}", "of no range" },
        { "\\", "a backslash at the end" },
        { "\\1", "an escape" },
        { "\\k", "an escape" },
        { "\\C", "an escape" },
        { "\\xg", "\\x without" },
        { "\\x{110000}", "\\x without" },
        { "\\x{", "\\x without" },
        { "\\p{Greek}", "only general categories" },
        { "\\p", "without a name" },
        { "\\p{L", "does not end" },
        { "(?i)[\\P{Lu}]", "not supported" },
        { "(?=a)", "flags" },
        { "(?<!a)", "flags" },
        { "(?P=a)", "flags" },
        { "(?P<>a)", "proper name" },
        { "\xff", "no UTF-8" },
        { "[\xc3]", "no UTF-8" },
        { "((a{100}){100}){100}", "more than 65536 states" },
        { "(((((){1000}){1000}){1000}){1000}){1000}", "beyond reason" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Err err;
        sdx_harness_note("pattern %s", cases[i].pattern);
        CHECK_INT(match(cases[i].pattern, "", 0, &err), -1);
        CHECK_HAS(err.text, cases[i].says);
    }
    sdx_harness_note(NULL);
}

static void groups_nest_so_deep_and_no_deeper(void)
{
    char text[20001];
    Err err;
    memset(text, '(', 10000);
    memset(text + 10000, ')', 10000);
    text[20000] = 0;
    CHECK_INT(match(text, "", 0, &err), -1);
    CHECK_HAS(err.text, "nest deeper");
    text[10000 + REGEX_MAX_DEPTH] = 0;
    CHECK_INT(match(text + 10000 - REGEX_MAX_DEPTH, "", 0, &err), 1);
    CHECK_STR(err.text, "");
}

/* What takes engines that try one way after the other until the end of the world. */
static void time_is_linear_in_the_text(void)
{
    size_t n = 200000;
    char *text = malloc(n);
    Err err;
    memset(text, 'a', n);
    CHECK_INT(match("(a*)*b", text, n, &err), 0);
    CHECK_INT(match("(a|aa)+$", text, n, &err), 1);
    CHECK_INT(match("(.*)(.*)(.*)(.*)(.*)[^a]", text, n, &err), 0);
    free(text);
}

static bool at_once(void *user)
{
    ++*(int *)user;
    return true;
}

static void matching_can_be_stopped(void)
{
    static char text[1 << 20];
    Arena arena;
    Regex *re;
    Err err = { 0 };
    int asked = 0;
    memset(text, 'a', sizeof text);
    sdx_arena_init(&arena, &sdx_alloc_default, 0);
    if (CHECK_INT(sdx_regex_compile(&re, "(a?){50}.*", 10, &arena, &err), SDX_OK)) {
        void *work = sdx_arena_alloc(&arena, sdx_regex_work(re), sizeof(uint32_t));
        CHECK_INT(sdx_regex_full(re, text, sizeof text, work, at_once, &asked), REGEX_STOPPED);
        CHECK_INT(asked, 1);
    }
    sdx_arena_fini(&arena);
}

static void characters_have_categories(void)
{
    CHECK_INT(sdx_unicode_category('a'), sdx_unicode_categories("Ll", 2));
    CHECK_INT(sdx_unicode_category(0x1f600), sdx_unicode_categories("So", 2));
    CHECK_INT(sdx_unicode_category(0), sdx_unicode_categories("Cc", 2));
    CHECK_INT(sdx_unicode_category(0x10ffff), sdx_unicode_categories("Cn", 2));
    CHECK_INT(sdx_unicode_category(0x110000), 0);
    CHECK_INT(sdx_unicode_categories("X", 1), 0);
    uint32_t all = 0;
    for (uint32_t c = 0; c < UNICODE_END; c++) {
        uint32_t one = sdx_unicode_category(c);
        if (!CHECK(one && !(one & (one - 1)))) break;
        all |= one;
    }
    CHECK_INT(all, (1u << 30) - 1);
}

SUITE(regex_test)
{
    RUN(whole_texts_match);
    RUN(wrong_patterns_are_told);
    RUN(groups_nest_so_deep_and_no_deeper);
    RUN(time_is_linear_in_the_text);
    RUN(matching_can_be_stopped);
    RUN(characters_have_categories);
}
