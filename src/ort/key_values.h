/* The struct behind key-value pairs: for lists that are constants. */
#ifndef SDX_ORT_KEY_VALUES_H
#define SDX_ORT_KEY_VALUES_H

#include "ort/ort.h"

struct OrtKeyValuePairs {
    char **keys, **values; /* one block, which keys begins */
    size_t n, cap;
};

#endif
