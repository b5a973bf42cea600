/* tests/bench/load_ticks.c: what a world says of its ticks on its admin page.
 * May touch: sockets. On trouble: see load_ticks.h.
 */
#include "tests/bench/load_ticks.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAGE_MAX (256 << 10)
#define BUCKET   "aegis_world_tick_seconds_bucket{le=\""
#define OVERRUNS "\naegis_world_tick_overruns_total "
#define SKIPPED  "\naegis_world_ticks_skipped_total "

#define ZONES   "\naegis_world_cluster_zones "
#define GHOSTS  "\naegis_world_ghosts "
#define HANDED  "\naegis_world_handovers_total{step=\"taken\"} "
#define BORDERS "\naegis_world_border_bytes_total "

static bool get(const char *addr, char *page, size_t cap)
{
    static const char ask[] = "GET /metrics HTTP/1.1\r\nHost: world\r\nConnection: close\r\n\r\n";
    const char *colon = strrchr(addr, ':');
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {5, 0};
    size_t have = 0;
    ssize_t n = 0;

    if (fd < 0 || !colon)
        return false;
    a.sin_port = htons((uint16_t)atoi(colon + 1));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
        send(fd, ask, sizeof(ask) - 1, MSG_NOSIGNAL) == (ssize_t)sizeof(ask) - 1) {
        while (have < cap - 1 && (n = recv(fd, page + have, cap - 1 - have, 0)) > 0)
            have += (size_t)n;
    }
    close(fd);
    page[have] = '\0';
    return have > 0 && n == 0;
}

static double number_after(const char *page, const char *name)
{
    const char *at = strstr(page, name);

    return at ? atof(at + strlen(name)) : 0;
}

bool load_ticks_read(const char *addr, struct load_ticks *out)
{
    char *page = malloc(PAGE_MAX);
    bool ok = page && get(addr, page, PAGE_MAX);

    *out = (struct load_ticks){0};
    if (ok) {
        out->overruns = number_after(page, OVERRUNS);
        out->skipped = number_after(page, SKIPPED);
        out->zones = number_after(page, ZONES);
        out->ghosts = number_after(page, GHOSTS);
        out->handed = number_after(page, HANDED);
        out->border_bytes = number_after(page, BORDERS);
        for (const char *at = page;
             out->bounds < LOAD_TICKS_BOUNDS && (at = strstr(at, BUCKET)) != NULL;) {
            char *end;
            at += strlen(BUCKET);
            if (strncmp(at, "+Inf", 4) == 0)
                break;
            out->le[out->bounds] = strtod(at, &end);
            out->count[out->bounds++] = atof(end + strlen("\"} "));
        }
    }
    free(page);
    return ok && out->bounds > 0;
}

double load_ticks_quantile(const struct load_ticks *before, const struct load_ticks *after,
                           double q)
{
    unsigned last = after->bounds - 1;
    double all = after->count[last] - before->count[last], below = 0, from = 0;

    for (unsigned i = 0; i <= last; i++) {
        double count = after->count[i] - before->count[i];
        if (count > below && count >= q * all)
            return from + (after->le[i] - from) * (q * all - below) / (count - below);
        below = count;
        from = after->le[i];
    }
    return from;
}
