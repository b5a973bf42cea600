/* tests/common/test_log.c: one line an event, and no way to forge one.
 * Standard error is a pipe, or a file, for as long as a line is written.
 */
#include "common/log.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char out[1 << 16];
static int saved_err, capture[2];

static void start(void)
{
    cr_assert_eq(pipe2(capture, O_NONBLOCK), 0);
    saved_err = dup(STDERR_FILENO);
    cr_assert_eq(dup2(capture[1], STDERR_FILENO), STDERR_FILENO);
}

/* What was written since start. */
static const char *stop(void)
{
    ssize_t n = read(capture[0], out, sizeof(out) - 1);
    cr_assert_eq(dup2(saved_err, STDERR_FILENO), STDERR_FILENO);
    close(saved_err);
    close(capture[0]);
    close(capture[1]);
    out[n > 0 ? n : 0] = '\0';
    return out;
}

/* The line behind its time stamp, which is checked for form. */
static const char *after_time(const char *line)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    for (size_t i = 0; form[i]; i++)
        cr_assert(form[i] == 'd' ? isdigit((unsigned char)line[i]) != 0 : line[i] == form[i], "%s",
                  line);
    return line + strlen(form);
}

static const char *one(const char *text)
{
    start();
    log_line(LOG_INFO, "%s", text);
    return after_time(stop());
}

Test(log, a_line_holds_time_level_role_and_text)
{
    log_init("world", LOG_DEBUG, LOG_TEXT);
    start();
    log_line(LOG_WARN, "#%u entered (%.1f, %.1f) session=%d", 7u, 8.0, -0.5, 3);
    cr_assert_str_eq(after_time(stop()), " warn world #7 entered (8.0, -0.5) session=3\n");
}

Test(log, a_sink_that_nobody_set_up_is_info_and_text)
{
    start();
    log_line(LOG_DEBUG, "unseen");
    log_line(LOG_INFO, "seen");
    cr_assert_str_eq(after_time(stop()), " info aegis seen\n");
}

Test(log, lines_below_the_level_are_not_written)
{
    log_init("world", LOG_ERROR, LOG_TEXT);
    start();
    log_line(LOG_WARN, "unseen");
    log_line(LOG_ERROR, "seen");
    cr_assert_str_eq(after_time(stop()), " error world seen\n");
    log_init("world", LOG_OFF, LOG_TEXT);
    start();
    log_line(LOG_ERROR, "unseen");
    cr_assert_str_eq(stop(), "");
}

Test(log, levels_have_names)
{
    cr_assert_eq(log_level_find("debug"), LOG_DEBUG);
    cr_assert_eq(log_level_find("info"), LOG_INFO);
    cr_assert_eq(log_level_find("warn"), LOG_WARN);
    cr_assert_eq(log_level_find("error"), LOG_ERROR);
    cr_assert_eq(log_level_find("off"), LOG_OFF);
    cr_assert_eq(log_level_find("INFO"), -1);
    cr_assert_eq(log_level_find(""), -1);
}

Test(log, no_peer_can_forge_a_line_or_drive_a_terminal)
{
    log_init("world", LOG_INFO, LOG_TEXT);
    cr_assert_str_eq(one("a\n2026-11-29 fake\r\x1b[2J\x7f\tb"),
                     " info world a\\x0a2026-11-29 fake\\x0d\\x1b[2J\\x7f\\x09b\n");
    cr_assert_str_eq(one("\x01\x1f"), " info world \\x01\\x1f\n");
    cr_assert_str_eq(one("C1 \xc2\x9b\xc2\x80\xc2\xa0"),
                     " info world C1 \\xc2\\x9b\\xc2\\x80\xc2\xa0\n");
}

Test(log, well_formed_utf8_stays_and_other_bytes_are_shown)
{
    log_init("world", LOG_INFO, LOG_TEXT);
    cr_assert_str_eq(one("å \xe2\x82\xac \xf0\x9f\x90\x89 \xf4\x8f\xbf\xbf"),
                     " info world å \xe2\x82\xac \xf0\x9f\x90\x89 \xf4\x8f\xbf\xbf\n");
    cr_assert_str_eq(one("\xff\xc0\xaf"), " info world \\xff\\xc0\\xaf\n", "overlong");
    cr_assert_str_eq(one("\xe0\x80\x80"), " info world \\xe0\\x80\\x80\n", "overlong");
    cr_assert_str_eq(one("\xed\xa0\x80"), " info world \\xed\\xa0\\x80\n", "a surrogate");
    cr_assert_str_eq(one("\xf4\x90\x80\x80"), " info world \\xf4\\x90\\x80\\x80\n", "above all");
    cr_assert_str_eq(one("\xf0\x8f\xbf\xbf"), " info world \\xf0\\x8f\\xbf\\xbf\n", "overlong");
    cr_assert_str_eq(one("\xe2\x82"), " info world \\xe2\\x82\n", "cut off");
    cr_assert_str_eq(one("\xe2(\xa1"), " info world \\xe2(\\xa1\n");
}

Test(log, json_is_one_object_a_line_with_its_own_escapes)
{
    log_init("gateway", LOG_INFO, LOG_JSON);
    start();
    log_line(LOG_INFO, "say \"hi\" \\ \n\x1b\x7f\xc2\x85\xff å");
    const char *line = stop();
    static const char head[] = "{\"time\":\"";
    cr_assert_eq(strncmp(line, head, strlen(head)), 0);
    cr_assert_str_eq(after_time(line + strlen(head)),
                     "\",\"level\":\"info\",\"role\":\"gateway\",\"msg\":\"say \\\"hi\\\" \\\\ "
                     "\\u000a\\u001b\\u007f\\u0085\\\\xff å\"}\n");
}

Test(log, a_long_line_is_cut_between_characters_and_ends_in_dots)
{
    static const char *const units[] = {"a", "\n", "\xe2\x82\xac", "\xff", "\""};
    for (int format = LOG_TEXT; format <= LOG_JSON; format++) {
        log_init("world", LOG_INFO, (enum log_format)format);
        for (size_t u = 0; u < ARRAY_LEN(units); u++) {
            for (size_t shift = 0; shift < 8; shift++) {
                char text[8192];
                memset(text, 'x', shift);
                text[shift] = '\0';
                while (strlen(text) < 5000)
                    strcat(text, units[u]);
                start();
                log_line(LOG_INFO, "%s", text);
                const char *line = stop();
                size_t n = strlen(line);
                cr_assert(n <= 2048 && n > 2030, "%zu bytes", n);
                cr_assert_str_eq(line + n - (format == LOG_JSON ? 6 : 4),
                                 format == LOG_JSON ? "...\"}\n" : "...\n");
                cr_assert_eq(strcspn(line, "\n"), n - 1, "one line");
            }
        }
    }
}

Test(log, the_longest_line_that_fits_is_not_cut)
{
    log_init("world", LOG_INFO, LOG_TEXT);
    char text[3000];
    size_t room = 2048 - strlen("2026-11-29T12:00:00.123Z info world \n");
    memset(text, 'x', sizeof(text));
    text[room] = '\0';
    const char *line = one(text);
    cr_assert_null(strstr(line, "..."));
    cr_assert_eq(strlen(out), 2048);
    text[room] = 'x';
    text[room + 1] = '\0';
    line = one(text);
    cr_assert_not_null(strstr(line, "...\n"));
    cr_assert_eq(strlen(out), 2048);
}

Test(log, a_noisy_place_writes_ten_lines_a_second_and_counts_the_rest)
{
    log_init("world", LOG_INFO, LOG_TEXT);
    struct log_site site = {0};
    int lines = 0;
    start();
    /* Two seconds at most are touched by so short a run. */
    for (int i = 0; i < 1000; i++)
        log_site_line(&site, LOG_WARN, "noise %d", i);
    for (const char *c = stop(); *c; c++)
        lines += *c == '\n';
    cr_assert(lines == LOG_SITE_RATE || lines == 2 * LOG_SITE_RATE);

    /* As it is found in the next second. */
    site = (struct log_site){.written = LOG_SITE_RATE, .suppressed = 980};
    start();
    log_site_line(&site, LOG_WARN, "noise again");
    cr_assert_str_eq(after_time(stop()), " warn world noise again suppressed=980\n");
    start();
    log_site_line(&site, LOG_WARN, "noise again");
    cr_assert_null(strstr(stop(), "suppressed"));
}

Test(log, the_count_of_what_was_left_out_survives_a_cut)
{
    log_init("world", LOG_INFO, LOG_JSON);
    struct log_site site = {.suppressed = UINT64_MAX};
    char text[4000];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    start();
    log_site_line(&site, LOG_WARN, "%s", text);
    stop();
    cr_assert_not_null(strstr(out, "xxx... suppressed=18446744073709551615\"}\n"));
    cr_assert_leq(strlen(out), 2048);
}

Test(log, lines_below_the_level_do_not_use_up_a_places_budget)
{
    log_init("world", LOG_WARN, LOG_TEXT);
    struct log_site site = {0};
    for (int i = 0; i < 1000; i++)
        log_site_line(&site, LOG_INFO, "unseen");
    cr_assert_eq(site.written + site.suppressed, 0);
}

Test(log, each_call_of_log_often_has_its_own_budget)
{
    log_init("world", LOG_INFO, LOG_TEXT);
    start();
    for (int i = 0; i < 2; i++) {
        log_often(LOG_INFO, "one");
        log_often(LOG_INFO, "two");
    }
    int lines = 0;
    for (const char *c = stop(); *c; c++)
        lines += *c == '\n';
    cr_assert_eq(lines, 4);
}

Test(log, a_sink_that_takes_nothing_harms_nobody)
{
    int saved = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    log_line(LOG_ERROR, "into the void");
    cr_assert_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    close(saved);
}
