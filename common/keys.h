/* common/keys.h: secrets that two programs share, one a line of a file.
 * Lines that are empty or begin with # are passed over; blanks at a line's end too. Read at the
 * start and, while other threads use them, read anew; a file that cannot be used changes nothing.
 * May touch: libc, the file, the log. Never: what the keys are for.
 * On trouble: one line that names the file and the line's number, never what stands in it.
 */
#pragma once

#include "common/span.h"

#include <pthread.h>

#define KEYS_MAX      8  /* keys in a file */
#define KEY_BYTES_MIN 16 /* of a key */
#define KEY_BYTES_MAX 256

struct key {
    uint8_t bytes[KEY_BYTES_MAX];
    size_t n; /* bytes; 0: none */
};

struct keys {
    pthread_mutex_t lock;
    const char *path; /* borrowed */
    struct key list[KEYS_MAX];
    uint32_t n; /* 0: none were read */
};

/* Nothing is read yet. Borrows `path`. */
void keys_init(struct keys *k, const char *path);
/* The secrets are wiped. All zero is fine. */
void keys_fini(struct keys *k);
/* Read the file, first or anew. A file that everybody may read is a warning in the log. `why` gets
 * one line: E_IO (the file), E_RANGE (what it holds). */
int keys_read(struct keys *k, char *why, size_t why_cap) MUST_CHECK;
/* Copies of them, the file's first one first; returns how many. The caller wipes what it copied
 * (keys_wipe). */
uint32_t keys_copy(struct keys *k, struct key out[KEYS_MAX]);
void keys_wipe(struct key *list, uint32_t n);
