/* tests/fuzz/fuzz_target.h: what every fuzz target declares.
 * A target takes any bytes, and ends the process where a rule is broken. May touch: libc.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* `broken`: NULL, or the rule that was. */
static inline void fuzz_target_must(const char *broken)
{
    if (broken == NULL)
        return;
    fprintf(stderr, "broken: %s\n", broken);
    abort();
}
