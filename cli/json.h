/* json.h - writing JSON, one value after another; commas and nesting are kept track of. */
#ifndef SDX_CLI_JSON_H
#define SDX_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct Json {
    FILE *f;
    int depth;
    bool first[32]; /* by depth: nothing written yet */
} Json;

/* Opens the document's object, with its schema version and kind; json_close ends it. */
void json_open(Json *j, FILE *f, const char *kind);
void json_close(Json *j);

/* key NULL inside arrays. */
void json_object(Json *j, const char *key);
void json_array(Json *j, const char *key);
void json_end(Json *j, char bracket);                          /* '}' or ']' */
void json_string(Json *j, const char *key, const char *value); /* invalid UTF-8 bytes become U+FFFD */
void json_int(Json *j, const char *key, int64_t value);
void json_number(Json *j, const char *key, double value); /* NaN and infinities: null */
void json_bool(Json *j, const char *key, bool value);

#endif
