/* proto/aoi_body.c: see the header. MessagePack by hand: each number in its shortest form. */
#include "proto/aoi_body.h"

#include "common/err.h"
#include "proto/protocol.h"

#include <endian.h>
#include <string.h>

#define ENTITY_ELEMENTS 7

_Static_assert(1 + 5 + 5 + 2 + PROTO_NAME_MAX + 4 * 9 <= PROTO_ENTITY_BYTES_MAX,
               "an entity fits its bound");
_Static_assert(PROTO_NAME_MAX == 32, "a name is copied as two times sixteen bytes");

/* A type byte and 32 bits. */
static size_t put_wide(uint8_t *out, uint8_t type, uint32_t v)
{
    uint32_t bits = htobe32(v);

    out[0] = type;
    memcpy(out + 1, &bits, sizeof(bits));
    return 5;
}

static size_t put_uint(uint8_t *out, uint32_t v)
{
    if (v < 0x80) {
        out[0] = (uint8_t)v;
        return 1;
    }
    if (v < 0x100) {
        out[0] = 0xcc;
        out[1] = (uint8_t)v;
        return 2;
    }
    if (v < 0x10000) {
        out[0] = 0xcd;
        out[1] = (uint8_t)(v >> 8);
        out[2] = (uint8_t)v;
        return 3;
    }
    return put_wide(out, 0xce, v);
}

static size_t put_array(uint8_t *out, uint32_t count)
{
    if (count < 16) {
        out[0] = (uint8_t)(0x90 | count);
        return 1;
    }
    if (count < 0x10000) {
        out[0] = 0xdc;
        out[1] = (uint8_t)(count >> 8);
        out[2] = (uint8_t)count;
        return 3;
    }
    return put_wide(out, 0xdd, count);
}

static size_t put_double(uint8_t *out, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    bits = htobe64(bits);
    out[0] = 0xcb;
    memcpy(out + 1, &bits, sizeof(bits));
    return 9;
}

/* [cmd, 0, {tick: .., key: [..]}] up to the array's elements; `keys` in the map. */
static size_t put_head(uint8_t *out, uint8_t cmd, uint8_t keys, uint32_t tick, const char *key,
                       size_t key_len, uint32_t count)
{
    const uint8_t begin[] = {0x93, cmd, 0, (uint8_t)(0x80 | keys), 0xa4, 't', 'i', 'c', 'k'};
    size_t n = sizeof(begin);

    memcpy(out, begin, sizeof(begin));
    n += put_uint(out + n, tick);
    out[n++] = (uint8_t)(0xa0 | key_len);
    memcpy(out + n, key, key_len);
    n += key_len;
    return n + put_array(out + n, count);
}

size_t aoi_body_add_head(uint8_t *out, uint32_t tick, uint32_t count, bool hidden)
{
    return put_head(out, CMD_AOI_ADD, hidden ? 3 : 2, tick, "entities", 8, count);
}

size_t aoi_body_remove_head(uint8_t *out, uint32_t tick, uint32_t count)
{
    return put_head(out, CMD_AOI_REMOVE, 2, tick, "ids", 3, count);
}

size_t aoi_body_id(uint8_t *out, uint32_t id)
{
    return put_uint(out, id);
}

size_t aoi_body_entity(uint8_t *out, const struct message_entity *e)
{
    size_t n = 1;

    ASSERT(e->name.n <= PROTO_NAME_MAX);
    out[0] = 0x90 | ENTITY_ELEMENTS;
    n += put_uint(out + n, e->id);
    n += put_uint(out + n, e->kind);
    if (e->name.n < 32) {
        out[n++] = (uint8_t)(0xa0 | e->name.n);
    } else {
        out[n++] = 0xd9;
        out[n++] = (uint8_t)e->name.n;
    }
    memcpy(out + n, e->name.p, PROTO_NAME_MAX);
    n += e->name.n;
    n += put_double(out + n, e->x);
    n += put_double(out + n, e->y);
    n += put_double(out + n, e->dir);
    n += put_double(out + n, e->speed);
    return n;
}

size_t aoi_body_hidden(uint8_t *out, uint32_t hidden)
{
    static const uint8_t key[] = {0xa6, 'h', 'i', 'd', 'd', 'e', 'n'};

    memcpy(out, key, sizeof(key));
    return sizeof(key) + put_uint(out + sizeof(key), hidden);
}
