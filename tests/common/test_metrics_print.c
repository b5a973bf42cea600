/* tests/common/test_metrics_print.c: the rows that README has of what is counted. */
#include "common/metrics.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const struct metric table[] = {
    {"aegis_players", "", METRIC_GAUGE, 0, "Players now"},
    {"aegis_moves_total", "result=\"ok\"", METRIC_COUNTER, 0, "Moves by result"},
    {"aegis_moves_total", "result=\"speed\"", METRIC_COUNTER, 0, "Moves by result"},
    {"aegis_odd_total", "", METRIC_COUNTER, 0, "This|that"},
};

static FILE *page;
static char *text;
static size_t len;

static void begin(void)
{
    page = open_memstream(&text, &len);
    cr_assert_not_null(page);
}

static void is(const char *want)
{
    fclose(page);
    cr_assert_str_eq(text, want);
    free(text);
}

Test(metrics_print, a_name_has_one_row_with_its_labels_together)
{
    begin();
    metrics_print_head(page);
    metrics_print_rows(table, ARRAY_LEN(table), page);
    is("| metric | type | labels | meaning |\n"
       "| --- | --- | --- | --- |\n"
       "| `aegis_players` | gauge | | Players now |\n"
       "| `aegis_moves_total` | counter | `result`: ok, speed | Moves by result |\n"
       "| `aegis_odd_total` | counter | | This\\|that |\n");
    TEST_NO_LEAKS();
}

Test(metrics_print, an_info_and_histograms_have_a_row_each)
{
    static const char *const labels[] = {"phase=\"grid\"", "phase=\"sight\""};
    begin();
    metrics_print_info("aegis_build_info", "What runs", "`role`, `version`", page);
    metrics_print_hists("aegis_tick_seconds", "Tick time", NULL, 0, page);
    metrics_print_hists("aegis_phase_seconds", "Phases", labels, ARRAY_LEN(labels), page);
    metrics_print_summaries("aegis_age_seconds", "Ages", labels, ARRAY_LEN(labels), page);
    is("| `aegis_build_info` | gauge | `role`, `version` | What runs |\n"
       "| `aegis_tick_seconds` | histogram | | Tick time |\n"
       "| `aegis_phase_seconds` | histogram | `phase`: grid, sight | Phases |\n"
       "| `aegis_age_seconds` | summary | `phase`: grid, sight | Ages |\n");
    TEST_NO_LEAKS();
}
