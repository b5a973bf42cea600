/* tests/bench/limit/limit_pair.h: the least that a world, a gateway and their clients could do.
 * No sessions, no checks, no msgpack: what these three cost is what the kernel and the copying
 * cost.
 *
 *   client  ── moves: i32 x, i32 y ──►  gateway  ── [client][bytes][moves] ──►  world
 *   client  ◄── [bytes][tick][records] ── gateway ◄── [client][bytes][frame] ──  world
 *
 * All numbers are the machine's own, 32 bits, places in quanta. A record is u16 number, u16 x, u16
 * y of who moved, of all within the radius. Clients are numbered from 0 on as they connect. May
 * touch: sockets, epoll. On trouble: a line on standard error and exit status 1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAIR_CLIENTS_MAX 20000
#define PAIR_QUANTUM     (1.0 / 64) /* units */
#define PAIR_RADIUS      30         /* units */
#define PAIR_TICK_NS     50000000
#define PAIR_RECORD      6 /* bytes */

/* In front of what goes over the link, both ways. */
struct pair_head {
    uint32_t client, bytes;
};

/* In front of what a client gets; of an answer the tick is 0 and nothing follows. */
struct pair_frame {
    uint32_t bytes; /* behind this number */
    uint32_t tick;
};

struct pair_move {
    int32_t x, y;
};

/* `bench pair-world [answer]`, `pair-gateway WORLD`, `pair-clients GATEWAY N SECONDS IN_SIGHT RATE
 * SEED groups|square`: each an own process. With "answer" each move is answered at once, as the
 * protocol asks. */
int pair_main(int argc, char **argv);
int pair_world_main(bool answer);
int pair_gateway_main(const char *world);

struct pair_job {
    const char *addr;
    uint32_t n;
    double seconds, in_sight, rate; /* rate: moves a second of each */
    uint64_t seed;
    bool square; /* one for all */
};
int pair_clients_main(const struct pair_job *job);

/* What the three share. */
int64_t pair_now_ns(void);
_Noreturn void pair_fail(const char *what);
int pair_listen(void); /* says where: "listening on ADDR" */
int pair_dial(const char *addr);
