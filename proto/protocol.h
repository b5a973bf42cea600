/* proto/protocol.h: the numbers of commands and errors, from their tables.
 * May touch: nothing. Source: commands.def, errors.def.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CMD(number, NAME, name, direction) CMD_##NAME = number,
enum cmd {
#include "proto/commands.def"
};
#undef CMD

#define PE(number, NAME, name, sentence) PE_##NAME = number,
enum pe {
#include "proto/errors.def"
};
#undef PE

/* "LoginReq"; NULL where there is no such number. */
const char *protocol_cmd_name(uint32_t cmd);
/* Is it a request of a client? */
bool protocol_is_request(uint32_t cmd);
/* "bad_frame" and the sentence for a person; "unknown" for other numbers. Never NULL. */
const char *protocol_error_name(uint32_t code);
const char *protocol_error_text(uint32_t code);
