/* How many threads are worth starting here. */
#ifndef SDX_BASE_NCPU_H
#define SDX_BASE_NCPU_H

#include <stddef.h>

/* min(cgroup quota, affinity mask, physical cores), at least 1. Asks the system each time. */
int sdx_ncpu(void);

/* For tests. "200000 100000" or "max 100000" (cgroup v2 cpu.max) as whole CPUs; 0: no limit or not understood. */
int sdx_ncpu_parse_max(const char *text);
/* The path of this process's cgroup in the text of /proc/self/cgroup: the unified one (controller NULL), or that of a
 * version 1 controller. Copies it to buf; 0 when there is none or it does not fit. */
size_t sdx_ncpu_cgroup_path(const char *text, const char *controller, char *buf, size_t size);

#endif
