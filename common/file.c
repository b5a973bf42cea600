/* common/file.c: see the header. */
#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

FILE *file_open(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *f = NULL;

    /* What is being written into a pipe is waited for. */
    if (fd >= 0 && fcntl(fd, F_SETFL, 0) == 0)
        f = fdopen(fd, "r");
    if (fd >= 0 && !f) {
        const int err = errno;

        close(fd);
        errno = err;
    }
    return f;
}
