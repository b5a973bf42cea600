/* tests/fuzz/fuzz_watch_copy.c: a live map's frame of any bytes; and with a head that fits them,
 * since few bytes have one. May touch: common, world/edge/watch_copy.
 * What must hold: what is taken is written again as it was.
 */
#include "tests/fuzz/fuzz_target.h"

#include "world/edge/watch_copy.h"

#include <string.h>

static const char *check(struct span frame)
{
    struct watch_copy c;
    struct watch_copy_one one;
    uint32_t n, total;
    bool same;

    if (watch_copy_read(frame, &n, &total) != 0)
        return NULL;
    if (n > WATCH_COPY_MAX || total < n)
        return "more than there may be";
    if (watch_copy_init(&c) != 0)
        return NULL;
    c.tick = frame.p[0] | (uint32_t)frame.p[1] << 8 | (uint32_t)frame.p[2] << 16 |
             (uint32_t)frame.p[3] << 24;
    c.n = n;
    c.total = total;
    for (uint32_t i = 0; i < n; i++) {
        watch_copy_one(frame, n, i, &one);
        c.id[i] = one.id;
        c.x[i] = one.x;
        c.y[i] = one.y;
        c.flags[i] = one.flags;
        c.dir[i] = one.dir;
    }
    uint8_t *out = malloc(WATCH_COPY_BYTES);
    same = !out || span_equal(span_of(out, watch_copy_write(&c, out)), frame);
    free(out);
    watch_copy_fini(&c);
    return same ? NULL : "written otherwise";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *fits = malloc(size + 1);

    fuzz_target_must(check(span_of(data, size)));
    if (fits && size >= WATCH_COPY_HEAD) {
        uint32_t n = (uint32_t)((size - WATCH_COPY_HEAD) / WATCH_COPY_EACH);

        memcpy(fits, data, size);
        for (int i = 0; i < 4; i++)
            fits[4 + i] = (uint8_t)(n >> (8 * i));
        fuzz_target_must(check(span_of(fits, WATCH_COPY_HEAD + (size_t)WATCH_COPY_EACH * n)));
    }
    free(fits);
    return 0;
}
