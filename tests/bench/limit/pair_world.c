/* tests/bench/limit/pair_world.c: the least a world can do: take moves, and tell each at the tick
 * who moved within its radius. The movers are sorted into cells of the radius' size; a viewer looks
 * at three rows of three. May touch: sockets. On trouble: see limit_pair.h.
 */
#include "tests/bench/limit/limit_pair.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CELL      ((int32_t)(PAIR_RADIUS / PAIR_QUANTUM))
#define CELLS_MAX (1 << 20)
#define READ_MAX  (1 << 20)
#define OUT_MAX   (64 << 20)

static struct {
    uint32_t n; /* clients heard of, by number */
    bool known[PAIR_CLIENTS_MAX], moved[PAIR_CLIENTS_MAX];
    int32_t x[PAIR_CLIENTS_MAX], y[PAIR_CLIENTS_MAX];
    int32_t x0, y0, columns, rows; /* the cells of this tick */
    uint32_t start[CELLS_MAX + 1]; /* of each cell's movers below */
    float mx[PAIR_CLIENTS_MAX], my[PAIR_CLIENTS_MAX];
    uint64_t record[PAIR_CLIENTS_MAX]; /* six bytes of it */
    uint32_t mover[PAIR_CLIENTS_MAX];
    uint32_t tick;
    bool answer;
    int link;
    uint8_t *in, *out;
    size_t in_len, out_len;
} w;

static void flush(void)
{
    for (size_t done = 0; done < w.out_len;) {
        ssize_t n = send(w.link, w.out + done, w.out_len - done, MSG_NOSIGNAL);
        if (n <= 0)
            exit(0);
        done += (size_t)n;
    }
    w.out_len = 0;
}

static void put(const void *bytes, size_t n)
{
    memcpy(w.out + w.out_len, bytes, n);
    w.out_len += n;
}

static void take_moves(uint32_t client, const uint8_t *bytes, uint32_t n)
{
    struct pair_move m;

    if (client >= PAIR_CLIENTS_MAX || n % sizeof(m) != 0) {
        fprintf(stderr, "pair-world: %u bytes of client %u\n", n, client);
        exit(1);
    }
    for (uint32_t at = 0; at < n; at += (uint32_t)sizeof(m)) {
        memcpy(&m, bytes + at, sizeof(m));
        w.x[client] = m.x;
        w.y[client] = m.y;
        if (w.answer) {
            put(&(struct pair_head){client, sizeof(struct pair_frame)}, sizeof(struct pair_head));
            put(&(struct pair_frame){sizeof(uint32_t), 0}, sizeof(struct pair_frame));
        }
    }
    w.known[client] = w.moved[client] = true;
    if (client >= w.n)
        w.n = client + 1;
}

static void take_link(void)
{
    ssize_t n = recv(w.link, w.in + w.in_len, READ_MAX - w.in_len, 0);
    size_t at = 0;
    struct pair_head h;

    if (n <= 0)
        exit(0);
    w.in_len += (size_t)n;
    while (w.in_len - at >= sizeof(h)) {
        memcpy(&h, w.in + at, sizeof(h));
        if (w.in_len - at - sizeof(h) < h.bytes)
            break;
        take_moves(h.client, w.in + at + sizeof(h), h.bytes);
        at += sizeof(h) + h.bytes;
    }
    memmove(w.in, w.in + at, w.in_len - at);
    w.in_len -= at;
    if (w.out_len > 0)
        flush();
}

static uint32_t cell_of(uint32_t i)
{
    return (uint32_t)((w.y[i] - w.y0) / CELL * w.columns + (w.x[i] - w.x0) / CELL);
}

/* The bounds of all, with a cell of room on each side. */
static void measure(void)
{
    int32_t x1 = INT32_MIN, y1 = INT32_MIN;

    w.x0 = w.y0 = INT32_MAX;
    for (uint32_t i = 0; i < w.n; i++) {
        if (!w.known[i])
            continue;
        w.x0 = w.x[i] < w.x0 ? w.x[i] : w.x0;
        w.y0 = w.y[i] < w.y0 ? w.y[i] : w.y0;
        x1 = w.x[i] > x1 ? w.x[i] : x1;
        y1 = w.y[i] > y1 ? w.y[i] : y1;
    }
    w.x0 -= CELL;
    w.y0 -= CELL;
    w.columns = (x1 - w.x0) / CELL + 2;
    w.rows = (y1 - w.y0) / CELL + 2;
    if ((int64_t)w.columns * w.rows > CELLS_MAX) {
        fprintf(stderr, "pair-world: too wide a place\n");
        exit(1);
    }
}

/* Who moved goes to its cell; start[c] .. start[c + 1] are those of cell c. */
static void sort(void)
{
    uint32_t cells = (uint32_t)(w.columns * w.rows), sum = 0;

    memset(w.start, 0, (cells + 1) * sizeof(w.start[0]));
    for (uint32_t i = 0; i < w.n; i++) {
        if (w.moved[i])
            w.start[cell_of(i)]++;
    }
    for (uint32_t c = 0; c <= cells; c++)
        sum += w.start[c], w.start[c] = sum;
    for (uint32_t i = w.n; i-- > 0;) {
        if (!w.moved[i])
            continue;
        uint32_t at = --w.start[cell_of(i)];
        w.mx[at] = (float)w.x[i];
        w.my[at] = (float)w.y[i];
        w.mover[at] = i;
        w.record[at] = i | (uint64_t)(uint16_t)w.x[i] << 16 | (uint64_t)(uint16_t)w.y[i] << 32;
        w.moved[i] = false;
    }
}

static void tell(uint32_t viewer)
{
    const float r2 = (float)CELL * (float)CELL, x = (float)w.x[viewer], y = (float)w.y[viewer];
    uint8_t *const begin = w.out + w.out_len + sizeof(struct pair_head) + sizeof(struct pair_frame);
    uint8_t *to = begin;
    uint32_t middle = cell_of(viewer);

    for (int row = -1; row <= 1; row++) {
        uint32_t c = middle + (uint32_t)(row * w.columns);
        for (uint32_t j = w.start[c - 1], end = w.start[c + 2]; j < end; j++) {
            float dx = w.mx[j] - x, dy = w.my[j] - y;
            bool seen = (dx * dx + dy * dy <= r2) & (w.mover[j] != viewer);
            memcpy(to, &w.record[j], sizeof(w.record[j]));
            to += seen ? PAIR_RECORD : 0;
        }
    }
    if (to == begin)
        return;
    uint32_t bytes = (uint32_t)(to - begin);
    struct pair_frame frame = {bytes + (uint32_t)sizeof(frame.tick), w.tick};
    struct pair_head head = {viewer, bytes + (uint32_t)sizeof(frame)};
    put(&head, sizeof(head));
    put(&frame, sizeof(frame));
    w.out_len += bytes;
}

static void tick(void)
{
    w.tick++;
    if (w.n == 0)
        return;
    measure();
    sort();
    for (uint32_t i = 0; i < w.n; i++) {
        if (!w.known[i])
            continue;
        if (w.out_len > OUT_MAX / 2)
            flush();
        tell(i);
    }
    flush();
}

int pair_world_main(bool answer)
{
    int listener = pair_listen();

    w.answer = answer;
    w.in = malloc(READ_MAX);
    w.out = malloc(OUT_MAX);
    w.link = accept(listener, NULL, NULL);
    if (!w.in || !w.out || w.link < 0)
        pair_fail("pair-world");
    for (int64_t next = pair_now_ns() + PAIR_TICK_NS;;) {
        int64_t left = next - pair_now_ns();
        if (left <= 0) {
            tick();
            next += PAIR_TICK_NS;
            continue;
        }
        struct pollfd p = {w.link, POLLIN, 0};
        struct timespec wait = {0, left};
        if (ppoll(&p, 1, &wait, NULL) > 0)
            take_link();
    }
}
