/* tests/common/test_metrics.c: the Prometheus text. */
#include "common/metrics.h"

#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct values {
    uint64_t players, moves_ok, moves_speed;
};

static const struct metric table[] = {
    {"aegis_players", "", METRIC_GAUGE, offsetof(struct values, players), "Players in the world"},
    {"aegis_moves_total", "result=\"ok\"", METRIC_COUNTER, offsetof(struct values, moves_ok),
     "Moves by result"},
    {"aegis_moves_total", "result=\"speed\"", METRIC_COUNTER, offsetof(struct values, moves_speed),
     "Moves by result"},
};

static char *text_of(const struct hist *h, const uint64_t *bounds, size_t n, const struct values *v)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (v)
        metrics_write(table, ARRAY_LEN(table), v, f);
    if (h)
        metrics_write_hists("aegis_tick_seconds", "Tick time", &(struct metric_hist){"", h}, 1,
                            bounds, n, f);
    fclose(f);
    return text;
}

Test(metrics, help_and_type_come_once_a_name_and_values_are_whole)
{
    struct values v = {.players = 3, .moves_ok = UINT64_MAX, .moves_speed = 0};
    char *text = text_of(NULL, NULL, 0, &v);
    cr_assert_str_eq(text, "# HELP aegis_players Players in the world\n"
                           "# TYPE aegis_players gauge\n"
                           "aegis_players 3\n"
                           "# HELP aegis_moves_total Moves by result\n"
                           "# TYPE aegis_moves_total counter\n"
                           "aegis_moves_total{result=\"ok\"} 18446744073709551615\n"
                           "aegis_moves_total{result=\"speed\"} 0\n");
    free(text);
    TEST_NO_LEAKS();
}

Test(metrics, a_histogram_is_cumulative_and_in_seconds)
{
    static const uint64_t bounds[] = {1000, 1500000, 50000000, 1000000000, 100000000000};
    static struct hist h;
    hist_add(&h, 500);
    hist_add(&h, 1200000);
    hist_add(&h, 1200000);
    hist_add(&h, 3000000000);
    char *text = text_of(&h, bounds, ARRAY_LEN(bounds), NULL);
    cr_assert_str_eq(text, "# HELP aegis_tick_seconds Tick time\n"
                           "# TYPE aegis_tick_seconds histogram\n"
                           "aegis_tick_seconds_bucket{le=\"0.000001\"} 1\n"
                           "aegis_tick_seconds_bucket{le=\"0.0015\"} 3\n"
                           "aegis_tick_seconds_bucket{le=\"0.05\"} 3\n"
                           "aegis_tick_seconds_bucket{le=\"1\"} 3\n"
                           "aegis_tick_seconds_bucket{le=\"100\"} 4\n"
                           "aegis_tick_seconds_bucket{le=\"+Inf\"} 4\n"
                           "aegis_tick_seconds_sum 3.0024005\n"
                           "aegis_tick_seconds_count 4\n");
    free(text);
    TEST_NO_LEAKS();
}

Test(metrics, an_empty_histogram_is_all_zeros)
{
    static const uint64_t bounds[] = {10000000000};
    static struct hist h;
    char *text = text_of(&h, bounds, 1, NULL);
    cr_assert_not_null(strstr(text, "{le=\"10\"} 0\n"));
    cr_assert_not_null(strstr(text, "_sum 0\n"));
    free(text);
    TEST_NO_LEAKS();
}

Test(metrics, histograms_of_one_name_are_told_apart_by_their_labels)
{
    static const uint64_t bounds[] = {1000};
    static struct hist a, b;
    struct metric_hist two[] = {{"phase=\"sight\"", &a}, {"phase=\"fanout\"", &b}};
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    hist_add(&b, 2000);
    metrics_write_hists("aegis_phase_seconds", "Phases", two, 2, bounds, 1, f);
    fclose(f);
    cr_assert_str_eq(text, "# HELP aegis_phase_seconds Phases\n"
                           "# TYPE aegis_phase_seconds histogram\n"
                           "aegis_phase_seconds_bucket{phase=\"sight\",le=\"0.000001\"} 0\n"
                           "aegis_phase_seconds_bucket{phase=\"sight\",le=\"+Inf\"} 0\n"
                           "aegis_phase_seconds_sum{phase=\"sight\"} 0\n"
                           "aegis_phase_seconds_count{phase=\"sight\"} 0\n"
                           "aegis_phase_seconds_bucket{phase=\"fanout\",le=\"0.000001\"} 0\n"
                           "aegis_phase_seconds_bucket{phase=\"fanout\",le=\"+Inf\"} 1\n"
                           "aegis_phase_seconds_sum{phase=\"fanout\"} 0.000002\n"
                           "aegis_phase_seconds_count{phase=\"fanout\"} 1\n");
    free(text);
    TEST_NO_LEAKS();
}

Test(metrics, a_summary_tells_the_median_the_rare_and_the_most)
{
    static struct hist a, b;
    struct metric_hist two[] = {{"tier=\"0\"", &a}, {"tier=\"1\"", &b}}, one = {"", &b};
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    hist_add_many(&a, 0, 98);
    hist_add(&a, 2);
    hist_add(&a, 7);
    metrics_write_summaries("aegis_age_seconds", "Ages", two, 2, 50000000, f);
    metrics_write_summaries("aegis_pairs", "Pairs", &one, 1, 0, f);
    fclose(f);
    cr_assert_str_eq(text, "# HELP aegis_age_seconds Ages\n"
                           "# TYPE aegis_age_seconds summary\n"
                           "aegis_age_seconds{tier=\"0\",quantile=\"0.5\"} 0\n"
                           "aegis_age_seconds{tier=\"0\",quantile=\"0.99\"} 0.1\n"
                           "aegis_age_seconds{tier=\"0\",quantile=\"1\"} 0.35\n"
                           "aegis_age_seconds_sum{tier=\"0\"} 0.45\n"
                           "aegis_age_seconds_count{tier=\"0\"} 100\n"
                           "aegis_age_seconds{tier=\"1\",quantile=\"0.5\"} 0\n"
                           "aegis_age_seconds{tier=\"1\",quantile=\"0.99\"} 0\n"
                           "aegis_age_seconds{tier=\"1\",quantile=\"1\"} 0\n"
                           "aegis_age_seconds_sum{tier=\"1\"} 0\n"
                           "aegis_age_seconds_count{tier=\"1\"} 0\n"
                           "# HELP aegis_pairs Pairs\n"
                           "# TYPE aegis_pairs summary\n"
                           "aegis_pairs{quantile=\"0.5\"} 0\n"
                           "aegis_pairs{quantile=\"0.99\"} 0\n"
                           "aegis_pairs{quantile=\"1\"} 0\n"
                           "aegis_pairs_sum 0\n"
                           "aegis_pairs_count 0\n");
    free(text);
    TEST_NO_LEAKS();
}

Test(metrics, gauges_of_one_name_are_told_apart_by_their_labels)
{
    static const struct metric_gauge gauges[] = {{"scene=\"open\"", 3}, {"scene=\"town\"", 0}};
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    metrics_write_gauges("aegis_scene", "By scene", gauges, ARRAY_LEN(gauges), f);
    fclose(f);
    cr_assert_str_eq(text, "# HELP aegis_scene By scene\n"
                           "# TYPE aegis_scene gauge\n"
                           "aegis_scene{scene=\"open\"} 3\n"
                           "aegis_scene{scene=\"town\"} 0\n");
    free(text);
    TEST_NO_LEAKS();
}

Test(metrics, what_is_told_by_labels_has_the_value_1)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    metrics_write_info("aegis_build_info", "What runs", "version=\"1.2\"", f);
    fclose(f);
    cr_assert_str_eq(text, "# HELP aegis_build_info What runs\n"
                           "# TYPE aegis_build_info gauge\n"
                           "aegis_build_info{version=\"1.2\"} 1\n");
    free(text);
    TEST_NO_LEAKS();
}
