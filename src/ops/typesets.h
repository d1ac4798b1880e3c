/* Which element types "all types" meant, by opset: what the version rows of operators that look at no element name. */
#ifndef SDX_OPS_TYPESETS_H
#define SDX_OPS_TYPESETS_H

#include "tensor/tensor.h"

#define TS_ALL_1 TS_BASIC
#define TS_ALL_13 (TS_ALL_1 | TS_BF16)
#define TS_ALL_19 (TS_ALL_13 | TS_F8)
#define TS_ALL_21 (TS_ALL_19 | TS_INT4)
#define TS_ALL_23 (TS_ALL_21 | TS_F4)
#define TS_ALL_24 (TS_ALL_23 | TS_E8M0)
#define TS_ALL_25 (TS_ALL_24 | TS_INT2)
#define TS_ALL_28 (TS_ALL_25 | TS_F6)

/* The rows that operators which grew with the list have in common. */
#define VERS_ALL_21_25                                                                                                 \
    { .since = 25, .types = { TS_ALL_25 } }, { .since = 24, .types = { TS_ALL_24 } },                                  \
        { .since = 23, .types = { TS_ALL_23 } },                                                                       \
    {                                                                                                                  \
        .since = 21, .types = { TS_ALL_21 }                                                                            \
    }

#endif
