/* tests/fuzz/fuzz_aoi_move.c: packed moves of any bytes. May touch: common, proto. */
#include "tests/fuzz/fuzz_target.h"

#include "tests/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_target_must(round_trip_aoi_move(span_of(data, size)));
    return 0;
}
