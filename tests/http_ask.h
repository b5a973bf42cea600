/* tests/http_ask.h: the other end of an HTTP connection, in the same thread as the server's loop.
 * May touch: common/io/loop, sockets, Criterion.
 */
#pragma once

#include "common/io/loop.h"

#define HTTP_ASK_MAX 65536 /* bytes of an answer with its NUL */

/* Connect to 127.0.0.1 at the port of `addr`. */
int http_ask_dial(const char *addr);
/* The server may have closed already; that shows in what is heard. */
void http_ask_say(int fd, const char *text);
/* Turn until the server has closed; all that it said, NUL-terminated. Closes `fd`. */
void http_ask_hear(struct loop *l, int fd, char out[HTTP_ASK_MAX]);
/* The three in one. */
void http_ask(struct loop *l, const char *addr, const char *request, char out[HTTP_ASK_MAX]);
