/* world/ids.h: plain references to what the world holds.
 * A ref is local and knows when it is stale; an id is what the wire says. All zero is nobody.
 * May touch: nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Scenes of a world; a scene is called by its number, below this. */
#define SCENES_MAX 64

struct entity_ref {
    uint32_t slot, gen; /* gen is odd while alive */
};

struct session_ref {
    uint32_t slot, gen;
};

/* A gateway's connection. */
struct link_ref {
    uint32_t slot, gen;
};

static inline bool link_ref_equal(struct link_ref a, struct link_ref b)
{
    return a.slot == b.slot && a.gen == b.gen;
}
