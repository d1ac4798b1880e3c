#define _POSIX_C_SOURCE 200809L
#include "base/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness.h"

#define N 40000

static unsigned char pattern(size_t i) { return (unsigned char)(i * 31 + i / 251); }

static bool matches(const Buf *b, size_t at, size_t n)
{
    if (b->nbytes != n) return false;
    for (size_t i = 0; i < n; i++)
        if (((unsigned char *)b->data)[i] != pattern(at + i)) return false;
    return true;
}

/* Ranges below and above the size from which files are mapped, at offsets inside pages. */
static void check_ranges(Source *s)
{
    static const size_t ranges[][2] = { { 0, 0 }, { 0, N }, { 1, 5 }, { 4097, 20000 }, { N - 3, 3 }, { N, 0 } };
    for (int mode = LOAD_MAP; mode <= LOAD_COPY; mode++) {
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
            Err err = { 0 };
            Buf *b;
            sdx_harness_note("mode %d range %zu", mode, i);
            if (!CHECK_INT(sdx_source_bytes(s, ranges[i][0], ranges[i][1], (LoadMode)mode, &b, &err), SDX_OK)) continue;
            CHECK(matches(b, ranges[i][0], ranges[i][1]));
            sdx_buf_release(b);
        }
    }
    sdx_harness_note(NULL);
    Buf *b;
    Err err = { 0 };
    CHECK_INT(sdx_source_bytes(s, N - 3, 4, LOAD_MAP, &b, &err), SDX_IO);
    CHECK_HAS(err.text, "outside its 40000 bytes");
    CHECK_INT(sdx_source_bytes(s, UINT64_MAX, 2, LOAD_MAP, &b, NULL), SDX_IO);
}

static void reads_a_file(void)
{
    char path[] = "/tmp/sdx_source_XXXXXX";
    int fd = mkstemp(path);
    if (!CHECK(fd >= 0)) return;
    unsigned char *bytes = malloc(N);
    for (size_t i = 0; i < N; i++) bytes[i] = pattern(i);
    CHECK_INT(write(fd, bytes, N), N);
    free(bytes);
    Source s;
    Err err = { 0 };
    CHECK_INT(sdx_source_fd(&s, &sdx_alloc_default, fd, &err), SDX_OK);
    check_ranges(&s);
    sdx_source_fini(&s);
    CHECK_INT(sdx_source_path(&s, &sdx_alloc_default, path, &err), SDX_OK);
    check_ranges(&s);
    Buf *kept;
    CHECK_INT(sdx_source_bytes(&s, 0, N, LOAD_MAP, &kept, &err), SDX_OK);
    sdx_source_fini(&s);
    CHECK(matches(kept, 0, N)); /* the mapping outlives the source */
    sdx_buf_release(kept);
    CHECK_INT(close(fd), 0);
    CHECK_INT(unlink(path), 0);
}

static int host_read(void *user, uint64_t at, void *dst, size_t n)
{
    if (*(int *)user) return *(int *)user;
    for (size_t i = 0; i < n; i++) ((unsigned char *)dst)[i] = pattern((size_t)at + i);
    return 0;
}

static void reads_memory_and_callbacks(void)
{
    static unsigned char bytes[N];
    for (size_t i = 0; i < N; i++) bytes[i] = pattern(i);
    Source s;
    sdx_source_memory(&s, &sdx_alloc_default, bytes, N);
    check_ranges(&s);
    Buf *b;
    CHECK_INT(sdx_source_bytes(&s, 8, 8, LOAD_MAP, &b, NULL), SDX_OK);
    CHECK(b->data == bytes + 8);
    sdx_buf_release(b);
    CHECK_INT(sdx_source_bytes(&s, 8, 8, LOAD_COPY, &b, NULL), SDX_OK);
    CHECK(b->data != bytes + 8);
    sdx_buf_release(b);

    int code = 0;
    sdx_source_callback(&s, &sdx_alloc_default, host_read, &code, N);
    check_ranges(&s);
    code = 7;
    Err err = { 0 };
    CHECK_INT(sdx_source_bytes(&s, 1, 1, LOAD_MAP, &b, &err), SDX_IO);
    CHECK_HAS(err.text, "code 7");
}

static void tells_what_it_cannot_open(void)
{
    Source s;
    Err err = { 0 };
    CHECK_INT(sdx_source_path(&s, &sdx_alloc_default, "/nonexistent/model", &err), SDX_NOT_FOUND);
    CHECK_HAS(err.text, "/nonexistent/model: cannot open: No such file");
    sdx_err_clear(&err);
    CHECK_INT(sdx_source_path(&s, &sdx_alloc_default, "/", &err), SDX_IO);
    CHECK_HAS(err.text, "not a regular file");
}

static void keeps_locations_inside_the_folder(void)
{
    char dir[] = "/tmp/sdx_under_XXXXXX", text[256], outside[] = "/tmp/sdx_outside_XXXXXX";
    if (!CHECK(mkdtemp(dir) != NULL)) return;
    int out = mkstemp(outside);
    snprintf(text, sizeof text, "%s/data.bin", dir);
    FILE *f = fopen(text, "wb");
    fputs("abc", f);
    fclose(f);
    snprintf(text, sizeof text, "%s/link", dir);
    CHECK_INT(symlink(outside, text), 0);
    const char *dirs[] = { dir, NULL };
    static const struct {
        const char *location, *text;
        sdx_status status;
    } cases[] = {
        { "data.bin", NULL, SDX_OK },
        { "./data.bin", NULL, SDX_OK },
        { "", "empty", SDX_INVALID_ARGUMENT },
        { "/etc/passwd", "absolute", SDX_INVALID_ARGUMENT },
        { "C:data", "absolute", SDX_INVALID_ARGUMENT },
        { "../x", "\"..\"", SDX_INVALID_ARGUMENT },
        { "a\\..\\x", "\"..\"", SDX_INVALID_ARGUMENT },
        { "link", "outside the model's folder", SDX_INVALID_ARGUMENT },
        { "missing", "cannot open", SDX_NOT_FOUND },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Source s;
        Err err = { 0 };
        sdx_harness_note("%s", cases[i].location);
        CHECK_INT(sdx_source_under(&s, &sdx_alloc_default, dirs, 2, cases[i].location, &err), cases[i].status);
        if (cases[i].text) CHECK_HAS(err.text, cases[i].text);
        sdx_source_fini(&s);
    }
    sdx_harness_note(NULL);
    /* the same link is fine when its target's folder is allowed */
    Source s;
    dirs[1] = "/tmp";
    CHECK_INT(sdx_source_under(&s, &sdx_alloc_default, dirs, 2, "link", NULL), SDX_OK);
    sdx_source_fini(&s);
    CHECK_INT(unlink(text), 0);
    snprintf(text, sizeof text, "%s/data.bin", dir);
    CHECK_INT(unlink(text), 0);
    CHECK_INT(rmdir(dir), 0);
    CHECK_INT(unlink(outside), 0);
    close(out);
}

SUITE(source_test)
{
    RUN(keeps_locations_inside_the_folder);
    RUN(reads_a_file);
    RUN(reads_memory_and_callbacks);
    RUN(tells_what_it_cannot_open);
}
