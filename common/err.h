/* common/err.h: what can go wrong on our side, with its text.
 * Negative numbers are ours and go up to the edge as they are; positive ones are the protocol's
 * documented outcomes (proto/errors.def); 0 is done. May touch: nothing.
 */
#pragma once

/*     name       value  text */
#define ERR_TABLE(X)                                 \
    X(E_NOMEM, -1, "out of memory")                  \
    X(E_FULL, -2, "full: a named limit is reached")  \
    X(E_SHORT, -3, "more bytes are needed")          \
    X(E_BAD, -4, "malformed")                        \
    X(E_RANGE, -5, "out of range")                   \
    X(E_IO, -6, "the system refused an operation")   \
    X(E_CLOSED, -7, "closed by the other side")      \
    X(E_ADDR, -8, "not an address that can be used") \
    X(E_MISSING, -9, "not there")                    \
    X(E_TIMEOUT, -10, "took too long")

#define ERR_ENUM(name, value, text) name = value,
enum err { ERR_TABLE(ERR_ENUM) };
#undef ERR_ENUM

/* The text for one of the values above; "unknown error" for any other number. Never NULL. */
const char *err_text(int err);
