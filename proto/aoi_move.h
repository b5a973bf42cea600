/* proto/aoi_move.h: AoiMove's packed records.
 * Pure arithmetic and bytes. May touch: common, proto/limits. Source: PROTOCOL.md, "AoiMove's
 * packed records".
 *
 *   varint (id - previous) << 2 | has_speed << 1 | has_dir     1..5 bytes
 *   x  u16 little-endian, y  u16 little-endian                 4 bytes
 *   dir  u8 where has_dir, speed  u8 where has_speed           0..2 bytes
 */
#pragma once

#include "common/err.h"
#include "common/span.h"

#include <endian.h>
#include <string.h>

#define AOI_MOVE_TAIL_MAX   6
#define AOI_MOVE_RECORD_MAX (5 + AOI_MOVE_TAIL_MAX)

/* What the wire says of a mover, apart from its id: the same for all its viewers. */
struct aoi_move_tail {
    uint8_t bytes[AOI_MOVE_TAIL_MAX];
    uint8_t len;   /* 4..6 */
    uint8_t flags; /* bit 0 has_dir, bit 1 has_speed */
};

struct aoi_move_record {
    uint32_t id;
    uint16_t x, y; /* wrapped */
    bool has_dir, has_speed;
    uint8_t dir, speed;
};

#define AOI_MOVE_TURN       6.283185307179586     /* 2π */
#define AOI_MOVE_QUANTA_MAX 4611686018427387904.0 /* 2^62: beyond any scene, within int64_t */

/* floor(v / quantum + 0.5): the place in quanta, unwrapped. `v` within a scene's bounds. */
static inline int64_t aoi_move_quantise(double v, double quantum)
{
    double q = v / quantum + 0.5;
    int64_t cut;

    ASSERT(q > -AOI_MOVE_QUANTA_MAX);
    ASSERT(q < AOI_MOVE_QUANTA_MAX);
    cut = (int64_t)q;
    return cut - ((double)cut > q); /* cut goes toward zero, floor down */
}

/* floor(dir / 2π · 256 + 0.5) modulo 256; dir in [0, 2π). */
static inline uint8_t aoi_move_dir(double dir)
{
    double v = dir / AOI_MOVE_TURN * 256.0 + 0.5;

    ASSERT(v >= 0.0);
    ASSERT(v < 257.0);
    return (uint8_t)((uint32_t)v & 0xffu);
}

/* floor(speed / max_speed · 255 + 0.5), at most 255; speed >= 0. */
static inline uint8_t aoi_move_speed(double speed, double max_speed)
{
    double v = speed / max_speed * 255.0 + 0.5;

    ASSERT(v >= 0.0);
    return v >= 255.0 ? 255 : (uint8_t)v;
}

/* What a receiver makes of them. `last`: the entity's last known coordinate. Of two values equally
 * near to it the greater is taken; a sender never comes near that (PROTO_WRAP_QUANTA). */
double aoi_move_place(double last, uint16_t wrapped, double quantum);
double aoi_move_dir_value(uint8_t dir);
double aoi_move_speed_value(uint8_t speed, double max_speed);

/* x, y in quanta; dir and speed as wire bytes, looked at where the flag is set. */
static inline struct aoi_move_tail aoi_move_tail(int64_t qx, int64_t qy, bool has_dir, uint8_t dir,
                                                 bool has_speed, uint8_t speed)
{
    /* the low 16 bits of two's complement; put together in a register, since bytes that are stored
     * one by one are not there yet when all are read as a word */
    uint64_t bits = ((uint64_t)qx & 0xffff) | ((uint64_t)qy & 0xffff) << 16;
    uint64_t len = 4;
    struct aoi_move_tail t;

    bits |= (has_dir ? (uint64_t)dir : 0) << 32;
    len += has_dir;
    bits |= (has_speed ? (uint64_t)speed : 0) << (8 * len);
    len += has_speed;
    bits |= len << 48 | ((uint64_t)has_dir | (uint64_t)has_speed << 1) << 56;
    bits = htole64(bits);
    _Static_assert(sizeof(t) == sizeof(bits), "a tail is a word");
    memcpy(&t, &bits, sizeof(t));
    return t;
}

/* Write one record at `out` ([AOI_MOVE_RECORD_MAX] must be free); id > previous. Bytes written. */
size_t aoi_move_put(uint8_t *out, uint32_t id, uint32_t previous, const struct aoi_move_tail *t);

/* Take one record from the front of `rest`; `previous` is 0 at the start, and updated.
 * 0; E_BAD: cut, an id of 0, not ascending, or beyond 2^32-1; E_SHORT: `rest` is empty. */
int aoi_move_take(struct span *rest, uint32_t *previous, struct aoi_move_record *out) MUST_CHECK;

/* The whole AoiMove body around records that were laid in place: [34, 0, {tick, moves}], of a size
 * that depends on the number of record bytes alone where that is known to stay below 65,536 (else
 * `wide`). Any MessagePack reader takes it for what message_write would have written.
 *
 *   [ head AOI_MOVE_HEAD(wide) ][ records ] */
#define AOI_MOVE_HEAD(wide) ((wide) ? 25u : 23u)

void aoi_move_head(uint8_t *out, uint32_t tick, size_t record_bytes, bool wide);

/* aoi_move_put for the hot path: writes 8 bytes behind the varint, whatever the tail's length, so
 * [AOI_MOVE_RECORD_MAX + 2] must be free at `out`. */
static inline size_t aoi_move_put_wide(uint8_t *out, uint32_t id, uint32_t previous,
                                       const struct aoi_move_tail *t)
{
    uint64_t v = (uint64_t)(id - previous) << 2 | t->flags;
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        out[n++] = (uint8_t)(v | 0x80);
    out[n++] = (uint8_t)v;
    memcpy(out + n, t, sizeof(*t));
    return n + t->len;
}
