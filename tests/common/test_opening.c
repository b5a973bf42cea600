/* tests/common/test_opening.c: the first bytes of a connection, and not one more. */
#include "common/io/opening.h"

#include "common/err.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Wanted: a byte that says how many follow it. */
static size_t want(struct span got)
{
    if (got.n == 0)
        return 1;
    return got.p[0] < 9 ? 1 + (size_t)got.p[0] : 0;
}

struct outcome {
    int calls, err, fd;
    uint8_t got[16];
    size_t n;
};

static void done(void *arg, void *owner, int fd, const char *peer, struct span got, int err)
{
    struct outcome *o = owner;

    cr_assert_str_eq(arg, "arg");
    cr_assert_str_eq(peer, "peer:1");
    o->calls++;
    o->err = err;
    o->fd = fd;
    o->n = got.n;
    if (got.n > 0)
        memcpy(o->got, got.p, got.n);
}

static const struct openings_ops ops = {.want = want, .done = done};

struct open {
    struct loop *loop;
    struct openings *all;
    int theirs, ours;
    struct outcome out;
};

static void begin(struct open *o, uint32_t most, int64_t timeout_ns)
{
    int pair[2];

    *o = (struct open){0};
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    o->theirs = pair[0];
    o->ours = pair[1];
    cr_assert_eq(loop_create(&o->loop), 0);
    cr_assert_eq(openings_create(o->loop, most, timeout_ns, &ops, "arg", &o->all), 0);
}

static void end(struct open *o)
{
    openings_destroy(o->all);
    loop_turn(o->loop, 0);
    loop_destroy(o->loop);
    close(o->theirs);
}

static void until_done(struct open *o)
{
    for (int i = 0; i < 1000 && o->out.calls == 0; i++)
        loop_turn(o->loop, 10 * CLOCK_NS_PER_MS);
    cr_assert_eq(o->out.calls, 1);
}

Test(opening, what_is_wanted_is_taken_and_the_rest_left_in_the_socket)
{
    struct open o;
    char rest[8] = "";

    begin(&o, 1, 0);
    cr_assert_eq(openings_take(o.all, o.ours, "peer:1", &o.out), 0);
    cr_assert_eq(write(o.theirs, "\3abcdef", 7), 7);
    until_done(&o);
    cr_assert_eq(o.out.err, 0);
    cr_assert_eq(o.out.n, 4u);
    cr_assert_arr_eq(o.out.got, "\3abc", 4);
    cr_assert_eq(read(o.out.fd, rest, sizeof(rest)), 3);
    cr_assert_str_eq(rest, "def");
    close(o.out.fd);
    end(&o);
    TEST_NO_LEAKS();
}

Test(opening, it_may_come_a_byte_at_a_time)
{
    struct open o;

    begin(&o, 1, 0);
    cr_assert_eq(openings_take(o.all, o.ours, "peer:1", &o.out), 0);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(o.out.calls, 0);
        cr_assert_eq(write(o.theirs, "\3abc" + i, 1), 1);
        loop_turn(o.loop, 100 * CLOCK_NS_PER_MS);
    }
    until_done(&o);
    cr_assert_eq(o.out.err, 0);
    close(o.out.fd);
    end(&o);
    TEST_NO_LEAKS();
}

/* Nobody holds the socket any more. */
static void must_be_closed(struct open *o, int err)
{
    char byte;

    until_done(o);
    cr_assert_eq(o->out.err, err);
    cr_assert_eq(o->out.fd, -1);
    const ssize_t r = read(o->theirs, &byte, 1);
    cr_assert(r == 0 || (r < 0 && errno == ECONNRESET));
}

Test(opening, what_is_wrong_late_or_cut_off_is_closed)
{
    struct open o;

    begin(&o, 1, 0);
    cr_assert_eq(openings_take(o.all, o.ours, "peer:1", &o.out), 0);
    cr_assert_eq(write(o.theirs, "xyz", 3), 3);
    must_be_closed(&o, E_BAD);
    end(&o);

    begin(&o, 1, 20 * CLOCK_NS_PER_MS);
    cr_assert_eq(openings_take(o.all, o.ours, "peer:1", &o.out), 0);
    cr_assert_eq(write(o.theirs, "\3a", 2), 2);
    must_be_closed(&o, E_TIMEOUT);
    end(&o);

    begin(&o, 1, 0);
    cr_assert_eq(openings_take(o.all, o.ours, "peer:1", &o.out), 0);
    cr_assert_eq(write(o.theirs, "\3a", 2), 2);
    shutdown(o.theirs, SHUT_WR);
    must_be_closed(&o, E_CLOSED);
    end(&o);
    TEST_NO_LEAKS();
}

Test(opening, one_too_many_is_closed_and_so_are_all_at_the_end_without_a_word)
{
    struct open o, more;

    begin(&o, 1, 0);
    begin(&more, 1, 0);
    cr_assert_eq(openings_take(o.all, o.ours, "peer:1", &o.out), 0);
    cr_assert_eq(openings_take(o.all, more.ours, "peer:1", &more.out), E_FULL);
    cr_assert_eq(openings_end(o.all), 1u);
    cr_assert_eq(openings_end(o.all), 0u);
    cr_assert_eq(o.out.calls + more.out.calls, 0);
    end(&more);
    end(&o);
    TEST_NO_LEAKS();
}
