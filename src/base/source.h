/* Bytes of models and external data: from a path, memory, a file descriptor or a callback.
 *
 * A source offers read-at, and a mapping where the system can give one. A mapped file must not change while mapped. */
#ifndef SDX_BASE_SOURCE_H
#define SDX_BASE_SOURCE_H

#include "base/alloc.h"

typedef enum LoadMode { LOAD_MAP, LOAD_COPY } LoadMode;

/* Host's reader: 0 on success. */
typedef int (*SourceReadFn)(void *user, uint64_t at, void *dst, size_t n);

typedef struct Source {
    const Alloc *alloc;
    uint64_t size;
    /* Reads exactly n bytes at `at`. */
    sdx_status (*read)(struct Source *s, uint64_t at, void *dst, size_t n, Err *err);
    SourceReadFn host; /* of sdx_source_callback, with its user */
    void *user;
    int fd; /* -1: none */
    bool owns_fd;
    const void *memory; /* whole content when it lies in memory already */
    const char *name;   /* for messages */
} Source;

/* Borrows path, for messages. IO when it cannot be opened or is not a regular file; NOT_FOUND when it is not there. */
sdx_status sdx_source_path(Source *s, const Alloc *a, const char *path, Err *err);
/* Opens `location`, relative to dirs[0], if the file lies under one of the n folders once all links are resolved. The
 * location may be no absolute path, hold no ".." and no NUL; INVALID_ARGUMENT says which. Borrows location. */
sdx_status sdx_source_under(Source *s, const Alloc *a, const char *const *dirs, int n, const char *location, Err *err);
sdx_status sdx_source_fd(Source *s, const Alloc *a, int fd, Err *err);      /* borrows fd */
void sdx_source_memory(Source *s, const Alloc *a, const void *p, size_t n); /* borrows p */
void sdx_source_callback(Source *s, const Alloc *a, SourceReadFn read, void *user, uint64_t size);
/* The folder of a path as written, and of what it leads to once links are resolved. buf has SDX_PATH_MAX bytes. false:
 * too long, or there is no such file. */
#define SDX_PATH_MAX 4096
bool sdx_path_dir(const char *path, char *buf);
bool sdx_path_real_dir(const char *path, char *buf);
void sdx_source_fini(Source *s);

/* n bytes at `at` as a buffer: a mapping, a view of the caller's memory, or a copy. IO when outside the source. The
 * buffer outlives the source; a view lives as long as the caller's memory. */
sdx_status sdx_source_bytes(Source *s, uint64_t at, uint64_t n, LoadMode mode, Buf **out, Err *err);

/* Whether b is a mapping of a file made here. Its pages can be given back: they are read from the file again when
 * touched. */
bool sdx_source_is_map(const Buf *b);
/* Gives back the whole pages within n bytes of such a mapping. */
void sdx_source_discard(const void *p, size_t n);
/* They will all be read, soon: one call to the system instead of a fault every few pages. */
void sdx_source_expect(const void *p, size_t n);

#endif
