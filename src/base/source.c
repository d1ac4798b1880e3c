#define _POSIX_C_SOURCE 200809L /* pread, O_CLOEXEC, sysconf */
#define _XOPEN_SOURCE 700       /* realpath */
#define _FILE_OFFSET_BITS 64
#include "base/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/size.h"

#define MAP_MIN ((size_t)16 << 10) /* below this a read costs less than a mapping and its faults */

static sdx_status io_fail(const Source *s, const char *what, int error, Err *err)
{
    char text[128] = "unknown error";
    strerror_r(error, text, sizeof text);
    return sdx_fail(err, error == ENOENT ? SDX_NOT_FOUND : SDX_IO, "%s: %s: %s", s->name, what, text);
}

static sdx_status read_fd(Source *s, uint64_t at, void *dst, size_t n, Err *err)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(s->fd, (char *)dst + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return io_fail(s, "cannot read", errno, err);
        if (got == 0) return sdx_fail(err, SDX_IO, "%s: the file became shorter while it was read", s->name);
        done += (size_t)got;
    }
    return SDX_OK;
}

static sdx_status read_memory(Source *s, uint64_t at, void *dst, size_t n, Err *err)
{
    (void)err;
    if (n) memcpy(dst, (const char *)s->memory + at, n);
    return SDX_OK;
}

static sdx_status read_host(Source *s, uint64_t at, void *dst, size_t n, Err *err)
{
    int code = s->host(s->user, at, dst, n);
    if (code == 0) return SDX_OK;
    return sdx_fail(err, SDX_IO, "the read callback failed with code %d at byte %llu", code, (unsigned long long)at);
}

static sdx_status source_stat(Source *s, Err *err)
{
    struct stat st;
    if (fstat(s->fd, &st) != 0) return io_fail(s, "cannot read its size", errno, err);
    if (!S_ISREG(st.st_mode)) return sdx_fail(err, SDX_IO, "%s: not a regular file", s->name);
    s->size = (uint64_t)st.st_size;
    return SDX_OK;
}

sdx_status sdx_source_path(Source *s, const Alloc *a, const char *path, Err *err)
{
    *s = (Source){ .alloc = a, .read = read_fd, .fd = -1, .owns_fd = true, .name = path };
    /* O_NONBLOCK: opening a pipe would wait for its writer; it means nothing for regular files. */
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->fd < 0) return io_fail(s, "cannot open", errno, err);
    sdx_status status = source_stat(s, err);
    if (status != SDX_OK) sdx_source_fini(s);
    return status;
}

/* Is a component of the path ".."? Both separators count, so that a file is judged alike on every system. */
static bool climbs(const char *path)
{
    while (*path) {
        size_t n = strcspn(path, "/\\");
        if (n == 2 && path[0] == '.' && path[1] == '.') return true;
        path += n + (path[n] != 0);
    }
    return false;
}

static bool is_absolute(const char *path)
{
    bool drive = ((path[0] | 32) >= 'a' && (path[0] | 32) <= 'z') && path[1] == ':';
    return path[0] == '/' || path[0] == '\\' || drive;
}

static bool lies_under(const char *file, const char *dir)
{
    char real[PATH_MAX];
    if (!realpath(*dir ? dir : ".", real)) return false;
    size_t n = strlen(real);
    if (n == 1) return true; /* "/" */
    return strncmp(file, real, n) == 0 && file[n] == '/';
}

sdx_status sdx_source_under(Source *s, const Alloc *a, const char *const *dirs, int n, const char *location, Err *err)
{
    char path[PATH_MAX], real[PATH_MAX];
    *s = (Source){ .alloc = a, .fd = -1, .name = location };
    if (!*location) return sdx_fail(err, SDX_INVALID_ARGUMENT, "the path is empty");
    if (is_absolute(location)) return sdx_fail(err, SDX_INVALID_ARGUMENT, "%s: absolute paths are refused", location);
    if (climbs(location)) return sdx_fail(err, SDX_INVALID_ARGUMENT, "%s: paths with \"..\" are refused", location);
    int length = snprintf(path, sizeof path, "%s/%s", *dirs[0] ? dirs[0] : ".", location);
    if (length < 0 || (size_t)length >= sizeof path)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "%.100s...: the path is too long", location);
    if (!realpath(path, real)) return io_fail(s, "cannot open", errno, err);
    for (int i = 0; i < n; i++) {
        if (!dirs[i] || !lies_under(real, dirs[i])) continue;
        TRY(sdx_source_path(s, a, real, err));
        s->name = location;
        return SDX_OK;
    }
    return sdx_fail(err, SDX_INVALID_ARGUMENT, "%s: lies outside the model's folder", location);
}

bool sdx_path_dir(const char *path, char *buf)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    if (n >= SDX_PATH_MAX) return false;
    memcpy(buf, slash ? path : ".", slash ? n : 1);
    buf[slash ? n : 1] = 0;
    return true;
}

bool sdx_path_real_dir(const char *path, char *buf)
{
    char real[PATH_MAX];
    return realpath(path, real) && sdx_path_dir(real, buf);
}

sdx_status sdx_source_fd(Source *s, const Alloc *a, int fd, Err *err)
{
    *s = (Source){ .alloc = a, .read = read_fd, .fd = fd, .name = "file descriptor" };
    return source_stat(s, err);
}

void sdx_source_memory(Source *s, const Alloc *a, const void *p, size_t n)
{
    *s = (Source){ .alloc = a, .read = read_memory, .fd = -1, .size = n, .memory = p ? p : "", .name = "memory" };
}

void sdx_source_callback(Source *s, const Alloc *a, SourceReadFn read, void *user, uint64_t size)
{
    *s = (Source){
        .alloc = a, .read = read_host, .host = read, .user = user, .fd = -1, .size = size, .name = "callback"
    };
}

void sdx_source_fini(Source *s)
{
    if (s->owns_fd && s->fd >= 0) close(s->fd);
    s->fd = -1;
}

/* A mapping starts at a page, so data may lie inside it; user carries the length. */
static void unmap(void *length, void *data)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    munmap((void *)((uintptr_t)data & ~(page - 1)), (size_t)(uintptr_t)length);
}

bool sdx_source_is_map(const Buf *b) { return b->drop == unmap; }

static void advise(const void *p, size_t n, int advice)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)p + page - 1) & ~(page - 1), to = ((uintptr_t)p + n) & ~(page - 1);
    if (to > from) madvise((void *)from, to - from, advice);
}

void sdx_source_discard(const void *p, size_t n) { advise(p, n, MADV_DONTNEED); }

void sdx_source_expect(const void *p, size_t n)
{
#if defined(MADV_POPULATE_READ)
    advise(p, n, MADV_POPULATE_READ); /* Linux 5.14; older ones refuse, and pages come one by one */
#elif defined(__linux__)
    advise(p, n, 22); /* its number, where the headers are older than the kernel may be */
#else
    advise(p, n, MADV_WILLNEED);
#endif
}

/* NULL where the system cannot map: the caller reads instead. */
static Buf *source_map(const Source *s, uint64_t at, size_t n)
{
    size_t skip = (size_t)(at & ((uint64_t)sysconf(_SC_PAGESIZE) - 1)), length;
    if (!sdx_add_size(&length, n, skip)) return NULL;
    char *p = mmap(NULL, length, PROT_READ, MAP_PRIVATE, s->fd, (off_t)(at - skip));
    if (p == MAP_FAILED) return NULL;
    Buf *b = sdx_buf_wrap(s->alloc, p + skip, n, unmap, (void *)(uintptr_t)length);
    if (!b) munmap(p, length);
    return b;
}

sdx_status sdx_source_bytes(Source *s, uint64_t at, uint64_t n, LoadMode mode, Buf **out, Err *err)
{
    *out = NULL;
    if (at > s->size || n > s->size - at)
        return sdx_fail(err, SDX_IO, "%s: bytes %llu to %llu lie outside its %llu bytes", s->name,
                        (unsigned long long)at, (unsigned long long)(at + n), (unsigned long long)s->size);
    if (n > SIZE_MAX) return sdx_fail(err, SDX_OUT_OF_MEMORY, "%s: too large for this machine", s->name);
    if (mode == LOAD_MAP && s->memory) {
        *out = sdx_buf_wrap(s->alloc, (char *)s->memory + at, (size_t)n, NULL, NULL);
        TRY_MEM(*out, err);
        return SDX_OK;
    }
    if (mode == LOAD_MAP && s->fd >= 0 && n >= MAP_MIN && (*out = source_map(s, at, (size_t)n))) return SDX_OK;
    Buf *b = sdx_buf_create(s->alloc, (size_t)n);
    TRY_MEM(b, err);
    sdx_status status = n ? s->read(s, at, b->data, (size_t)n, err) : SDX_OK;
    if (status != SDX_OK) {
        sdx_buf_release(b);
        return status;
    }
    *out = b;
    return SDX_OK;
}
