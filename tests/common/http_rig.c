/* tests/common/http_rig.c: see the header. */
#include "tests/common/http_rig.h"

#include "common/log.h"

#include <criterion/criterion.h>
#include <string.h>

void http_rig_init(struct http_rig *r, struct http_config c)
{
    char why[256];

    *r = (struct http_rig){0};
    log_init("test", LOG_OFF, LOG_TEXT);
    cr_assert_eq(loop_create(&r->loop), 0);
    c.addr = "127.0.0.1:0";
    c.arg = r;
    cr_assert_eq(http_create(r->loop, &c, &r->http, why, sizeof(why)), 0, "%s", why);
}

void http_rig_fini(struct http_rig *r)
{
    http_destroy(r->http);
    loop_destroy(r->loop);
}

int http_rig_dial(struct http_rig *r)
{
    return http_ask_dial(http_addr(r->http));
}

const char *http_rig_hear(struct http_rig *r, int fd)
{
    http_ask_hear(r->loop, fd, r->reply);
    return r->reply;
}

const char *http_rig_ask(struct http_rig *r, const char *request)
{
    http_ask(r->loop, http_addr(r->http), request, r->reply);
    return r->reply;
}

bool http_rig_begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}
