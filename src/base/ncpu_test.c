#include "base/ncpu.h"

#include "tests/harness.h"

static void quotas(void)
{
    CHECK_INT(sdx_ncpu_parse_max("max 100000\n"), 0);
    CHECK_INT(sdx_ncpu_parse_max("200000 100000\n"), 2);
    CHECK_INT(sdx_ncpu_parse_max("250000 100000\n"), 2);
    CHECK_INT(sdx_ncpu_parse_max("50000 100000\n"), 1);
    CHECK_INT(sdx_ncpu_parse_max("-1 100000"), 0); /* version 1: no limit */
    CHECK_INT(sdx_ncpu_parse_max("100000 0"), 0);
    CHECK_INT(sdx_ncpu_parse_max(""), 0);
    CHECK_INT(sdx_ncpu_parse_max("900000000000000 1"), 4096);
}

static void cgroup_paths(void)
{
    char path[32];
    CHECK_INT(sdx_ncpu_cgroup_path("0::/user.slice/a\n", NULL, path, sizeof path), 13);
    CHECK_STR(path, "/user.slice/a");
    const char *v1 = "12:cpuset:/x\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/y\n0::/";
    CHECK(sdx_ncpu_cgroup_path(v1, "cpu", path, sizeof path) > 0);
    CHECK_STR(path, "/docker/abc");
    CHECK(sdx_ncpu_cgroup_path(v1, NULL, path, sizeof path) > 0);
    CHECK_STR(path, "/");
    CHECK_INT(sdx_ncpu_cgroup_path(v1, "cpu", path, 5), 0);
    CHECK_INT(sdx_ncpu_cgroup_path("garbage\n\n::", "cpu", path, sizeof path), 0);
    CHECK_INT(sdx_ncpu_cgroup_path("", NULL, path, sizeof path), 0);
}

static void this_machine(void) { CHECK(sdx_ncpu() >= 1); }

SUITE(ncpu_test)
{
    RUN(quotas);
    RUN(cgroup_paths);
    RUN(this_machine);
}
