/* tests/common/test_notify.c: what a service manager hears, over a real socket. */
#include "common/io/notify.h"

#include "tests/leak.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LONG_WAIT (10 * CLOCK_NS_PER_S)
#define BEAT_USEC "2000"

struct manager {
    struct loop *loop;
    int fd;
    char name[96]; /* as NOTIFY_SOCKET has it */
    char heard[64];
};

static void listen_at(struct manager *m)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t len = strlen(m->name);

    memcpy(at.sun_path, m->name, len);
    if (m->name[0] == '@')
        at.sun_path[0] = '\0';
    else
        len++;
    m->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    cr_assert_geq(m->fd, 0);
    cr_assert_eq(bind(m->fd, (struct sockaddr *)&at,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
                 0);
}

static void make(struct manager *m)
{
    *m = (struct manager){0};
    cr_assert_eq(loop_create(&m->loop), 0);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    snprintf(m->name, sizeof(m->name), "@aegis-test-notify-%ld", (long)getpid());
    listen_at(m);
    setenv("NOTIFY_SOCKET", m->name, 1);
}

static void unmake(struct manager *m)
{
    close(m->fd);
    loop_destroy(m->loop);
}

/* The next datagram that is there already; "": none. */
static const char *hear(struct manager *m)
{
    const ssize_t n = recv(m->fd, m->heard, sizeof(m->heard) - 1, 0);
    if (n < 0)
        cr_assert_eq(errno, EAGAIN);
    m->heard[n > 0 ? n : 0] = '\0';
    return m->heard;
}

/* Turn until something is heard. */
static const char *await(struct manager *m)
{
    const struct mono begin = clock_mono();
    while (hear(m)[0] == '\0' && clock_since(clock_mono(), begin) < LONG_WAIT)
        loop_turn(m->loop, CLOCK_NS_PER_MS);
    return m->heard;
}

Test(notify, ready_and_stopping_are_a_datagram_each)
{
    struct manager m;
    struct notify *n;
    make(&m);
    cr_assert_eq(notify_create(m.loop, &n), 0);
    cr_assert_not_null(n);
    cr_assert_str_eq(hear(&m), "");
    notify_ready(n);
    cr_assert_str_eq(hear(&m), "READY=1");
    notify_stopping(n);
    cr_assert_str_eq(hear(&m), "STOPPING=1");
    cr_assert_str_eq(hear(&m), "");
    notify_destroy(n);
    unmake(&m);
    TEST_NO_LEAKS();
}

Test(notify, a_socket_in_a_folder_is_reached_too)
{
    struct manager m;
    struct notify *n;
    char folder[] = "/tmp/aegis-notify-XXXXXX";
    make(&m);
    close(m.fd);
    cr_assert_not_null(mkdtemp(folder));
    snprintf(m.name, sizeof(m.name), "%s/socket", folder);
    listen_at(&m);
    setenv("NOTIFY_SOCKET", m.name, 1);
    cr_assert_eq(notify_create(m.loop, &n), 0);
    notify_ready(n);
    cr_assert_str_eq(hear(&m), "READY=1");
    notify_destroy(n);
    unmake(&m);
    unlink(m.name);
    rmdir(folder);
    TEST_NO_LEAKS();
}

Test(notify, without_a_manager_nothing_is_made_and_nothing_happens)
{
    struct manager m;
    struct notify *n;
    make(&m);
    unsetenv("NOTIFY_SOCKET");
    setenv("WATCHDOG_USEC", BEAT_USEC, 1);
    cr_assert_eq(notify_create(m.loop, &n), 0);
    cr_assert_null(n);
    notify_ready(n);
    notify_stopping(n);
    notify_destroy(n);
    setenv("NOTIFY_SOCKET", "", 1);
    cr_assert_eq(notify_create(m.loop, &n), 0);
    cr_assert_null(n);
    cr_assert_str_eq(hear(&m), "");
    unmake(&m);
    TEST_NO_LEAKS();
}

Test(notify, what_is_not_a_sockets_name_is_no_manager)
{
    static const char *const names[] = {"relative", "/", "@", "vsock:2:1234"};
    char longest[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
    struct manager m;
    struct notify *n;
    make(&m);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        setenv("NOTIFY_SOCKET", names[i], 1);
        cr_assert_eq(notify_create(m.loop, &n), 0);
        cr_assert_null(n, "%s", names[i]);
    }
    memset(longest, 'a', sizeof(longest));
    longest[0] = '@';
    longest[sizeof(longest) - 1] = '\0';
    setenv("NOTIFY_SOCKET", longest, 1);
    cr_assert_eq(notify_create(m.loop, &n), 0);
    cr_assert_null(n);
    unmake(&m);
    TEST_NO_LEAKS();
}

Test(notify, a_manager_that_went_away_is_borne_and_found_again)
{
    struct manager m;
    struct notify *n;
    make(&m);
    cr_assert_eq(notify_create(m.loop, &n), 0);
    close(m.fd);
    notify_ready(n);
    listen_at(&m);
    notify_stopping(n);
    cr_assert_str_eq(hear(&m), "STOPPING=1");
    notify_destroy(n);
    unmake(&m);
    TEST_NO_LEAKS();
}

Test(notify, a_manager_that_does_not_read_is_not_waited_for)
{
    struct manager m;
    struct notify *n;
    make(&m);
    cr_assert_eq(notify_create(m.loop, &n), 0);
    for (int i = 0; i < 100000; i++)
        notify_ready(n);
    cr_assert_str_eq(hear(&m), "READY=1");
    notify_destroy(n);
    unmake(&m);
    TEST_NO_LEAKS();
}

Test(notify, the_watchdog_hears_from_a_loop_that_turns_also_while_it_drains)
{
    struct manager m;
    struct notify *n;
    make(&m);
    setenv("WATCHDOG_USEC", BEAT_USEC, 1);
    cr_assert_eq(notify_create(m.loop, &n), 0);
    cr_assert_str_eq(await(&m), "WATCHDOG=1");
    cr_assert_str_eq(await(&m), "WATCHDOG=1");
    notify_stopping(n);
    while (strcmp(await(&m), "STOPPING=1") != 0)
        cr_assert_str_eq(m.heard, "WATCHDOG=1");
    cr_assert_str_eq(await(&m), "WATCHDOG=1");
    notify_destroy(n);
    unmake(&m);
    TEST_NO_LEAKS();
}

Test(notify, a_watchdog_for_us_by_its_process_id_hears_us)
{
    struct manager m;
    struct notify *n;
    char pid[32];
    make(&m);
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    setenv("WATCHDOG_PID", pid, 1);
    setenv("WATCHDOG_USEC", BEAT_USEC, 1);
    cr_assert_eq(notify_create(m.loop, &n), 0);
    cr_assert_str_eq(await(&m), "WATCHDOG=1");
    notify_destroy(n);
    unmake(&m);
    TEST_NO_LEAKS();
}

/* Three turns of a beat's length are enough for a beat that should not be. */
static void hears_no_beat(const char *usec, const char *pid)
{
    struct manager m;
    struct notify *n;
    make(&m);
    setenv("WATCHDOG_USEC", usec, 1);
    if (pid)
        setenv("WATCHDOG_PID", pid, 1);
    cr_assert_eq(notify_create(m.loop, &n), 0);
    cr_assert_not_null(n);
    for (int i = 0; i < 3; i++)
        loop_turn(m.loop, 2 * CLOCK_NS_PER_MS);
    cr_assert_str_eq(hear(&m), "", "usec=%s", usec);
    notify_ready(n);
    cr_assert_str_eq(hear(&m), "READY=1");
    notify_destroy(n);
    unmake(&m);
}

Test(notify, a_watchdog_that_watches_somebody_else_hears_nothing)
{
    hears_no_beat(BEAT_USEC, "1");
    hears_no_beat(BEAT_USEC, "me");
    TEST_NO_LEAKS();
}

Test(notify, a_time_that_is_none_is_no_watchdog)
{
    static const char *const times[] = {
        "", "0", "-1", "5s", "soon", "99999999999999999999", "18446744073709551615"};
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        hears_no_beat(times[i], NULL);
    TEST_NO_LEAKS();
}
