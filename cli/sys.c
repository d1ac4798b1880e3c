/* sdx sys - what this machine offers, and what a core of it reaches. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"

static const Option sys_options[] = {
    { "operators", 0, NULL, "list the operators that run on the CPU, with their versions" },
    { NULL, 0, NULL, NULL },
};

/* Best bandwidth of reading nbytes over and over, in GB/s. */
static double read_gbps(size_t nbytes)
{
    size_t n = nbytes / sizeof(uint64_t);
    uint64_t *p = cli_alloc(nbytes);
    volatile uint64_t sink = 0;
    double best = 0;
    memset(p, 1, nbytes);
    int repeats = (int)(((size_t)64 << 20) / nbytes) + 1;
    for (int round = 0; round < 5; round++) {
        int64_t start = cli_now_ns();
        for (int r = 0; r < repeats; r++) {
            uint64_t s[8] = { 0 };
            for (size_t i = 0; i + 8 <= n; i += 8)
                for (int k = 0; k < 8; k++) s[k] += p[i + (size_t)k];
            sink += s[0] ^ s[1] ^ s[2] ^ s[3] ^ s[4] ^ s[5] ^ s[6] ^ s[7];
        }
        double gbps = (double)nbytes * repeats / (double)(cli_now_ns() - start);
        if (gbps > best) best = gbps;
    }
    (void)sink;
    free(p);
    return best;
}

static void put_operator(void *user, const char *domain, const char *name, const char *versions)
{
    Json *j = user;
    if (!j) {
        printf("%-24s %-28s %s\n", domain, name, versions);
        return;
    }
    json_object(j, NULL);
    json_string(j, "domain", domain);
    json_string(j, "name", name);
    json_string(j, "versions", versions);
    json_end(j, '}');
}

static int sys_operators(bool as_json)
{
    Json j;
    if (as_json) json_open(&j, stdout, "operators"), json_array(&j, "operators");
    sdx_each_operator(put_operator, as_json ? &j : NULL);
    if (as_json) json_end(&j, ']'), json_close(&j);
    return EXIT_OK;
}

static int sys_run(const Args *a)
{
    if (args_flag(a, "operators")) return sys_operators(args_flag(a, "json"));
    sdx_system_info info = { .struct_size = sizeof info };
    sdx_system(&info);
    double l2 = read_gbps(info.l2_bytes ? info.l2_bytes / 2 : (size_t)256 << 10), memory = read_gbps((size_t)256 << 20);
    if (args_flag(a, "json")) {
        Json j;
        json_open(&j, stdout, "sys");
        json_string(&j, "version", sdx_version());
        json_string(&j, "cpu_level", info.cpu_level);
        json_string(&j, "cpu_levels", info.cpu_levels);
        json_int(&j, "default_threads", info.default_threads);
        json_int(&j, "l1d_bytes", (int64_t)info.l1d_bytes);
        json_int(&j, "l2_bytes", (int64_t)info.l2_bytes);
        json_int(&j, "l3_bytes", (int64_t)info.l3_bytes);
        json_number(&j, "l2_read_gbps", l2);
        json_number(&j, "memory_read_gbps", memory);
        json_close(&j);
        return EXIT_OK;
    }
    printf("sardonyx        %s\n", sdx_version());
    printf("cpu level       %s (of %s)\n", info.cpu_level, info.cpu_levels);
    printf("threads         %d by default\n", info.default_threads);
    printf("caches          L1d %zu KiB, L2 %zu KiB, L3 %zu KiB\n", info.l1d_bytes >> 10, info.l2_bytes >> 10,
           info.l3_bytes >> 10);
    printf("read bandwidth  L2 %.1f GB/s, memory %.1f GB/s (one core, portable loop)\n", l2, memory);
    return EXIT_OK;
}

static const Option *const sys_tables[] = { sys_options, cli_json_option, NULL };

const Command cli_sys = {
    .name = "sys",
    .usage = "[--operators]",
    .help = "Shows the CPU level in use, caches, measured bandwidth, and the operators.",
    .options = sys_tables,
    .min_words = 0,
    .max_words = 0,
    .run = sys_run,
};
