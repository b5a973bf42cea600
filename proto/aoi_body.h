/* proto/aoi_body.h: AoiAdd and AoiRemove laid in place, for the tick.
 * The same bytes as message_write's; a head, then its elements one by one. May touch: common,
 * proto/limits, proto/message. Source: PROTOCOL.md.
 */
#pragma once

#include "proto/limits.h"
#include "proto/message.h"

#define AOI_BODY_HEAD_MAX   32 /* bytes of a head */
#define AOI_BODY_ID_MAX     5  /* bytes of one id */
#define AOI_BODY_HIDDEN_MAX 12 /* bytes of how many are hidden */

/* What stands before `count` entities or ids. With `hidden`, aoi_body_hidden comes behind the last
 * entity. Returns its bytes. */
size_t aoi_body_add_head(uint8_t *out, uint32_t tick, uint32_t count, bool hidden);
size_t aoi_body_remove_head(uint8_t *out, uint32_t tick, uint32_t count);
/* One id of an AoiRemove. Returns its bytes. */
size_t aoi_body_id(uint8_t *out, uint32_t id);
/* One entity of an AoiAdd. At most PROTO_NAME_MAX bytes of name, and so many must be readable at
 * e->name.p; [PROTO_ENTITY_BYTES_MAX] must be free. Returns its bytes. */
size_t aoi_body_entity(uint8_t *out, const struct message_entity *e);
/* The end of an AoiAdd that says how many more are in sight but not told. Returns its bytes. */
size_t aoi_body_hidden(uint8_t *out, uint32_t hidden);
