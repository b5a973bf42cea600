/* common/addr.c: takes host:port apart.
 * May touch: libc. On trouble: E_ADDR and a reason.
 */
#include "common/addr.h"

#include "common/err.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define PORT_DIGITS_MAX 5

static bool only_of(const char *text, const char *allowed)
{
    return text[strspn(text, allowed)] == '\0';
}

/* Digits and nothing else: strtoul would take signs, spaces and what wraps round. */
static bool parse_port(const char *text, uint16_t *port)
{
    size_t n = strlen(text);
    if (n == 0 || n > PORT_DIGITS_MAX || !only_of(text, "0123456789"))
        return false;
    uint32_t v = 0;
    for (; *text; text++)
        v = v * 10 + (uint32_t)(*text - '0');
    if (v > UINT16_MAX)
        return false;
    *port = (uint16_t)v;
    return true;
}

static const char *check_host(struct addr *a, bool bracketed)
{
    struct in6_addr binary;
    if (bracketed)
        return inet_pton(AF_INET6, a->host, &binary) == 1 ? NULL : "not an IPv6 address";
    if (a->host[0] == '\0')
        return "the host is missing";
    if (strchr(a->host, ':'))
        return "an IPv6 address stands in brackets, [::1]:port";
    if (only_of(a->host, "0123456789."))
        return inet_pton(AF_INET, a->host, &binary) == 1 ? NULL : "not an IPv4 address";
    if (!only_of(a->host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"))
        return "not a host name";
    a->is_name = true;
    return NULL;
}

int addr_parse(const char *text, struct addr *out, const char **why)
{
    *out = (struct addr){0};
    bool bracketed = text[0] == '[';
    const char *host = bracketed ? text + 1 : text;
    const char *end = bracketed ? strchr(host, ']') : strrchr(host, ':');
    if (!end || (bracketed && end[1] != ':')) {
        *why = "not of the form host:port";
        return E_ADDR;
    }
    size_t n = (size_t)(end - host);
    if (n >= sizeof(out->host)) {
        *why = "the host is too long";
        return E_ADDR;
    }
    memcpy(out->host, host, n);
    *why = check_host(out, bracketed);
    if (!*why && !parse_port(end + (bracketed ? 2 : 1), &out->port))
        *why = "port must be 0..65535";
    return *why ? E_ADDR : 0;
}

bool addr_is_loopback(const struct addr *a)
{
    struct in6_addr six;
    struct in_addr four;

    if (a->is_name)
        return strcasecmp(a->host, "localhost") == 0;
    if (inet_pton(AF_INET, a->host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
    if (inet_pton(AF_INET6, a->host, &six) != 1)
        return false;
    return IN6_IS_ADDR_LOOPBACK(&six) ||
           (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == IN_LOOPBACKNET);
}

bool addr_is_any(const struct addr *a)
{
    struct in6_addr six;
    struct in_addr four;

    if (a->is_name)
        return false;
    if (inet_pton(AF_INET, a->host, &four) == 1)
        return four.s_addr == htonl(INADDR_ANY);
    return inet_pton(AF_INET6, a->host, &six) == 1 &&
           (IN6_IS_ADDR_UNSPECIFIED(&six) ||
            (IN6_IS_ADDR_V4MAPPED(&six) && memcmp(six.s6_addr + 12, (uint8_t[4]){0}, 4) == 0));
}
