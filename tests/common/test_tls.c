/* tests/common/test_tls.c: what a server presents, what a client trusts, tickets and versions.
 * The peer is OpenSSL alone.
 */
#include "common/io/tls.h"

#include "common/parts.h"

#ifdef PARTS_TLS

#include "common/err.h"
#include "tests/common/tls_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- files -------------------------------------------------------------------------------------
 */

static void expect_refused(const char *cert, const char *key, int err, bool key_at_fault,
                           const char *text)
{
    struct tls_why why;
    struct tls *t = NULL;

    cr_assert_eq(tls_server_create(cert, key, &t, &why), err, "%s", why.text);
    cr_assert_null(t);
    cr_assert_eq(why.key, key_at_fault, "%s", why.text);
    cr_assert_not_null(strstr(why.text, text), "%s", why.text);
    cr_assert_not_null(strstr(why.text, key_at_fault ? key : cert), "names the file: %s", why.text);
    cr_assert_null(strchr(why.text, '\n'), "one line");
}

Test(tls, a_file_that_will_not_do_is_told_in_one_line)
{
    struct certs a, b;
    certs_make(&a, "a");
    certs_make(&b, "b");
    expect_refused("/nowhere/cert.pem", a.key, E_IO, false, "No such file");
    expect_refused(a.cert, "/nowhere/key.pem", E_IO, true, "No such file");
    expect_refused(a.dir, a.key, E_IO, false, "Is a directory");
    expect_refused("/dev/zero", a.key, E_IO, false, "no regular file");
    expect_refused(a.cert, b.key, E_BAD, true, "does not belong to the certificate");
    expect_refused(a.key, a.key, E_BAD, false, "holds no certificate");
    expect_refused(a.cert, a.cert, E_BAD, true, "holds no private key");
    certs_encrypt(&a);
    expect_refused(a.cert, a.key, E_BAD, true, "is encrypted");
    certs_write(a.key, "");
    expect_refused(a.cert, a.key, E_BAD, true, "holds no private key");
    certs_write(a.cert, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    expect_refused(a.cert, a.key, E_BAD, false, "holds no certificate");
    certs_end(&a);
    certs_end(&b);
    TEST_NO_LEAKS();
}

Test(tls, a_file_that_may_not_be_read_is_told)
{
    struct certs a;
    if (geteuid() == 0)
        cr_skip("root reads everything");
    certs_make(&a, "a");
    chmod(a.key, 0);
    expect_refused(a.cert, a.key, E_IO, true, "Permission denied");
    certs_end(&a);
}

Test(tls, facts_of_what_is_presented)
{
    struct tls_why why;
    struct certs c;
    struct tls *t;
    certs_make(&c, "somebody");
    cr_assert_eq(tls_server_create(c.cert, c.key, &t, &why), 0, "%s", why.text);
    struct tls_facts facts = tls_facts_now(t);
    cr_assert_str_eq(facts.subject, "/CN=somebody");
    cr_assert_not(facts.expired);
    cr_assert_gt(facts.expires_s, 1700000000);
    certs_renew(&c, "late", true);
    cr_assert_eq(tls_reload(t, &why), 0);
    facts = tls_facts_now(t);
    cr_assert_str_eq(facts.subject, "/CN=late");
    cr_assert(facts.expired);
    tls_destroy(t);
    certs_end(&c);
    TEST_NO_LEAKS();
}

Test(tls, a_reload_counts_for_new_connections_and_a_bad_one_changes_nothing)
{
    struct tls_rig r;
    struct tls_peer p;
    struct tls_why why;
    tls_rig_make(&r, NULL);
    cr_assert_not_null(tls_rig_meet(&r, &p, 0, NULL)->seal);
    cr_assert(tls_peer_sees(&p, "first"));
    tls_peer_end(&p);

    certs_renew(&r.certs, "second", false);
    cr_assert_eq(tls_reload(r.tls, &why), 0, "%s", why.text);
    cr_assert_not_null(tls_rig_meet(&r, &p, 0, NULL)->seal);
    cr_assert(tls_peer_sees(&p, "second"));
    tls_peer_end(&p);

    certs_write(r.certs.key, "nothing");
    cr_assert_eq(tls_reload(r.tls, &why), E_BAD);
    cr_assert(why.key);
    cr_assert_str_eq(tls_facts_now(r.tls).subject, "/CN=second");
    cr_assert_not_null(tls_rig_meet(&r, &p, 0, NULL)->seal);
    cr_assert(tls_peer_sees(&p, "second"));
    tls_peer_end(&p);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

/* --- versions ----------------------------------------------------------------------------------
 */

Test(tls, versions_1_2_and_1_3_are_spoken_without_compression)
{
    struct tls_rig r;
    struct tls_peer p;
    tls_rig_make(&r, NULL);
    for (int version = TLS_PEER_1_2; version <= TLS_PEER_1_3; version++) {
        cr_assert_not_null(tls_rig_meet(&r, &p, version, NULL)->seal);
        cr_assert_eq(tls_peer_version(&p), version);
        cr_assert_not(tls_peer_compresses(&p));
        tls_peer_end(&p);
    }
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

Test(tls, older_versions_are_refused)
{
    struct tls_rig r;
    struct tls_peer p;
    tls_rig_make(&r, NULL);
    for (int version = TLS_PEER_1_0; version <= TLS_PEER_1_1; version++) {
        const struct tls_outcome *o = tls_rig_meet(&r, &p, version, NULL);
        cr_assert_null(o->seal);
        cr_assert_eq(o->fault, TLS_FAULT_VERSION, "%s", o->text);
        tls_peer_end(&p);
    }
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

/* --- tickets -----------------------------------------------------------------------------------
 */

/* Have the ticket of TLS 1.3, which comes behind the handshake. */
static void take_ticket(struct tls_peer *p)
{
    char byte;
    cr_assert_eq(tls_peer_recv(p, &byte, 1), 0);
    cr_assert_not_null(p->ticket);
}

Test(tls, a_ticket_resumes_also_after_a_reload)
{
    struct tls_rig r;
    struct tls_peer first, second, third;
    struct tls_why why;
    for (int version = TLS_PEER_1_2; version <= TLS_PEER_1_3; version++) {
        tls_rig_make(&r, NULL);
        struct tls_outcome *o = tls_rig_meet(&r, &first, version, NULL);
        take_ticket(&first);
        cr_assert_not(tls_resumed(o->seal));
        o = tls_rig_meet(&r, &second, version, &first);
        take_ticket(version == TLS_PEER_1_3 ? &second : &first);
        cr_assert(tls_peer_resumed(&second));
        cr_assert(tls_resumed(o->seal));

        certs_renew(&r.certs, "second", false);
        cr_assert_eq(tls_reload(r.tls, &why), 0);
        /* OpenSSL's client uses a ticket of 1.3 once only. */
        o = tls_rig_meet(&r, &third, version, version == TLS_PEER_1_3 ? &second : &first);
        cr_assert(tls_peer_resumed(&third), "version %x", (unsigned)version);
        cr_assert(tls_resumed(o->seal));
        tls_peer_end(&first);
        tls_peer_end(&second);
        tls_peer_end(&third);
        tls_rig_end(&r);
    }
    TEST_NO_LEAKS();
}

Test(tls, a_ticket_of_another_process_means_a_whole_handshake)
{
    struct tls_rig one, other;
    struct tls_peer first, second;
    tls_rig_make(&one, NULL);
    tls_rig_make(&other, NULL);
    tls_rig_meet(&one, &first, TLS_PEER_1_3, NULL);
    take_ticket(&first);
    cr_assert_not_null(tls_rig_meet(&other, &second, TLS_PEER_1_3, &first)->seal);
    cr_assert_not(tls_peer_resumed(&second));
    tls_peer_end(&first);
    tls_peer_end(&second);
    tls_rig_end(&one);
    tls_rig_end(&other);
    TEST_NO_LEAKS();
}

/* The key that was before is good for one more turn, and no longer. */
Test(tls, ticket_keys_change_and_old_tickets_end)
{
    struct tls_rig r;
    struct tls_peer old[2], now[2];
    tls_rig_make(&r, NULL);
    for (int i = 0; i < 2; i++) {
        tls_rig_meet(&r, &old[i], TLS_PEER_1_3, NULL);
        take_ticket(&old[i]);
    }
    struct mono later = clock_add(loop_now(r.loop), TLS_TICKET_NS);
    for (int i = 0; i < 2; i++) {
        tls_seal_free(tls_seal(r.tls, 0, NULL, later));
        tls_rig_meet(&r, &now[i], TLS_PEER_1_3, &old[i]);
        cr_assert_eq(tls_peer_resumed(&now[i]), i == 0, "after %d changes", i + 1);
        later = clock_add(later, TLS_TICKET_NS);
    }
    for (int i = 0; i < 2; i++) {
        tls_peer_end(&old[i]);
        tls_peer_end(&now[i]);
    }
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

/* --- a client ----------------------------------------------------------------------------------
 */

static const struct tls_outcome *reach(struct tls_rig *r, const struct certs *c, const char *host)
{
    struct tls_peer p;
    tls_peer_server(&p, tls_rig_reach(r, host), c->cert, c->key);
    tls_rig_shake(r, &p, r->n + 1);
    tls_peer_end(&p);
    return &r->outcomes[r->n - 1];
}

Test(tls, a_client_knows_whom_it_trusts_and_whom_it_means)
{
    struct tls_rig r;
    struct certs other;
    tls_rig_make_client(&r, false);
    certs_make(&other, "other");
    cr_assert_not_null(reach(&r, &r.certs, "127.0.0.1")->seal);
    cr_assert_not_null(reach(&r, &r.certs, "localhost")->seal);
    const struct tls_outcome *o = reach(&r, &r.certs, "127.0.0.2");
    cr_assert_eq(o->fault, TLS_FAULT_TRUST, "another address: %s", o->text);
    o = reach(&r, &r.certs, "example.org");
    cr_assert_eq(o->fault, TLS_FAULT_TRUST, "another name: %s", o->text);
    cr_assert_not_null(strstr(o->text, "ostname"), "%s", o->text);
    o = reach(&r, &other, "localhost");
    cr_assert_eq(o->fault, TLS_FAULT_TRUST, "another root: %s", o->text);
    certs_renew(&r.certs, "first", true);
    o = reach(&r, &r.certs, "localhost");
    cr_assert_eq(o->fault, TLS_FAULT_TRUST, "expired: %s", o->text);
    certs_end(&other);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

Test(tls, an_insecure_client_takes_anybody)
{
    struct tls_rig r;
    struct certs other;
    tls_rig_make_client(&r, true);
    certs_make(&other, "other");
    certs_renew(&other, "other", true);
    cr_assert_not_null(reach(&r, &other, "example.org")->seal);
    certs_end(&other);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

Test(tls, a_file_of_trust_that_will_not_do_is_told)
{
    struct tls_why why;
    struct certs c;
    struct tls *t = NULL;
    certs_make(&c, "a");
    cr_assert_eq(tls_client_create("/nowhere", false, &t, &why), E_IO);
    cr_assert_str_eq(why.text, "/nowhere: No such file or directory");
    certs_write(c.cert, "nothing");
    cr_assert_eq(tls_client_create(c.cert, false, &t, &why), E_BAD);
    cr_assert_not_null(strstr(why.text, "holds no certificate"), "%s", why.text);
    cr_assert_null(t);
    certs_end(&c);
    TEST_NO_LEAKS();
}

#endif
