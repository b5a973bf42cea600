/* tests/bench/ways.h: what ways and NPCs cost (bench_path.c, bench_npc.c).
 */
#pragma once

/* `bin/bench path [flags]`, `bin/bench npc [flags]`; each returns the exit status. */
int ways_path(int argc, char **argv);
int ways_npc(int argc, char **argv);
/* Both, small. */
int ways_short(void);
