/* tests/e2e/shop.h: a pair whose world has a store, and the folder that the store lies in.
 * Where it may, on a small disk of its own (a tmpfs in a name space of this test alone), which can
 * be filled. May touch: tests/pair, tests/raw_client, files, mounts. Linux.
 * On trouble: the test at hand fails.
 */
#pragma once

#include "tests/pair.h"
#include "tests/raw_client.h"

#define SHOP_DISK_KIB 4096

struct shop {
    char folder[64];
    char store[96]; /* "sqlite:FILE" */
    bool small;     /* it is on a disk of its own, of SHOP_DISK_KIB */
};

/* False where this program has no SQLite. */
bool shop_open(struct shop *s, bool small);
void shop_close(struct shop *s);
/* All but `left_kib` of the small disk is used up; the second undoes it. */
void shop_fill(const struct shop *s, uint32_t left_kib);
void shop_free(const struct shop *s);

/* -store-check must be content; how many characters it counts. */
uint32_t shop_check(const struct shop *s);

struct shop_place {
    double x, y;
};
/* Connect, log in, enter: where does it stand? The client stays connected. */
struct shop_place shop_join(struct raw_client *c, const char *addr, const char *name);
/* A move that must do well. */
void shop_move(struct raw_client *c, double x, double y);
