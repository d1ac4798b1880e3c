/* tests/unit_main.c - main of sdx_unit: runs the suites that the build found (suites.def) */
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>

#define X(name) void sdx_suite_##name(void);
#include "suites.def"
#undef X

static const struct {
    const char *name;
    void (*run)(void);
} suites[] = {
#define X(name) { #name, sdx_suite_##name },
#include "suites.def"
#undef X
};

int main(int argc, char **argv)
{
    bool found = argc < 2;
    if (argc > 2) sdx_harness_filter(argv[2]);
    for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++) {
        if (argc >= 2 && strcmp(argv[1], suites[i].name) != 0) continue;
        found = true;
        suites[i].run();
    }
    if (!found) {
        fprintf(stderr, "no suite named %s\n", argv[1]);
        return 2;
    }
    return sdx_harness_finish();
}
