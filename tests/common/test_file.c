/* tests/common/test_file.c: who opens a file to read it waits for nobody. */
#include "common/file.h"

#include "common/keyring.h"
#include "common/keys.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];

static void make_pipe(void)
{
    snprintf(path, sizeof(path), "/tmp/file-%d", getpid());
    cr_assert_eq(mkfifo(path, 0600), 0);
}

Test(file, what_is_not_there_is_said)
{
    cr_assert_null(file_open("/nowhere/at/all"));
    cr_expect_eq(errno, ENOENT);
}

Test(file, a_pipe_that_nobody_writes_to_is_empty_and_not_waited_for, .timeout = 10)
{
    make_pipe();
    FILE *f = file_open(path);

    unlink(path);
    cr_assert_not_null(f);
    cr_expect_eq(fgetc(f), EOF);
    cr_expect(feof(f));
    fclose(f);
    TEST_NO_LEAKS();
}

Test(file, what_somebody_writes_into_a_pipe_is_read_to_its_end, .timeout = 10)
{
    char line[16];

    make_pipe();
    const pid_t writer = fork();
    cr_assert_geq(writer, 0);
    if (writer == 0) {
        const int fd = open(path, O_WRONLY); /* comes back once there is a reader */

        usleep(50000);
        _exit(fd >= 0 && write(fd, "words\n", 6) == 6 ? 0 : 1);
    }
    usleep(50000);
    FILE *f = file_open(path);

    unlink(path);
    cr_assert_not_null(f);
    cr_assert_not_null(fgets(line, sizeof(line), f));
    cr_expect_str_eq(line, "words\n");
    cr_expect_null(fgets(line, sizeof(line), f));
    fclose(f);
}

Test(file, secrets_whose_file_became_a_pipe_are_not_read_and_nobody_stands_still, .timeout = 10)
{
    struct keyring ring;
    struct keys k;
    char why[256];

    make_pipe();
    keys_init(&k, path);
    cr_expect_lt(keys_read(&k, why, sizeof(why)), 0);
    cr_expect_lt(keyring_read(path, &ring, why, sizeof(why)), 0);
    keys_fini(&k);
    unlink(path);
    TEST_NO_LEAKS();
}
