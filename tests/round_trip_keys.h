/* tests/round_trip_keys.h: what must hold for any key and value of a cluster's store of keys.
 * Returns NULL, or the rule that was broken: what is taken is written as the very same bytes.
 * May touch: proto/claim, proto/kv_key.
 */
#pragma once

#include "tests/round_trip.h"
#include "proto/kv_key.h"

static inline const char *round_trip_claim(struct span in)
{
    struct claim c;
    char out[CLAIM_BYTES_MAX];
    int err = claim_read(in, &c);

    ROUND_TRIP_HOLDS(err == 0 || err == E_BAD);
    if (err != 0)
        return NULL;
    ROUND_TRIP_HOLDS(c.state > CLAIM_NONE && c.state < CLAIM_STATES);
    ROUND_TRIP_HOLDS(span_equal(in, span_of(out, claim_write(&c, out))));
    return NULL;
}

static inline const char *round_trip_key(struct span in)
{
    struct kv_key k;
    char out[KV_TEXT_MAX + 1];
    int err = kv_key_read(in, &k);

    ROUND_TRIP_HOLDS(err == 0 || err == E_BAD);
    if (err != 0)
        return NULL;
    ROUND_TRIP_HOLDS(k.room < KV_ROOMS);
    ROUND_TRIP_HOLDS(span_equal(in, span_of(out, kv_key_write(&k, out))));
    return NULL;
}
