/* common/http_head.h: the head of an HTTP/1.x request, read strictly.
 * Finds method, path, query and header fields; every span lies in the bytes given. Pure: no
 * sockets, no memory. May touch: common/span.
 * On trouble: E_SHORT while its end has not come, E_BAD for whatever is not exactly a head.
 *
 *   GET /metrics?x=1 HTTP/1.1\r\n
 *   Host: localhost:9100\r\n
 *   \r\n
 */
#pragma once

#include "common/span.h"

struct http_head {
    struct span method; /* a token, as it came: case counts */
    struct span path;   /* from the first '/' to '?' or the end; not decoded */
    struct span query;  /* behind '?'; empty where there is none */
    uint32_t minor;     /* of the version: HTTP/1.minor, 0 or 1 */
    struct span fields; /* the lines of the header, each with its CRLF */
};

/* Read the head that `in` begins with.
 *   used   bytes of it, the empty line included
 * 0; E_SHORT: its end is not there yet; E_BAD. */
int http_head_read(struct span in, struct http_head *out, size_t *used) MUST_CHECK;

/* The value of the first field of this name (lower case; letters match in either case), without
 * the blanks around it. */
bool http_head_find(const struct http_head *h, const char *name, struct span *value);

/* How many fields have this name (lower case). */
uint32_t http_head_count(const struct http_head *h, const char *name);
