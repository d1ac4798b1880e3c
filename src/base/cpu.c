#define _GNU_SOURCE /* _SC_LEVEL1_DCACHE_SIZE and friends */
#include "base/cpu.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if SDX_ARCH_X86
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#elif SDX_ARCH_ARM && defined(__linux__)
#include <sys/auxv.h>
#endif

static const struct {
    const char *name;
    bool built; /* for the architecture of this build */
} levels[] = {
#define CPU_LEVEL(id, name, arch) { name, SDX_ARCH_##arch },
#include "base/cpu.def"
#undef CPU_LEVEL
};

static Cpu cpu;
static unsigned wanted;
static const char *wanted_problem;
static pthread_once_t cpu_once = PTHREAD_ONCE_INIT;

#if SDX_ARCH_X86

/* Which register files the operating system saves (XCR0): bits 1-2 ymm, 5-7 opmask and zmm, 17-18 tiles. */
static uint64_t cpu_xcr0(void)
{
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}

/* Linux saves tile registers only for processes that asked (Documentation/arch/x86/xstate). */
static bool cpu_may_use_tiles(void)
{
#if defined(__linux__)
    enum { REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, REQ_XCOMP_PERM, XTILEDATA) == 0;
#else
    return false;
#endif
}

/* Bit numbers: Intel SDM volume 2A, CPUID, leaves 1 and 7. */
static unsigned cpu_detect(void)
{
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return SDX_CPU_C;
    const uint32_t leaf1 = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29; /* fma osxsave avx f16c */
    if ((c & leaf1) != leaf1) return SDX_CPU_C;
    uint64_t saved = cpu_xcr0();
    if ((saved & 0x6) != 0x6) return SDX_CPU_C;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return SDX_CPU_C;
    const uint32_t avx2 = 1u << 3 | 1u << 5 | 1u << 8; /* bmi1 avx2 bmi2 */
    if ((b & avx2) != avx2) return SDX_CPU_C;
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* f dq bw vl */
    if ((saved & 0xe6) != 0xe6 || (b & avx512) != avx512) return SDX_CPU_AVX2;
    if (!(c & 1u << 11)) return SDX_CPU_AVX512;
    const uint32_t amx = 1u << 24 | 1u << 25; /* tile int8 */
    return (d & amx) == amx && (saved >> 17 & 3) == 3 && cpu_may_use_tiles() ? SDX_CPU_AMX : SDX_CPU_AVX512VNNI;
}

#elif SDX_ARCH_ARM && defined(__linux__)

/* Bit numbers: Linux Documentation/arch/arm64/elf_hwcaps. */
static unsigned cpu_detect(void)
{
    if (!(getauxval(AT_HWCAP) & 1ul << 20)) return SDX_CPU_NEON; /* asimddp */
#ifdef AT_HWCAP2
    if (getauxval(AT_HWCAP2) & 1ul << 13) return SDX_CPU_I8MM;
#endif
    return SDX_CPU_DOTPROD;
}

#elif SDX_ARCH_ARM && defined(__APPLE__)

static unsigned cpu_detect(void) { return SDX_CPU_DOTPROD; } /* every Apple arm64 core has it */

#elif SDX_ARCH_ARM

static unsigned cpu_detect(void) { return SDX_CPU_NEON; }

#else

static unsigned cpu_detect(void) { return SDX_CPU_C; }

#endif

/* sysconf(name), or `typical` where the system does not say. */
static size_t cpu_cache(int name, size_t typical)
{
    long nbytes = name >= 0 ? sysconf(name) : 0;
    return nbytes > 0 ? (size_t)nbytes : typical;
}

static void cpu_init(void)
{
    cpu.best = cpu_detect();
#ifdef _SC_LEVEL1_DCACHE_SIZE
    cpu.l1d = cpu_cache(_SC_LEVEL1_DCACHE_SIZE, 32u << 10);
    cpu.l2 = cpu_cache(_SC_LEVEL2_CACHE_SIZE, 512u << 10);
    cpu.l3 = cpu_cache(_SC_LEVEL3_CACHE_SIZE, 0);
#else
    cpu.l1d = cpu_cache(-1, 32u << 10);
    cpu.l2 = cpu_cache(-1, 512u << 10);
#endif

    wanted = cpu.best;
    const char *name = getenv("SDX_CPU_LEVEL");
    if (!name || !*name) return;
    unsigned level = sdx_cpu_level_find(name);
    if (level == SDX_CPU_LEVELS) {
        wanted_problem = "SDX_CPU_LEVEL names no level; known: "
#define CPU_LEVEL(id, name, arch) name " "
#include "base/cpu.def"
#undef CPU_LEVEL
                         "(ignored)";
    } else if (!levels[level].built || level > cpu.best) {
        wanted_problem = "SDX_CPU_LEVEL names a level this machine cannot run (ignored)";
    } else {
        wanted = level;
    }
}

const Cpu *sdx_cpu(void)
{
    pthread_once(&cpu_once, cpu_init);
    return &cpu;
}

bool sdx_cpu_has(unsigned level) { return level < SDX_CPU_LEVELS && levels[level].built && level <= sdx_cpu()->best; }

const char *sdx_cpu_level_name(unsigned level) { return level < SDX_CPU_LEVELS ? levels[level].name : NULL; }

unsigned sdx_cpu_level_find(const char *name)
{
    unsigned level = 0;
    while (level < SDX_CPU_LEVELS && strcmp(levels[level].name, name) != 0) level++;
    return level;
}

unsigned sdx_cpu_level(const char **problem)
{
    pthread_once(&cpu_once, cpu_init);
    if (problem) *problem = wanted_problem;
    return wanted;
}

CpuVendor sdx_cpu_vendor(void)
{
#if SDX_ARCH_X86
    static const struct {
        const char *id; /* CPUID leaf 0: ebx edx ecx */
        CpuVendor vendor;
    } known[] = { { "GenuineIntel", { "Intel", 0x8086 } }, { "AuthenticAMD", { "AMD", 0x1022 } } };
    uint32_t a, id[3];
    if (__get_cpuid(0, &a, &id[0], &id[2], &id[1]))
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (memcmp(id, known[i].id, sizeof id) == 0) return known[i].vendor;
#endif
    return (CpuVendor){ "", 0 };
}
