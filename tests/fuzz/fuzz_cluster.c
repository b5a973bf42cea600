/* tests/fuzz/fuzz_cluster.c: messages between worlds, of any bytes. May touch: common, proto. */
#include "tests/fuzz/fuzz_target.h"

#include "tests/round_trip_cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_target_must(round_trip_cluster(span_of(data, size)));
    return 0;
}
