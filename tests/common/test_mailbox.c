/* tests/common/test_mailbox.c: records between threads. */
#include "common/io/mailbox.h"

#include "common/clock.h"
#include "common/err.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <pthread.h>

#define WRITERS 3
#define RECORDS 20000

static int put(struct mailbox *m, uint32_t kind, const char *text, bool *first)
{
    struct span piece = span_text(text);

    return mailbox_put(m, kind, &piece, 1, first);
}

static void must_take(struct mailbox *m, uint32_t kind, const char *text)
{
    struct span bytes;
    uint32_t got;

    cr_assert(mailbox_take(m, &got, &bytes));
    cr_assert_eq(got, kind);
    cr_assert(span_equal(bytes, span_text(text)), "want %s", text);
}

Test(mailbox, records_come_in_order_with_their_kinds)
{
    struct mailbox *m;
    struct span pieces[] = {span_text("ab"), span_text(""), span_text("c")}, bytes;
    uint32_t kind;

    cr_assert_eq(mailbox_create(256, &m), 0);
    cr_assert_eq(put(m, 1, "one", NULL), 0);
    cr_assert_eq(mailbox_put(m, 2, pieces, 3, NULL), 0);
    cr_assert_eq(mailbox_put(m, 3, NULL, 0, NULL), 0);
    must_take(m, 1, "one");
    must_take(m, 2, "abc");
    must_take(m, 3, "");
    cr_assert(!mailbox_take(m, &kind, &bytes));
    mailbox_destroy(m);
}

Test(mailbox, the_first_of_a_buffer_wakes_the_reader)
{
    struct mailbox *m;
    bool first;

    cr_assert_eq(mailbox_create(256, &m), 0);
    cr_assert_eq(put(m, 1, "a", &first), 0);
    cr_assert(first);
    cr_assert_eq(put(m, 1, "b", &first), 0);
    cr_assert(!first);
    must_take(m, 1, "a");
    cr_assert_eq(put(m, 1, "c", &first), 0);
    cr_assert(first, "b is being read, but c lies in the other buffer");
    must_take(m, 1, "b");
    must_take(m, 1, "c");
    mailbox_destroy(m);
}

Test(mailbox, what_does_not_fit_is_refused_and_changes_nothing)
{
    struct mailbox *m;

    cr_assert_eq(mailbox_create(2 * MAILBOX_HEAD + 8, &m), 0);
    cr_assert_eq(put(m, 1, "1234", NULL), 0);
    cr_assert_eq(put(m, 2, "12345", NULL), E_FULL);
    cr_assert_eq(put(m, 3, "1234", NULL), 0);
    cr_assert_eq(put(m, 4, "", NULL), E_FULL);
    must_take(m, 1, "1234");
    cr_assert_eq(put(m, 5, "12345", NULL), 0, "the other buffer is empty");
    must_take(m, 3, "1234");
    must_take(m, 5, "12345");
    mailbox_destroy(m);
    mailbox_destroy(NULL);
}

struct writer {
    struct mailbox *m;
    uint32_t kind, done;
    pthread_t thread;
};

static void *write_all(void *arg)
{
    struct writer *w = arg;

    for (uint32_t i = 0; i < RECORDS; i++) {
        struct span piece = span_of(&i, sizeof(i));

        if (mailbox_put_wait(w->m, w->kind, &piece, 1, NULL) != 0)
            break;
        w->done++;
    }
    return NULL;
}

Test(mailbox, writers_that_wait_lose_nothing_and_keep_their_order)
{
    struct writer writers[WRITERS];
    uint32_t next[WRITERS] = {0}, kind, number, taken = 0;
    struct mailbox *m;
    struct span bytes;

    cr_assert_eq(mailbox_create(1024, &m), 0);
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.m = m, .kind = i};
        cr_assert_eq(pthread_create(&writers[i].thread, NULL, write_all, &writers[i]), 0);
    }
    while (taken < WRITERS * RECORDS) {
        mailbox_wait(m, CLOCK_NS_PER_S);
        while (mailbox_take(m, &kind, &bytes)) {
            memcpy(&number, bytes.p, sizeof(number));
            cr_assert_eq(number, next[kind]++);
            taken++;
        }
    }
    for (uint32_t i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    mailbox_destroy(m);
}

Test(mailbox, who_waits_is_let_go_at_the_close)
{
    struct writer w = {.kind = 1};
    struct mailbox *m;

    cr_assert_eq(mailbox_create(64, &m), 0);
    w.m = m;
    cr_assert_eq(pthread_create(&w.thread, NULL, write_all, &w), 0);
    mailbox_wait(m, 10 * CLOCK_NS_PER_S);
    mailbox_close(m);
    pthread_join(w.thread, NULL);
    cr_assert_lt(w.done, RECORDS);
    cr_assert(mailbox_closed(m));
    mailbox_wait(m, 10 * CLOCK_NS_PER_S); /* comes back at once */
    mailbox_destroy(m);
}
