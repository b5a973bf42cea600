/* common/file.h: files that are read whole, at the start and anew while everything else goes on.
 * May touch: libc, the file. On trouble: NULL and errno.
 */
#pragma once

#include <stdio.h>

/* For reading, and never waiting for somebody who writes: where the name is a pipe's and nobody has
 * it open for writing, it is empty. */
FILE *file_open(const char *path);
