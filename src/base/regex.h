/* Regular expressions in RE2's syntax, matched in time that is linear in the text.
 *
 * An expression becomes a program for a machine with a set of states (Thompson 1968), which reads each character once:
 * neither expression nor text can make it backtrack. Not there: classes of scripts (\p{Greek}) and \C. */
#ifndef SDX_BASE_REGEX_H
#define SDX_BASE_REGEX_H

#include "base/alloc.h"

typedef struct Regex Regex;

enum { REGEX_MAX_STATES = 1 << 16, REGEX_MAX_REPEAT = 1000, REGEX_MAX_DEPTH = 100 };

/* pattern: n bytes of UTF-8. The program lies in arena, and so does what was needed on the way. Fails with INVALID_MODEL
 * and a text that names the byte where it went wrong, or with LIMIT_BYTES when counted repeats ask for too many states. */
sdx_status sdx_regex_compile(Regex **out, const char *pattern, size_t n, Arena *arena, Err *err);

/* Bytes of working memory, aligned as uint32_t, for one match at a time. */
size_t sdx_regex_work(const Regex *r);

typedef enum RegexMatch { REGEX_NO, REGEX_YES, REGEX_STOPPED } RegexMatch;

/* Is all of the text a match? Bytes that are no UTF-8 match nothing. stop, or NULL, is asked about once a million steps
 * whether to give up. */
RegexMatch sdx_regex_full(const Regex *r, const char *text, size_t n, void *work, bool (*stop)(void *user), void *user);

/* The longest match that begins at text + from, which is where a character begins or the end: ends at *end. */
RegexMatch sdx_regex_longest(const Regex *r, const char *text, size_t n, size_t from, void *work,
                             bool (*stop)(void *user), void *user, size_t *end);

#endif
