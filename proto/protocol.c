/* proto/protocol.c: the tables of commands and errors as look-ups. May touch: nothing. */
#include "proto/protocol.h"

#include <stddef.h>

const char *protocol_cmd_name(uint32_t cmd)
{
    switch (cmd) {
#define CMD(number, NAME, name, direction) \
    case number:                           \
        return name;
#include "proto/commands.def"
#undef CMD
    default:
        return NULL;
    }
}

bool protocol_is_request(uint32_t cmd)
{
    enum { C2S = true, S2C = false };
    switch (cmd) {
#define CMD(number, NAME, name, direction) \
    case number:                           \
        return direction;
#include "proto/commands.def"
#undef CMD
    default:
        return false;
    }
}

const char *protocol_error_name(uint32_t code)
{
    switch (code) {
#define PE(number, NAME, name, sentence) \
    case number:                         \
        return name;
#include "proto/errors.def"
#undef PE
    default:
        return "unknown";
    }
}

const char *protocol_error_text(uint32_t code)
{
    switch (code) {
#define PE(number, NAME, name, sentence) \
    case number:                         \
        return sentence;
#include "proto/errors.def"
#undef PE
    default:
        return "unknown";
    }
}
