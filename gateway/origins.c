/* gateway/origins.c: see the header. May touch: common. */
#include "gateway/origins.h"

#include "common/err.h"

#include <string.h>

static const char SELF[] = "self";
static const char SCHEME[] = "abcdefghijklmnopqrstuvwxyz0123456789+-.";
static const char HOST[] = "abcdefghijklmnopqrstuvwxyz0123456789-._";
static const char HOST_V6[] = "abcdef0123456789:.";
static const char DIGITS[] = "0123456789";

/* How many of the first bytes are of this set. */
static size_t run_of(struct span s, const char *set)
{
    size_t n = 0;
    while (n < s.n && s.p[n] != '\0' && strchr(set, s.p[n]))
        n++;
    return n;
}

static struct span behind(struct span s, size_t n)
{
    return span_of(s.p + n, s.n - n);
}

static bool starts(struct span s, const char *text)
{
    return s.n >= strlen(text) && memcmp(s.p, text, strlen(text)) == 0;
}

static bool port_good(struct span s)
{
    return s.n == 0 ||
           (s.p[0] == ':' && s.n >= 2 && s.n <= 6 && run_of(behind(s, 1), DIGITS) == s.n - 1);
}

static bool entry_good(struct span s)
{
    if (span_equal(s, span_text("*")) || span_equal(s, span_text(SELF)))
        return true;
    const size_t scheme = run_of(s, SCHEME);
    if (scheme == 0 || !starts(behind(s, scheme), "://"))
        return false;
    s = behind(s, scheme + 3);
    if (starts(s, "[")) {
        const size_t host = run_of(behind(s, 1), HOST_V6);
        return host > 0 && starts(behind(s, 1 + host), "]") && port_good(behind(s, host + 2));
    }
    const size_t host = run_of(s, HOST);
    return host > 0 && port_good(behind(s, host));
}

/* The entry at the front; false where `*rest` is at its end. An entry may be empty. */
static bool take(const char **rest, struct span *entry)
{
    if (!*rest)
        return false;
    const size_t n = strcspn(*rest, ",");
    *entry = span_of(*rest, n);
    *rest = (*rest)[n] == ',' ? *rest + n + 1 : NULL;
    return true;
}

int origins_check(const char *list, struct span *bad)
{
    const char *rest = list[0] != '\0' ? list : NULL;

    while (take(&rest, bad)) {
        if (!entry_good(*bad))
            return E_RANGE;
    }
    return 0;
}

/* Was the page of this origin served under that host? */
static bool own(struct span origin, struct span host)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        if (host.n > 0 && starts(origin, schemes[i]) &&
            span_equal(behind(origin, strlen(schemes[i])), host))
            return true;
    }
    return false;
}

bool origins_have(const char *list, struct span origin, struct span host)
{
    const char *rest = list[0] != '\0' ? list : NULL;
    struct span entry;

    while (take(&rest, &entry)) {
        if (span_equal(entry, span_text("*")) || span_equal(entry, origin) ||
            (span_equal(entry, span_text(SELF)) && own(origin, host)))
            return true;
    }
    return false;
}
