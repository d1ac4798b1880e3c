#include "kern/kern.h"

#include <pthread.h>

#if SDX_ARCH_X86
#define KERN_INIT_X86(level, family, isa) KERN_INIT(level, family, isa)
#else
#define KERN_INIT_X86(level, family, isa)
#endif
#if SDX_ARCH_ARM
#define KERN_INIT_ARM(level, family, isa) KERN_INIT(level, family, isa)
#else
#define KERN_INIT_ARM(level, family, isa)
#endif
#define KERN_INIT_C(level, family, isa) KERN_INIT(level, family, isa)

#define KERN_INIT(level, family, isa) void sdx_kern_init_##family##_##isa(Kern *k);
#include "kern/init.def"
#undef KERN_INIT

static const struct {
    unsigned level;
    void (*fill)(Kern *k);
} steps[] = {
#define KERN_INIT(level, family, isa) { SDX_CPU_##level, sdx_kern_init_##family##_##isa },
#include "kern/init.def"
#undef KERN_INIT
};

static Kern tables[SDX_CPU_LEVELS];
static pthread_once_t kern_once = PTHREAD_ONCE_INIT;

/* Only levels this machine has are filled, so a fill function may run code of its level. */
static void kern_init(void)
{
    unsigned below = SDX_CPU_C;
    for (unsigned level = 0; level < SDX_CPU_LEVELS; level++) {
        if (!sdx_cpu_has(level)) continue;
        Kern *k = &tables[level];
        *k = tables[below];
        k->level = level;
        k->name = sdx_cpu_level_name(level);
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
            if (steps[i].level == level) steps[i].fill(k);
        below = level;
    }
}

const Kern *sdx_kern_at(unsigned level)
{
    if (!sdx_cpu_has(level)) return NULL;
    pthread_once(&kern_once, kern_init);
    return &tables[level];
}

const Kern *sdx_kern_best(void) { return sdx_kern_at(sdx_cpu_level(NULL)); }
