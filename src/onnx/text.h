/* Tokens of ONNX's textual form (onnx/docs/Syntax.md), and the readers of what more than one file needs. */
#ifndef SDX_ONNX_TEXT_H
#define SDX_ONNX_TEXT_H

#include "onnx/proto.h"

typedef enum TokenKind { TOKEN_END, TOKEN_NAME, TOKEN_STRING, TOKEN_INT, TOKEN_FLOAT, TOKEN_SIGN, TOKEN_BAD } TokenKind;

typedef struct Token {
    TokenKind kind;
    Str text; /* NAME and STRING: the content, unescaped; else as written */
    const char *at;
} Token;

typedef struct Text {
    const char *start, *p, *end;
    Token next; /* the token that comes, read already */
    Model *model;
    Proto *proto;
    Err *err;
    int depth; /* of graphs and types in each other */
} Text;

void sdx_text_init(Text *t, Model *m, Proto *proto, const char *text, size_t n, Err *err);
void sdx_text_advance(Text *t);
/* "line 3: ... before `x`" */
sdx_status sdx_text_fail(Text *t, const char *what);

bool sdx_text_at(const Text *t, const char *sign); /* does the sign come? */
bool sdx_text_take(Text *t, const char *sign);     /* steps over it if it does */
sdx_status sdx_text_expect(Text *t, const char *sign);
bool sdx_text_at_word(const Text *t, const char *word);
sdx_status sdx_text_name(Text *t, Str *out); /* a name, or any string in quotes */
sdx_status sdx_text_string(Text *t, Str *out);
sdx_status sdx_text_int(Text *t, int64_t *out);
bool sdx_text_is_number(const Text *t); /* inf and nan too */
sdx_status sdx_text_float(Text *t, double *out);

/* -- text_type.c: types and constants ------------------------------------------------------------------------------ */

bool sdx_text_at_type(const Text *t);
sdx_status sdx_text_type(Text *t, PType **out);
/* The elements of a tensor of this type, in braces. */
sdx_status sdx_text_tensor(Text *t, const PType *type, Str name, PTensor **out);

/* -- text_read.c --------------------------------------------------------------------------------------------------- */

/* What follows the name of a function: parameters, inputs, outputs and body. */
sdx_status sdx_text_function(Text *t, PFunction *fn);

#endif
