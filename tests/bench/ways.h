/* tests/bench/ways.h: what ways, NPCs and a second world cost (bench_path.c, bench_npc.c,
 * bench_cluster.c, bench_worlds.c).
 */
#pragma once

/* `bin/bench path [flags]`, `npc`, `cluster`, `worlds`; each returns the exit status. */
int ways_path(int argc, char **argv);
int ways_npc(int argc, char **argv);
int ways_cluster(int argc, char **argv);
int ways_worlds(int argc, char **argv);
/* All but the last, small. */
int ways_short(void);
