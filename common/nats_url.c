/* common/nats_url.c: see the header. */
#include "common/nats_url.h"

#include "common/addr.h"
#include "common/err.h"

#include <stdio.h>
#include <string.h>

#define PIECE_MAX    (ADDR_HOST_MAX + 8) /* host and port */
#define DEFAULT_PORT ":4222"
#define REPLICAS     3

static const char *const schemes[] = {"nats://", "tls://"};

/* Bytes of the scheme that stands there; 0: none that is known. */
static size_t scheme_of(const char *p, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t len = strlen(schemes[i]);

        if (n >= len && memcmp(p, schemes[i], len) == 0)
            return len;
    }
    return 0;
}

/* Where the host begins: behind scheme, user and password. */
static size_t host_of(const char *p, size_t n)
{
    size_t at = scheme_of(p, n);

    for (size_t i = at; i < n; i++) {
        if (p[i] == '@')
            at = i + 1;
    }
    return at;
}

static const char *check_server(const char *p, size_t n)
{
    char text[PIECE_MAX + sizeof(DEFAULT_PORT)];
    size_t at = host_of(p, n);
    struct addr addr;
    const char *why;

    if (scheme_of(p, n) == 0)
        return "must be nats://HOST:PORT, more of them behind commas";
    if (at == n)
        return "lacks a host";
    if (n - at > PIECE_MAX)
        return "is too long";
    snprintf(text, sizeof(text), "%.*s", (int)(n - at), p + at);
    /* The port may be left out; a colon in brackets is none of it. */
    if (!strchr(strchr(text, ']') ? strchr(text, ']') : text, ':'))
        strcat(text, DEFAULT_PORT);
    if (addr_parse(text, &addr, &why) != 0)
        return why;
    return addr.port == 0 ? "port 0 is none" : NULL;
}

int nats_url_check(const char *url, const char **why)
{
    if (strlen(url) > NATS_URL_MAX) {
        *why = "is too long";
        return E_BAD;
    }
    for (const char *p = url, *end;; p = end + 1) {
        end = p + strcspn(p, ",");
        *why = check_server(p, (size_t)(end - p));
        if (*why)
            return E_BAD;
        if (*end == '\0')
            return 0;
    }
}

int nats_url_replicas(const char *url)
{
    int servers = 1;

    for (; *url; url++)
        servers += *url == ',';
    return servers >= REPLICAS ? REPLICAS : 1;
}

void nats_url_show(const char *url, char out[NATS_URL_SHOWN])
{
    size_t len = 0;

    out[0] = '\0';
    for (const char *p = url, *end; len < NATS_URL_SHOWN; p = end + 1) {
        end = p + strcspn(p, ",");
        size_t n = (size_t)(end - p), host = host_of(p, n);

        len += (size_t)snprintf(out + len, NATS_URL_SHOWN - len, "%s%.*s%.*s", p == url ? "" : ",",
                                (int)scheme_of(p, n), p, (int)(n - host), p + host);
        if (*end == '\0')
            return;
    }
}
