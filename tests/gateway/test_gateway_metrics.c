/* tests/gateway/test_gateway_metrics.c: the table holds what it promises. */
#include "gateway/gateway_metrics.h"

#include <criterion/criterion.h>
#include <string.h>

Test(gateway_metrics, every_field_has_one_row_and_its_own_name_and_label)
{
    cr_assert_eq(gateway_metrics_n * sizeof(uint64_t), sizeof(struct gateway_metrics));
    for (size_t i = 0; i < gateway_metrics_n; i++) {
        const struct metric *a = &gateway_metrics_table[i];
        cr_assert_eq(a->offset, i * sizeof(uint64_t));
        cr_assert_eq(strncmp(a->name, "aegis_gateway_", 14), 0, "%s", a->name);
        for (size_t k = i + 1; k < gateway_metrics_n; k++) {
            const struct metric *b = &gateway_metrics_table[k];
            cr_assert(strcmp(a->name, b->name) != 0 || strcmp(a->label, b->label) != 0, "%s{%s}",
                      a->name, a->label);
        }
    }
}

Test(gateway_metrics, rows_of_one_name_stand_together_and_agree)
{
    for (size_t i = 1; i < gateway_metrics_n; i++) {
        const struct metric *a = &gateway_metrics_table[i - 1], *b = &gateway_metrics_table[i];
        if (strcmp(a->name, b->name) == 0) {
            cr_assert_eq(a->kind, b->kind);
            cr_assert_str_eq(a->help, b->help);
            continue;
        }
        for (size_t k = i + 1; k < gateway_metrics_n; k++)
            cr_assert(strcmp(a->name, gateway_metrics_table[k].name) != 0, "%s", a->name);
    }
}

Test(gateway_metrics, counters_end_in_total_and_gauges_do_not)
{
    for (size_t i = 0; i < gateway_metrics_n; i++) {
        const struct metric *m = &gateway_metrics_table[i];
        const size_t n = strlen(m->name);
        const bool total = n > 6 && strcmp(m->name + n - 6, "_total") == 0;
        cr_assert_eq(total, m->kind == METRIC_COUNTER, "%s", m->name);
    }
}

Test(gateway_metrics, threads_add_up_but_for_limits_the_most_and_what_all_must_do)
{
    struct gateway_metrics a = {.frames_in = 3,
                                .clients = 4,
                                .threads = 1,
                                .clients_max = 10,
                                .descriptors_max = 100,
                                .accepting = 1,
                                .link_ready = 1,
                                .worlds_known = 3,
                                .worlds_up = 2,
                                .queue_bytes = 8,
                                .queue_most_bytes = 5};
    struct gateway_metrics b = {.frames_in = 39,
                                .clients = 2,
                                .threads = 1,
                                .clients_max = 10,
                                .descriptors_max = 100,
                                .accepting = 1,
                                .worlds_known = 2,
                                .worlds_up = 2,
                                .reading_paused = 1,
                                .queue_bytes = 9,
                                .queue_most_bytes = 7,
                                .admin_full = 1};

    gateway_metrics_merge(&a, &b);
    cr_assert_eq(a.frames_in, 42);
    cr_assert_eq(a.clients, 6);
    cr_assert_eq(a.threads, 2);
    cr_assert_eq(a.clients_max, 10);
    cr_assert_eq(a.descriptors_max, 100);
    cr_assert_eq(a.accepting, 1);
    cr_assert_eq(a.link_ready, 0, "not while one is away");
    cr_assert_eq(a.worlds_known, 2);
    cr_assert_eq(a.worlds_up, 2);
    cr_assert_eq(a.reading_paused, 1);
    cr_assert_eq(a.queue_bytes, 17);
    cr_assert_eq(a.queue_most_bytes, 7);
    cr_assert_eq(a.admin_full, 1);
}
