#include "cli/npz.h"

#include <stdlib.h>
#include <string.h>

#include "image/inflate.h"

static uint64_t le(const uint8_t *p, int n)
{
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint64_t)p[i] << 8 * i;
    return v;
}

static sdx_status bad(sdx_error *err, const char *what)
{
    cli_error_set(err, SDX_INVALID_ARGUMENT, "npz: %s", what);
    return SDX_INVALID_ARGUMENT;
}

/* The end-of-directory record, within the last 64 KiB. */
static const uint8_t *find_end(const uint8_t *p, size_t n)
{
    for (size_t back = 22; back <= n && back < 22 + 65536; back++)
        if (le(p + n - back, 4) == 0x06054b50) return p + n - back;
    return NULL;
}

static sdx_status extract(const uint8_t *p, size_t n, const uint8_t *entry, void **member, size_t *nmember,
                          sdx_error *err)
{
    uint64_t method = le(entry + 10, 2), packed = le(entry + 20, 4), size = le(entry + 24, 4), at = le(entry + 42, 4);
    if (packed == UINT32_MAX || size == UINT32_MAX || at == UINT32_MAX)
        return bad(err, "members over 4 GiB are not read");
    if (at + 30 > n || le(p + at, 4) != 0x04034b50) return bad(err, "damaged archive");
    at += 30 + le(p + at + 26, 2) + le(p + at + 28, 2);
    if (at > n || packed > n - at) return bad(err, "truncated archive");
    uint8_t *data = cli_alloc(size + 1);
    size_t got = size;
    const char *wrong = NULL;
    if (method == 0 && packed == size)
        memcpy(data, p + at, size);
    else if (method == 8)
        wrong = sdx_inflate(data, size, &got, p + at, packed);
    else
        wrong = "unknown compression";
    if (wrong || got != size) {
        free(data);
        return bad(err, wrong ? wrong : "truncated member");
    }
    *member = data;
    *nmember = size;
    return SDX_OK;
}

sdx_status npz_member(const void *bytes, size_t n, const char *name, void **member, size_t *nmember, sdx_error *err)
{
    const uint8_t *p = bytes, *end = n >= 22 ? find_end(p, n) : NULL;
    if (!end) return bad(err, "not a zip archive");
    uint64_t count = le(end + 10, 2), at = le(end + 16, 4);
    const uint8_t *chosen = NULL;
    for (uint64_t i = 0; i < count; i++) {
        if (at + 46 > n || le(p + at, 4) != 0x02014b50) return bad(err, "damaged directory");
        uint64_t len = le(p + at + 28, 2), skip = le(p + at + 30, 2) + le(p + at + 32, 2);
        if (at + 46 + len > n) return bad(err, "damaged directory");
        const char *entry = (const char *)p + at + 46;
        size_t want = strlen(name);
        bool same = len == want + 4 && memcmp(entry, name, want) == 0 && memcmp(entry + want, ".npy", 4) == 0;
        if (same || count == 1) chosen = p + at;
        at += 46 + len + skip;
    }
    if (!chosen) return bad(err, "no member of the input's name");
    return extract(p, n, chosen, member, nmember, err);
}
