/* proto/aoi_move.c: AoiMove's packed records.
 * Only + - * / and floor, so that every machine gets the same bytes. May touch: common.
 */
#include "proto/aoi_move.h"

#include "common/err.h"
#include "proto/limits.h"
#include "proto/protocol.h"

#include <endian.h>
#include <math.h>

#define WRAP        65536.0 /* values of a wrapped coordinate */
#define VARINT_MAX  5       /* bytes: 34 bits in sevens */
#define FLAG_DIR    1u
#define FLAG_SPEED  2u
#define PLACE_BYTES 4

double aoi_move_place(double last, uint16_t wrapped, double quantum)
{
    double base = (double)wrapped;
    double turns = floor((last / quantum - base) / WRAP + 0.5);
    return (base + turns * WRAP) * quantum;
}

double aoi_move_dir_value(uint8_t dir)
{
    return (double)dir / 256.0 * AOI_MOVE_TURN;
}

double aoi_move_speed_value(uint8_t speed, double max_speed)
{
    return (double)speed / 255.0 * max_speed;
}

size_t aoi_move_put(uint8_t *out, uint32_t id, uint32_t previous, const struct aoi_move_tail *t)
{
    ASSERT(id > previous);
    ASSERT(t->len <= AOI_MOVE_TAIL_MAX);
    uint8_t bytes[AOI_MOVE_RECORD_MAX + 2];
    size_t n = aoi_move_put_wide(bytes, id, previous, t);
    memcpy(out, bytes, n);
    return n;
}

/* LEB128 of at most VARINT_MAX bytes. */
static int take_varint(struct span *rest, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < VARINT_MAX && i < rest->n; i++) {
        uint8_t byte = rest->p[i];
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            rest->p += i + 1;
            rest->n -= i + 1;
            *out = v;
            return 0;
        }
    }
    return E_BAD;
}

int aoi_move_take(struct span *rest, uint32_t *previous, struct aoi_move_record *out)
{
    if (rest->n == 0)
        return E_SHORT;
    struct span r = *rest;
    uint64_t head;
    int err = take_varint(&r, &head);
    if (err != 0)
        return err;
    uint64_t delta = head >> 2;
    if (delta == 0 || delta > UINT32_MAX - *previous)
        return E_BAD;
    struct aoi_move_record rec = {
        .id = *previous + (uint32_t)delta,
        .has_dir = (head & FLAG_DIR) != 0,
        .has_speed = (head & FLAG_SPEED) != 0,
    };
    size_t need = PLACE_BYTES + (size_t)rec.has_dir + (size_t)rec.has_speed;
    if (r.n < need)
        return E_BAD;
    rec.x = (uint16_t)(r.p[0] | r.p[1] << 8);
    rec.y = (uint16_t)(r.p[2] | r.p[3] << 8);
    const uint8_t *p = r.p + PLACE_BYTES;
    if (rec.has_dir)
        rec.dir = *p++;
    if (rec.has_speed)
        rec.speed = *p;
    *rest = span_of(r.p + need, r.n - need);
    *previous = rec.id;
    *out = rec;
    return 0;
}

void aoi_move_head(uint8_t *out, uint32_t tick, size_t record_bytes, bool wide)
{
    static const uint8_t begin[] = {0x93, CMD_AOI_MOVE, 0, 0x82, 0xa4, 't', 'i', 'c', 'k', 0xce};
    static const uint8_t moves[] = {0xa5, 'm', 'o', 'v', 'e', 's'};
    uint32_t number = htobe32(tick), length = htobe32((uint32_t)record_bytes);

    ASSERT(record_bytes <= (wide ? PROTO_BATCH_MAX : UINT16_MAX));
    memcpy(out, begin, sizeof(begin));
    out += sizeof(begin);
    memcpy(out, &number, sizeof(number));
    out += sizeof(number);
    memcpy(out, moves, sizeof(moves));
    out += sizeof(moves);
    if (wide) {
        *out++ = 0xc6; /* bin32 */
        memcpy(out, &length, sizeof(length));
    } else {
        *out++ = 0xc5; /* bin16 */
        *out++ = (uint8_t)(record_bytes >> 8);
        *out++ = (uint8_t)record_bytes;
    }
}
