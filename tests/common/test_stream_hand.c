/* tests/common/test_stream_hand.c: a stream that goes to another owner. */
#include "tests/common/stream_rig.h"

#include "common/err.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The second owner: keeps what it is handed. */
struct heir {
    uint8_t got[64];
    size_t n;
    uint32_t closed;
};

static size_t heir_data(void *arg, struct span bytes)
{
    struct heir *h = arg;
    cr_assert_leq(h->n + bytes.n, sizeof(h->got));
    memcpy(h->got + h->n, bytes.p, bytes.n);
    h->n += bytes.n;
    return bytes.n;
}

static void heir_closed(void *arg, enum stream_end why)
{
    struct heir *h = arg;
    (void)why;
    h->closed++;
}

static const struct stream_ops heir_ops = {.data = heir_data, .closed = heir_closed};
static const struct stream_limits heir_limits = {.keep_max = 32, .counted = true};

/* The first owner hands it on from within its own `data`. */
static size_t donor_data(void *arg, struct span bytes)
{
    struct stream **s = arg;
    static struct heir *to;

    if (bytes.n == sizeof(to)) { /* told whom */
        memcpy(&to, bytes.p, sizeof(to));
        return bytes.n;
    }
    cr_assert_eq(stream_hand(*s, &heir_limits, &heir_ops, to), 0);
    return 2;
}

static void donor_closed(void *arg, enum stream_end why)
{
    (void)arg;
    (void)why;
    cr_assert_fail("it has another owner");
}

static const struct stream_ops donor_ops = {.data = donor_data, .closed = donor_closed};
static const struct stream_limits donor_limits = {.keep_max = 64, .counted = true};

Test(stream_hand, what_was_kept_and_what_comes_is_the_second_owners)
{
    struct rig r;
    struct heir heir = {0};

    rig_make(&r, &rig_roomy);
    r.frame = 4;
    rig_send(&r, "abcdef", 6);
    rig_turn(&r);
    cr_assert(span_equal(rig_got(&r), span_text("abcd")));
    cr_assert_eq(stream_hand(r.stream, &heir_limits, &heir_ops, &heir), 0);
    rig_turn(&r);
    cr_assert(span_equal(span_of(heir.got, heir.n), span_text("ef")));
    rig_send(&r, "gh", 2);
    rig_turn(&r);
    cr_assert(span_equal(span_of(heir.got, heir.n), span_text("efgh")));
    cr_assert_eq(r.calls, 1);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_hand, the_only_stream_of_a_kind_is_handed_on_while_it_reads)
{
    struct rig r;
    struct heir heir = {0}, *to = &heir;
    struct stream *s;
    int fds[2];

    rig_make(&r, &rig_roomy);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    cr_assert_eq(stream_create(r.loop, fds[0], &donor_limits, &donor_ops, &s, &s), 0);
    cr_assert_eq(send(fds[1], &to, sizeof(to), 0), (ssize_t)sizeof(to));
    rig_turn(&r);
    cr_assert_eq(stream_write(s, span_text("hello")), 0);
    cr_assert_eq(send(fds[1], "..left", 6, 0), 6);
    rig_turn(&r);
    cr_assert(span_equal(span_of(heir.got, heir.n), span_text("left")), "without another byte");
    close(fds[1]);
    rig_turn(&r);
    rig_turn(&r);
    cr_assert_eq(heir.closed, 1);
    stream_destroy(s);
    rig_end(&r);
    TEST_NO_LEAKS();
}
