/* proto/ws_request.h: the head of a request on the WebSocket port, and what it asks for.
 * Reads the head with http-parser, strictly: lines end in CRLF, one field a line, what counts
 * stands there once. Says whether it may become a WebSocket, and makes the answer's key (RFC
 * 6455, 4.2). Pure: every span lies in the bytes given. May touch: common, http-parser, libcrypto.
 * On trouble: E_SHORT, E_BAD; a refusal is an HTTP status.
 */
#pragma once

#include "common/parts.h"
#include "common/span.h"

#define WS_REQUEST_MAX 8192 /* bytes of a head; browsers send less than 1,000 */
#define WS_ACCEPT_MAX  32   /* bytes of the answer's key, with its NUL */

enum ws_method { WS_METHOD_GET, WS_METHOD_HEAD, WS_METHOD_OTHER };

struct ws_request {
    enum ws_method method;
    struct span path;  /* of the target, from the first '/' to '?' or the end; not decoded */
    uint32_t minor;    /* of the version: HTTP/1.minor */
    bool websocket;    /* Upgrade has the token websocket */
    bool upgrade;      /* Connection has the token upgrade */
    struct span key;   /* Sec-WebSocket-Key; n 0: none */
    struct span wants; /* Sec-WebSocket-Version; n 0: none */
    bool from;         /* there is an Origin: */
    struct span origin;
    struct span host; /* Host; n 0: none */
};

/* Read the head that `in` begins with.
 *   used   bytes of it, the empty line included; at most WS_REQUEST_MAX
 * 0; E_SHORT: its end is not there yet; E_FULL: it is too long; E_BAD: no head, or one with a
 * body. */
int ws_request_read(struct span in, struct ws_request *out, size_t *used) MUST_CHECK;

/* May it become a WebSocket, its Origin apart? 0, or the HTTP status that refuses it: 400, 405, or
 * 426 where it asks for none, or for another version than WS_VERSION. */
#define WS_VERSION "13"
int ws_request_refusal(const struct ws_request *q);

/* The value of Sec-WebSocket-Accept for a key that was not refused. */
void ws_request_accept(struct span key, char out[WS_ACCEPT_MAX]);
