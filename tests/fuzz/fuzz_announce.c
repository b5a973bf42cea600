/* tests/fuzz/fuzz_announce.c: an operator's announcement of any bytes: query, a NUL, body; and as
 * edits (place, byte) of a good query, since seeds know nothing of those.
 * May touch: common, proto, world/edge/announce. What must hold: what is taken is in its bounds.
 */
#include "tests/fuzz/fuzz_target.h"

#include "proto/message.h"
#include "world/edge/announce.h"

#include <math.h>

static const char GOOD[] = "scene=a%20b&rect=-1,-2.5,3e2,4";

static const char *check(struct span query, struct span body)
{
    struct announce a;
    const char *why = NULL;

    if (announce_read(query, body, &a, &why) != 0)
        return why ? NULL : "refused without a reason";
    if (a.text.p != body.p || a.text.n != body.n || !message_plain_ok(a.text))
        return "a text that is none";
    if (strlen(a.scene) > ANNOUNCE_SCENE_MAX || a.has_scene != (a.scene[0] != '\0'))
        return "a scene that is none";
    for (int i = 0; i < 4; i++) {
        if (!isfinite(a.rect[i]) || !isfinite(a.at[i % 2]))
            return "a rectangle without an end";
    }
    if (a.has_rect && a.has_at)
        return "two areas";
    return a.rect[0] <= a.rect[2] && a.rect[1] <= a.rect[3] ? NULL : "a rectangle inside out";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size > 0 ? memchr(data, 0, size) : NULL;
    size_t n = nul ? (size_t)(nul - data) : size;
    struct span body = nul ? span_of(nul + 1, size - n - 1) : span_text("hello");
    uint8_t edited[sizeof(GOOD) - 1];

    fuzz_target_must(check(span_of(data, n), body));
    memcpy(edited, GOOD, sizeof(edited));
    for (size_t i = 0; i + 1 < size; i += 2) {
        edited[data[i] % sizeof(edited)] = data[i + 1];
        fuzz_target_must(check(span_of(edited, sizeof(edited)), span_text("hello")));
    }
    return 0;
}
