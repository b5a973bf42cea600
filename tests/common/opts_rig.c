/* tests/common/opts_rig.c: a table with a flag of every type, and one call that parses. */
#include "tests/common/opts_rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD(f) offsetof(struct rig_config, f)

/* clang-format off */
const struct opt rig_opts[] = {
    {.name = "store", .type = OPT_TEXT, .offset = FIELD(store), .def = "none", .unit = "",
     .help = "where to keep things"},
    {.name = "listen", .type = OPT_ADDR, .offset = FIELD(listen), .def = "127.0.0.1:19001",
     .unit = "", .help = "where clients connect"},
    {.name = "admin", .type = OPT_ADDR, .offset = FIELD(admin), .def = "", .unit = "",
     .help = "where operators look"},
    {.name = "fast", .type = OPT_BOOL, .offset = FIELD(fast), .def = "false", .unit = "",
     .help = "hurry"},
    {.name = "n", .type = OPT_UINT, .offset = FIELD(n), .def = "10", .unit = "", .min = 1,
     .max = 1000, .help = "how many"},
    {.name = "seed", .type = OPT_UINT, .offset = FIELD(seed), .def = "0", .unit = "",
     .help = "where chance begins"},
    {.name = "sndbuf", .type = OPT_BYTES, .offset = FIELD(sndbuf), .def = "128KiB",
     .unit = "bytes", .min = 4096, .max = 1073741824, .zero_off = true, .help = "send buffer"},
    {.name = "radius", .type = OPT_REAL, .offset = FIELD(radius), .def = "30", .unit = "units",
     .min = 0.5, .max = 256, .help = "how far one sees"},
    {.name = "quantum", .type = OPT_REAL, .offset = FIELD(quantum), .def = "1/64",
     .unit = "units", .min = 0.0001, .max = 1, .help = "the smallest step told"},
    {.name = "gap", .type = OPT_REAL, .offset = FIELD(gap), .def = "0", .unit = "",
     .help = "any width"},
    {.name = "tick", .type = OPT_DURATION, .offset = FIELD(tick_ns), .def = "50", .unit = "ms",
     .min = 1, .max = 10000, .help = "time between ticks"},
    {.name = "idle", .type = OPT_DURATION, .offset = FIELD(idle_ns), .def = "60s", .unit = "s",
     .min = 0.1, .max = 86400, .zero_off = true,
     .help = "how long one may be silent before one is sent away"},
    {.name = "window", .type = OPT_DURATION, .offset = FIELD(window_ns), .def = "1", .unit = "m",
     .help = "how long one may be away"},
    {.name = "format", .type = OPT_CHOICE, .offset = FIELD(format), .def = "text", .unit = "",
     .choices = "text|json|json2|something-longer", .help = "text | json: how a line is written"},
    {.name = "level", .type = OPT_CHOICE, .offset = FIELD(level), .def = "only", .unit = "",
     .choices = "only", .help = "no choice"},
    {.name = "bounds", .type = OPT_RECT, .offset = FIELD(bounds),
     .def = "-16384,-16384,16384,16384", .unit = "units", .help = "where the scene ends"},
    {.name = "area", .type = OPT_RECT, .offset = FIELD(area), .def = "", .unit = "",
     .help = "a part of it"},
    {.name = "map", .type = OPT_LIST, .offset = FIELD(maps), .def = "", .unit = "",
     .help = "where to read a map"},
};
/* clang-format on */
const size_t rig_opts_n = ARRAY_LEN(rig_opts);

void rig_parse(struct parsed *p, const char *const args[])
{
    char *argv[RIG_ARGS_MAX] = {(char *)"aegis"};
    int argc = 1;
    for (; args[argc - 1]; argc++) {
        cr_assert_lt(argc, RIG_ARGS_MAX - 1);
        argv[argc] = (char *)args[argc - 1];
    }
    memset(p, 0xa5, sizeof(*p));
    p->result =
        opts_parse(rig_opts, rig_opts_n, &p->config, argc, argv, &p->opts, p->why, sizeof(p->why));
    cr_assert(p->result == OPTS_OK || !p->opts);
    cr_assert_null(strchr(p->why, '\n'), "one line");
}

void rig_parse_one(struct parsed *p, const char *flag, const char *value)
{
    char arg[512];
    snprintf(arg, sizeof(arg), "-%s=%s", flag, value);
    RIG_PARSE(p, arg);
    /* The texts pointed into `arg`. */
    p->config.store = p->config.listen = p->config.admin = NULL;
}

void rig_parse_file(struct parsed *p, const void *text, size_t n, const char *const args[])
{
    char path[] = "/tmp/aegis-test-opts-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, n), (ssize_t)n);
    close(fd);

    const char *all[RIG_ARGS_MAX] = {"-config", path};
    for (size_t i = 0; args && args[i]; i++)
        all[i + 2] = args[i];
    rig_parse(p, all);
    unlink(path);
    char *at = strstr(p->why, path);
    if (at) {
        memcpy(at, "FILE", 4);
        memmove(at + 4, at + strlen(path), strlen(at + strlen(path)) + 1);
    }
}
