/* tests/world/test_world_metrics.c: the tables of the core and of the edge hold what they promise.
 */
#include "world/edge/edge_metrics.h"
#include "world/world_metrics.h"

#include <criterion/criterion.h>
#include <string.h>

struct table {
    const struct metric *rows;
    size_t n, bytes;
};

static struct table core(void)
{
    return (struct table){world_metrics_table, world_metrics_count, sizeof(struct world_metrics)};
}

static struct table edge(void)
{
    return (struct table){edge_metrics_table, edge_metrics_count, sizeof(struct edge_metrics)};
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), e = strlen(end);
    return n > e && strcmp(text + n - e, end) == 0;
}

/* A letter or _ first, then also digits: what a scraper takes. */
static bool name_good(const char *name)
{
    return strncmp(name, "aegis_world_", 12) == 0 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789") == strlen(name);
}

static void judge(struct table t)
{
    cr_assert_eq(t.n * sizeof(uint64_t), t.bytes, "a row for each field");
    for (size_t i = 0; i < t.n; i++) {
        const struct metric *a = &t.rows[i];
        cr_expect_eq(a->offset, i * sizeof(uint64_t));
        cr_expect(name_good(a->name), "%s", a->name);
        cr_expect_eq(ends_in(a->name, "_total"), a->kind == METRIC_COUNTER, "%s", a->name);
        cr_expect_gt(strlen(a->help), 0, "%s", a->name);
        for (size_t k = i + 1; k < t.n; k++) {
            const struct metric *b = &t.rows[k];
            if (strcmp(a->name, b->name) != 0)
                continue;
            cr_expect_neq(strcmp(a->label, b->label), 0, "%s{%s} twice", a->name, a->label);
            cr_expect_str_eq(a->help, b->help);
            cr_expect_eq(a->kind, b->kind);
            cr_expect_str_eq(t.rows[k - 1].name, a->name, "%s: its rows stand together", a->name);
        }
    }
}

Test(world_metrics, names_follow_the_convention_and_rows_of_one_name_agree)
{
    judge(core());
}

Test(edge_metrics, names_follow_the_convention_and_rows_of_one_name_agree)
{
    judge(edge());
}

Test(world_metrics, core_and_edge_share_no_name)
{
    for (size_t i = 0; i < core().n; i++)
        for (size_t k = 0; k < edge().n; k++)
            cr_expect_str_neq(core().rows[i].name, edge().rows[k].name);
}

Test(world_metrics, each_error_has_its_own_counter)
{
    static struct world_metrics m;
    const uint64_t *counters = (const uint64_t *)&m;
    size_t counted = 0;

    for (uint32_t code = 1; code <= 20; code++)
        world_metrics_refused(&m, code);
    for (size_t i = 0; i < world_metrics_count; i++) {
        cr_expect_leq(counters[i], 1);
        counted += counters[i];
    }
    cr_expect_eq(counted, 20);
}
