#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/ncpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lock.h"

#if defined(__linux__)
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#endif

#define MAX_CPUS 4096

int sdx_ncpu_parse_max(const char *text)
{
    long long quota = 0, period = 0;
    if (sscanf(text, "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0) return 0;
    long long n = quota / period;
    return n < 1 ? 1 : n > MAX_CPUS ? MAX_CPUS : (int)n;
}

size_t sdx_ncpu_cgroup_path(const char *text, const char *controller, char *buf, size_t size)
{
    for (const char *line = text; *line;) { /* "4:cpu,cpuacct:/path" or "0::/path" */
        const char *end = strchr(line, '\n'), *names = strchr(line, ':');
        if (!end) end = line + strlen(line);
        const char *path = names && names < end ? strchr(names + 1, ':') : NULL;
        if (path && path < end) {
            bool hit = !controller && path == names + 1;
            size_t want = controller ? strlen(controller) : 0;
            for (const char *p = names + 1; want && p < path;) {
                size_t n = strcspn(p, ",:");
                if (n == want && !memcmp(p, controller, n)) hit = true;
                p += n + 1;
            }
            size_t n = (size_t)(end - path - 1);
            if (hit && n > 0 && n < size) {
                memcpy(buf, path + 1, n);
                buf[n] = '\0';
                return n;
            }
        }
        line = *end ? end + 1 : end;
    }
    return 0;
}

#if defined(__linux__)

/* The smaller of two limits, where 0 is none. */
static int min_limit(int a, int b) { return !a || (b && b < a) ? b : a; }

/* The first size - 1 bytes of a file, terminated; false when it cannot be read. */
static bool read_text(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size_t n = 0;
    for (ssize_t got; n + 1 < size && (got = read(fd, buf + n, size - 1 - n)) > 0;) n += (size_t)got;
    close(fd);
    buf[n] = '\0';
    return n > 0;
}

/* The tightest quota from the process's group up to the root of the mount, 0 for none. A container that hides its
 * path (its root is its group) is served by the last step. */
static int quota_under(const char *mount, char *path, bool v2)
{
    int limit = 0;
    char file[512], text[64], period[32];
    for (;;) {
        size_t n = strlen(path);
        if (n && path[n - 1] == '/') path[--n] = '\0';
        if (v2) {
            if (snprintf(file, sizeof file, "%s%s/cpu.max", mount, path) < (int)sizeof file &&
                read_text(file, text, sizeof text))
                limit = min_limit(limit, sdx_ncpu_parse_max(text));
        } else if (snprintf(file, sizeof file, "%s%s/cpu.cfs_quota_us", mount, path) < (int)sizeof file &&
                   read_text(file, text, 32)) {
            snprintf(file, sizeof file, "%s%s/cpu.cfs_period_us", mount, path);
            text[strcspn(text, "\n")] = '\0';
            if (read_text(file, period, sizeof period)) {
                snprintf(text + strlen(text), sizeof text - strlen(text), " %.20s", period);
                limit = min_limit(limit, sdx_ncpu_parse_max(text));
            }
        }
        if (!n) return limit;
        *strrchr(path, '/') = '\0';
    }
}

static int cgroup_limit(void)
{
    char text[4096], path[256];
    if (!read_text("/proc/self/cgroup", text, sizeof text)) return 0;
    int limit = 0;
    if (sdx_ncpu_cgroup_path(text, NULL, path, sizeof path) && path[0] == '/')
        limit = quota_under("/sys/fs/cgroup", path, true);
    if (sdx_ncpu_cgroup_path(text, "cpu", path, sizeof path) && path[0] == '/')
        limit = min_limit(limit, quota_under("/sys/fs/cgroup/cpu", path, false));
    return limit;
}

/* Allowed logical CPUs that are the first allowed one of their core. */
static int count_cores(const cpu_set_t *set, size_t set_nbytes)
{
    char text[256], file[96];
    if (read_text("/sys/devices/system/cpu/smt/active", text, sizeof text) && text[0] == '0')
        return CPU_COUNT_S(set_nbytes, set);
    int cores = 0;
    for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
        if (!CPU_ISSET_S((size_t)cpu, set_nbytes, set)) continue;
        bool first = true;
        snprintf(file, sizeof file, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
        if (read_text(file, text, sizeof text)) { /* "0,4" or "0-1" */
            char *p = text;
            while (*p >= '0' && *p <= '9') {
                long from = strtol(p, &p, 10), to = from;
                if (*p == '-') to = strtol(p + 1, &p, 10);
                for (long c = from; c <= to && c < cpu; c++)
                    if (CPU_ISSET_S((size_t)c, set_nbytes, set)) first = false;
                if (*p == ',') p++;
            }
        }
        cores += first;
    }
    return cores;
}

/* Walking sysfs costs microseconds a CPU, and the answer depends on the mask alone: the last one is kept. */
static struct {
    Lock lock;
    unsigned long mask[MAX_CPUS / 8 / sizeof(unsigned long)];
    int cores;
} cache;
static pthread_once_t cache_once = PTHREAD_ONCE_INIT;

static void cache_init(void) { sdx_lock_init(&cache.lock, NULL); }

int sdx_ncpu(void)
{
    unsigned long mask[MAX_CPUS / 8 / sizeof(unsigned long)] = { 0 };
    int cores;
    if (sched_getaffinity(0, sizeof mask, (cpu_set_t *)mask) != 0) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        cores = n < 1 ? 1 : n > MAX_CPUS ? MAX_CPUS : (int)n;
    } else {
        pthread_once(&cache_once, cache_init);
        sdx_lock(&cache.lock);
        cores = cache.cores && !memcmp(mask, cache.mask, sizeof mask) ? cache.cores : 0;
        sdx_unlock(&cache.lock);
        if (!cores) {
            cores = count_cores((const cpu_set_t *)mask, sizeof mask);
            sdx_lock(&cache.lock);
            memcpy(cache.mask, mask, sizeof mask);
            cache.cores = cores;
            sdx_unlock(&cache.lock);
        }
    }
    int n = min_limit(cgroup_limit(), cores);
    return n < 1 ? 1 : n;
}

#else

int sdx_ncpu(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (int)n;
}

#endif
