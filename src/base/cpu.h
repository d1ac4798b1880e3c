/* base/cpu.h - what this processor can do.
 *
 * Instruction sets are grouped in levels, listed in base/cpu.def. Code asks for a level, never for a
 * single feature. Everything here is detected once per process, is immutable after that and may be
 * called from any thread.
 */
#ifndef SDX_BASE_CPU_H
#define SDX_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__x86_64__)
#define SDX_ARCH_X86 1
#else
#define SDX_ARCH_X86 0
#endif
#if defined(__aarch64__)
#define SDX_ARCH_ARM 1
#else
#define SDX_ARCH_ARM 0
#endif
#define SDX_ARCH_ANY 1 /* completes the list for base/cpu.def */

enum {
#define CPU_LEVEL(id, name, arch) SDX_CPU_##id,
#include "base/cpu.def"
#undef CPU_LEVEL
    SDX_CPU_LEVELS
};

/* Sizes in bytes; a cache the system does not describe has a typical size, never 0. */
typedef struct Cpu {
    unsigned best;  /* the highest level this machine runs */
    size_t l1d, l2; /* of one core */
    size_t l3;      /* shared; 0 if there is none */
} Cpu;

const Cpu *sdx_cpu(void);

/* Who made it, and the number that company has on PCI; "" and 0 when that is not known. */
typedef struct CpuVendor {
    const char *name;
    unsigned pci_id;
} CpuVendor;
CpuVendor sdx_cpu_vendor(void);

/* Can this machine run `level`? */
bool sdx_cpu_has(unsigned level);

/* The spelling used in SDX_CPU_LEVEL and in reports; NULL outside the list. */
const char *sdx_cpu_level_name(unsigned level);

/* The level with this name, or SDX_CPU_LEVELS. */
unsigned sdx_cpu_level_find(const char *name);

/* The level to use: the best one, or a lower one named by the environment variable SDX_CPU_LEVEL.
 * A name that is unknown or that this machine cannot run changes nothing; then *problem, if wanted,
 * points to a static sentence saying so, and to NULL otherwise. */
unsigned sdx_cpu_level(const char **problem);

#endif
