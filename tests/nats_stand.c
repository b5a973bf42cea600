/* tests/nats_stand.c: see the header. */
#include "tests/nats_stand.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *server_path(void)
{
    static const char *const paths[] = {"/usr/sbin/nats-server", "/usr/bin/nats-server",
                                        "/usr/local/bin/nats-server"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (access(paths[i], X_OK) == 0)
            return paths[i];
    }
    return NULL;
}

void nats_stand_serve(struct nats_stand *s)
{
    char host[PROCESS_ADDR_MAX];
    char *colon;

    snprintf(host, sizeof(host), "%s", s->addr);
    colon = strrchr(host, ':');
    *colon = '\0';
    s->server = process_start(server_path(), PROCESS_ARGS("-a", host, "-p", colon + 1, "-js", "-sd",
                                                          s->dir, s->password ? "--user" : NULL,
                                                          "aegis", "--pass", s->password));
    process_await_log(s->server, "Server is ready", 1);
}

bool nats_stand_up(struct nats_stand *s, bool start)
{
    const char *tmp = getenv("TMPDIR");

    *s = (struct nats_stand){0};
    if (!server_path()) {
        fprintf(stderr, "nats-server is not installed: not tested\n");
        return false;
    }
    snprintf(s->dir, sizeof(s->dir), "%s/nats-XXXXXX", tmp ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(s->dir));
    s->addr = process_free_port();
    snprintf(s->url, sizeof(s->url), "nats://%s", s->addr);
    if (start)
        nats_stand_serve(s);
    return true;
}

void nats_stand_forget(struct nats_stand *s)
{
    char command[300];

    snprintf(command, sizeof(command), "rm -rf '%s'", s->dir);
    cr_assert_eq(system(command), 0); /* NOLINT: a path of our own */
}

void nats_stand_wipe(struct nats_stand *s)
{
    process_kill(s->server);
    nats_stand_forget(s);
    nats_stand_serve(s);
}

void nats_stand_down(struct nats_stand *s)
{
    process_end_all();
    nats_stand_forget(s);
}
