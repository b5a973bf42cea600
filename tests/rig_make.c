/* tests/rig_make.c: the rig's worlds: what they are made of where a test says nothing else.
 * May touch: tests/world_rig. On trouble: the test at hand fails.
 */
#include "tests/world_rig.h"

struct world_config rig_config(void)
{
    return (struct world_config){
        .aoi_radius = 30,
        .tick_ns = 50 * CLOCK_NS_PER_MS,
        .max_speed = 12,
        .move_burst_ns = CLOCK_NS_PER_S,
        .walk_step_ns = 500 * CLOCK_NS_PER_MS,
        .tile_ns = 320 * CLOCK_NS_PER_MS,
        .walk_max_tiles = 2,
        .path_budget = 5000,
        .path_queue = 1024,
        .update_interval = 2,
        .move_epsilon = 0.05,
        .dir_epsilon = 1,
        .quantum = 1.0 / 64,
        .max_entities = 512,
        .max_pairs = 1u << 19,
        .spawn = "line",
        .bounds = {-1000, -1000, 1000, 1000},
        .seed = 1,
    };
}

struct rig *rig_create(const struct world_config *c)
{
    return rig_create_maps(c, NULL, 0);
}

struct rig *rig_create_maps(const struct world_config *c, const struct map *maps, uint32_t n)
{
    return rig_create_kept(c, maps, n, (struct store_door){0});
}

struct rig *rig_create_kept(const struct world_config *c, const struct map *maps, uint32_t n,
                            struct store_door store)
{
    return rig_create_with(c, maps, n, store, (struct auth_door){0});
}
