/* tests/e2e/probe.c: what a process under test counts. May touch: tests/process, sockets, /proc.
 * On trouble: the test at hand fails.
 */
#include "tests/e2e/probe.h"

#include "common/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define PAGE_MAX (256u << 10)

struct sockaddr_in probe_admin(const struct process *p)
{
    static const char mark[] = "admin on ";
    struct mono deadline = process_deadline(PROCESS_PATIENCE_MS);
    struct sockaddr_in in = {.sin_family = AF_INET};
    char text[PROCESS_ADDR_MAX];
    struct addr a;
    const char *why, *at, *end;

    for (;;) {
        struct span log = process_log(p);
        at = memmem(log.p, log.n, mark, sizeof(mark) - 1);
        end = at ? memchr(at, '\n', log.n - (size_t)(at - (const char *)log.p)) : NULL;
        if (end)
            break;
        process_rest(deadline, "the operators' address");
    }
    at += sizeof(mark) - 1;
    snprintf(text, sizeof(text), "%.*s", (int)(end - at), at);
    if (addr_parse(text, &a, &why) != 0 || inet_pton(AF_INET, a.host, &in.sin_addr) != 1)
        process_fail("\"%s\" is no address", text);
    in.sin_port = htons(a.port);
    return in;
}

/* The whole answer, NUL-terminated; lives until the next call. */
static const char *ask(const struct process *p, const char *request)
{
    static char page[PAGE_MAX];
    struct sockaddr_in in = probe_admin(p);
    struct timeval patience = {.tv_sec = PROCESS_PATIENCE_MS / 1000};
    size_t n = 0;
    ssize_t got;

    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&in, sizeof(in)) != 0 ||
        send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
        process_fail("no answer of %s: %s", p->argv[1], strerror(errno));
    while ((got = recv(fd, page + n, PAGE_MAX - 1 - n, 0)) > 0)
        n += (size_t)got;
    close(fd);
    page[n] = '\0';
    if (got < 0)
        process_fail("no answer of %s: %.80s", p->argv[1], page);
    return page;
}

static const char *scrape(const struct process *p)
{
    const char *page = ask(p, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");

    if (!strstr(page, " 200 "))
        process_fail("no metrics of %s: %.80s", p->argv[1], page);
    return page;
}

const char *probe_get(const struct process *p, const char *path)
{
    char request[256];

    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
             path);
    return ask(p, request);
}

const char *probe_post(const struct process *p, const char *path, const char *token,
                       const char *body)
{
    char request[2048];

    snprintf(
        request, sizeof(request),
        "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n"
        "%s",
        path, token, strlen(body), body);
    return ask(p, request);
}

static uint64_t value_in(const char *page, const char *series)
{
    size_t n = strlen(series);

    for (const char *line = page; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, series, n) == 0 && line[n] == ' ')
            return (uint64_t)strtod(line + n, NULL);
    }
    process_fail("there is no metric %s", series);
}

uint64_t probe_metric(const struct process *p, const char *series)
{
    return value_in(scrape(p), series);
}

uint64_t probe_sum(const struct process *p, const char *const *series)
{
    const char *page = scrape(p);
    uint64_t sum = 0;

    for (size_t i = 0; series[i]; i++)
        sum += value_in(page, series[i]);
    return sum;
}

void probe_await_least(const struct process *p, const char *series, uint64_t least, int64_t ms)
{
    struct mono deadline = process_deadline(ms);

    while (probe_metric(p, series) < least)
        process_rest(deadline, series);
}

void probe_await_most(const struct process *p, const char *series, uint64_t most, int64_t ms)
{
    struct mono deadline = process_deadline(ms);

    while (probe_metric(p, series) > most)
        process_rest(deadline, series);
}

uint64_t probe_cpu_ms(const struct process *p)
{
    char path[64];
    unsigned long long user = 0, kernel = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)p->pid);
    FILE *f = fopen(path, "re");
    if (!f || fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
                     &kernel) != 2)
        process_fail("%s cannot be read", path);
    fclose(f);
    return (user + kernel) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}
