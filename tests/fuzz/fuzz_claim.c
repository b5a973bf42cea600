/* tests/fuzz/fuzz_claim.c: keys and values of a cluster's store, of any bytes; and as edits (place,
 * byte) of good ones, since seeds know nothing of those.
 * May touch: common, proto/claim, proto/kv_key. What must hold: what is taken is written as it was.
 */
#include "tests/fuzz/fuzz_target.h"

#include "tests/round_trip_keys.h"

static const char VALUE[] =
    "held w1 epoch=17 nonce=1f load=250 to=w2 draining=1 text=127.0.0.1:19002";
static const char *const KEYS[] = {"0123456789abcdef.zone.12", "0123456789abcdef.name.QWRh",
                                   "0123456789abcdef.world.dzE", "0123456789abcdef.ids", "gen"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t value[sizeof(VALUE) - 1], key[32];

    fuzz_target_must(round_trip_claim(span_of(data, size)));
    fuzz_target_must(round_trip_key(span_of(data, size)));
    memcpy(value, VALUE, sizeof(value));
    for (size_t i = 0; i + 1 < size; i += 2) {
        const char *good = KEYS[data[i] % ARRAY_LEN(KEYS)];
        size_t n = strlen(good);

        value[data[i] % sizeof(value)] = data[i + 1];
        fuzz_target_must(round_trip_claim(span_of(value, sizeof(value))));
        memcpy(key, good, n);
        key[data[i + 1] % n] = data[i];
        fuzz_target_must(round_trip_key(span_of(key, n)));
    }
    return 0;
}
