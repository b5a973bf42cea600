/* tests/fuzz/fuzz_frame.c: a stream of frames, taken until it ends or is refused.
 * The first byte picks the limit. May touch: common, proto.
 */
#include "tests/fuzz/fuzz_target.h"

#include "tests/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint32_t max = data[0] < 128 ? data[0] : PROTO_FRAME_MAX;
    struct span rest = span_of(data + 1, size - 1), body;
    size_t used;
    do {
        fuzz_target_must(round_trip_frame(rest, max));
        if (frame_split(rest, max, &body, &used) != 0)
            break;
        rest = span_of(rest.p + used, rest.n - used);
    } while (rest.n > 0);
    return 0;
}
