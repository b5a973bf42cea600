/* common/http_query.h: the query of a request, name by name.
 * Strict: name=value parted by &, percent signs decoded, no NUL. Pure. May touch: common/span.
 * On trouble: E_BAD for whatever is not exactly that, or too long.
 *
 *   scene=a%20b&at=1,-2.5
 */
#pragma once

#include "common/span.h"

#define HTTP_QUERY_VALUE_MAX 256 /* bytes of a value, decoded */

struct http_query {
    struct span name;                     /* as it came */
    char value[HTTP_QUERY_VALUE_MAX + 1]; /* decoded, without a NUL in it */
    const char *why;                      /* with E_BAD: static text */
};

/* Take the first parameter off `*rest`, which is not empty. 0 or E_BAD. */
int http_query_next(struct span *rest, struct http_query *out) MUST_CHECK;
/* Exactly `n` finite decimal numbers, parted by commas. */
bool http_query_numbers(const char *text, double *out, int n) MUST_CHECK;
/* A whole number without a sign, at most `max`. */
bool http_query_count(const char *text, uint64_t max, uint64_t *out) MUST_CHECK;
