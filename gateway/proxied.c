/* gateway/proxied.c: connections that a proxy brings for somebody else. May touch: common,
 * common/io, proto/proxy_head, clients. On trouble: see the header.
 */
#include "gateway/proxied.h"

#include "common/err.h"
#include "common/log.h"
#include "proto/proxy_head.h"

#include <unistd.h>

_Static_assert(PROXY_HEAD_MAX <= OPENING_BYTES_MAX, "a header is an opening");
_Static_assert(sizeof(struct host) == sizeof(((struct proxy_head *)0)->host), "one kind of host");

static void refuse(struct proxied *p, uint64_t *metric, const char *reason, const char *peer)
{
    (*metric)++;
    log_often(LOG_WARN, "proxy header refused reason=%s peer=%s", reason, peer);
    clients_release(p->clients);
}

static void proxied_done(void *arg, void *owner, int fd, const char *peer, struct span got, int err)
{
    struct proxied *p = arg;
    struct gateway_metrics *m = p->clients->metrics;
    struct proxy_head head;
    char named[HOST_TEXT_MAX];
    struct host host;

    if (err == E_TIMEOUT) {
        refuse(p, &m->proxy_late, "late", peer);
    } else if (err == E_CLOSED) {
        refuse(p, &m->proxy_gone, "gone", peer);
    } else if (err != 0 || proxy_head_read(got, &head) != 0) {
        if (err == 0)
            close(fd);
        refuse(p, &m->proxy_bad, "bad", peer);
    } else {
        clients_release(p->clients);
        if (!head.named) {
            m->proxy_itself++;
            p->admit(owner, fd, peer, true);
            return;
        }
        m->proxy_named++;
        memcpy(host.bytes, head.host, sizeof(host.bytes));
        host_print(&host, head.port, named);
        p->admit(owner, fd, named, false);
    }
}

static const struct openings_ops proxied_ops = {.want = proxy_head_bytes, .done = proxied_done};

int proxied_init(struct proxied *p, struct loop *loop, struct clients *clients, const char *from,
                 int64_t timeout_ns, proxied_admit_fn *admit)
{
    struct span bad;

    *p = (struct proxied){.clients = clients, .admit = admit};
    const int err = host_ranges_read(from, &p->from, &bad);
    ASSERT(err == 0); /* the flags were checked */
    if (p->from.n == 0)
        return 0;
    return openings_create(loop, PROXIED_MAX, timeout_ns, &proxied_ops, p, &p->openings);
}

void proxied_end(struct proxied *p)
{
    for (uint32_t n = p->openings ? openings_end(p->openings) : 0; n > 0; n--)
        clients_release(p->clients);
}

void proxied_fini(struct proxied *p)
{
    proxied_end(p);
    openings_destroy(p->openings);
    p->openings = NULL;
}

bool proxied_take(struct proxied *p, int fd, const char *peer, void *owner)
{
    struct gateway_metrics *m = p->clients->metrics;
    struct host host;

    if (!p->openings || host_read(peer, &host) != 0 || !host_ranges_have(&p->from, &host))
        return false;
    if (!clients_hold(p->clients)) {
        close(fd);
        m->refused_busy++;
        log_often(LOG_WARN, "client refused reason=busy peer=%s", peer);
    } else if (openings_take(p->openings, fd, peer, owner) != 0) {
        refuse(p, &m->proxy_full, "full", peer);
    }
    return true;
}
