/* tests/fuzz/driver.c: runs a fuzz target without libFuzzer, by seeded damage to seeds.
 * Understands the flags of libFuzzer's that we use; others are taken and ignored.
 *
 *   fuzz_X [-runs=N] [-seed=S] [-max_total_time=SECONDS] [-max_len=BYTES]
 *          [-artifact_prefix=PATH] [seeds...]
 *
 * Seeds are files of bytes, folders of them, or .json files, whose "hex" texts count; without any,
 * the golden vectors (seen from the root of the tree). Each seed is run as it is, then N damaged
 * ones; the same flags and seeds do the same runs. With a time and without -runs, until the time.
 * May touch: common, the seeds, PATH.
 * On trouble: the input is written to PATHcrash-S-RUN, and the program ends as the target did.
 */
#include "common/base.h"
#include "tests/mutate.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RUNS_DEFAULT 20000
#define LEN_DEFAULT  4096
#define SEEDS_MAX    8192
#define FILE_MAX     ((size_t)4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* There in builds with a sanitizer, which ends the process without a signal. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

struct seeds {
    struct span items[SEEDS_MAX]; /* each a block of its own */
    size_t n;
};

struct flags {
    uint64_t runs, seed, seconds, max_len;
    bool runs_given;
    const char *prefix;
};

/* What is being run, for whoever ends the process. */
static struct {
    const uint8_t *data;
    size_t size;
    char path[512];
    bool told;
} current;

static void tell(void)
{
    if (current.told || current.path[0] == 0)
        return;
    current.told = true;
    int fd = open(current.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ssize_t wrote = fd >= 0 ? write(fd, current.data, current.size) : -1;
    fprintf(stderr, "driver: the input is %s %s\n",
            wrote == (ssize_t)current.size ? "in" : "lost: cannot write", current.path);
    if (fd >= 0)
        close(fd);
}

static void on_signal(int sig)
{
    tell();
    signal(sig, SIG_DFL);
    raise(sig);
}

static _Noreturn void die(const char *what, const char *name)
{
    fprintf(stderr, "driver: %s %s\n", what, name);
    exit(1);
}

static void *take(size_t n)
{
    void *p = malloc(n > 0 ? n : 1);
    if (p == NULL)
        die("out of memory", "");
    return p;
}

/* --- seeds -------------------------------------------------------------------------------------
 */

static void add_seed(struct seeds *s, const uint8_t *bytes, size_t n)
{
    if (s->n == SEEDS_MAX)
        return;
    uint8_t *copy = take(n);
    memcpy(copy, bytes, n);
    s->items[s->n++] = span_of(copy, n);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Every "hex": "..." of a JSON text: the bytes, and what follows a frame's head. */
static void add_json(struct seeds *s, const char *text)
{
    static const char key[] = "\"hex\": \"";
    for (const char *at = text; (at = strstr(at, key)) != NULL;) {
        at += sizeof key - 1;
        uint8_t *bytes = take(strlen(at) < FILE_MAX ? strcspn(at, "\"") : 0);
        size_t n = 0;
        while (digit(at[0]) >= 0 && digit(at[1]) >= 0) {
            bytes[n++] = (uint8_t)(digit(at[0]) << 4 | digit(at[1]));
            at += 2;
        }
        add_seed(s, bytes, n);
        if (n > 4)
            add_seed(s, bytes + 4, n - 4);
        free(bytes);
    }
}

static void add_file(struct seeds *s, const char *path)
{
    FILE *f = fopen(path, "re");
    if (f == NULL)
        die("cannot open", path);
    uint8_t *bytes = take(FILE_MAX + 1);
    size_t n = fread(bytes, 1, FILE_MAX, f);
    fclose(f);
    const char *dot = strrchr(path, '.');
    bytes[n] = 0;
    if (dot != NULL && strcmp(dot, ".json") == 0)
        add_json(s, (const char *)bytes);
    else
        add_seed(s, bytes, n);
    free(bytes);
}

/* A folder's files in the order of their names, so that a run can be had again. */
static void add_path(struct seeds *s, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        die("cannot find", path);
    if (!S_ISDIR(st.st_mode)) {
        add_file(s, path);
        return;
    }
    struct dirent **names;
    int n = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && stat(file, &st) == 0 && S_ISREG(st.st_mode))
            add_file(s, file);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

/* --- runs --------------------------------------------------------------------------------------
 */

/* In a block of exactly its size, as libFuzzer does it. */
static void run(const struct flags *f, uint64_t number, const uint8_t *data, size_t n)
{
    uint8_t *copy = take(n);
    memcpy(copy, data, n);
    current.data = copy;
    current.size = n;
    snprintf(current.path, sizeof current.path, "%scrash-%llu-%llu", f->prefix,
             (unsigned long long)f->seed, (unsigned long long)number);
    (void)LLVMFuzzerTestOneInput(copy, n);
    current.path[0] = 0;
    free(copy);
}

static uint64_t seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec;
}

/* One seed, or the front of one and the back of another, damaged. */
static size_t make_input(struct rng *r, const struct seeds *s, uint8_t *out, size_t cap)
{
    struct span a = s->items[rng_below(r, s->n)];
    size_t n = a.n < cap ? a.n : cap;
    memcpy(out, a.p, n);
    if (rng_below(r, 8) == 0) {
        struct span b = s->items[rng_below(r, s->n)];
        size_t at = rng_below(r, n + 1), from = rng_below(r, b.n + 1);
        size_t more = b.n - from < cap - at ? b.n - from : cap - at;
        memcpy(out + at, b.p + from, more);
        n = at + more;
    }
    return mutate(r, out, n, cap);
}

static uint64_t run_all(const struct flags *f, const struct seeds *s)
{
    uint64_t end = seconds_now() + f->seconds;
    uint64_t number = 0;
    uint8_t *input = take(f->max_len);
    struct rng r;
    rng_init(&r, f->seed);
    for (; number < s->n; number++)
        run(f, number, s->items[number].p, s->items[number].n);
    for (; f->seconds > 0 || number < s->n + f->runs; number++) {
        if (f->runs_given && number >= s->n + f->runs)
            break;
        if (f->seconds > 0 && number % 256 == 0 && seconds_now() >= end)
            break;
        run(f, number, input, make_input(&r, s, input, f->max_len));
    }
    free(input);
    return number;
}

/* "-name=value" or "-name value" of `name`: the value, and `at` moved to the last word taken. */
static const char *value_of(const char *name, int argc, char **argv, int *at)
{
    size_t n = strlen(name);
    const char *arg = argv[*at] + 1;
    if (strncmp(arg, name, n) != 0)
        return NULL;
    if (arg[n] == '=')
        return arg + n + 1;
    return arg[n] == 0 && *at + 1 < argc ? argv[++*at] : NULL;
}

static uint64_t number_of(const char *text)
{
    char *end;
    uint64_t v = strtoull(text, &end, 10);
    if (end == text || *end != 0)
        die("not a number:", text);
    return v;
}

static void parse(int argc, char **argv, struct flags *f, struct seeds *s)
{
    for (int i = 1; i < argc; i++) {
        const char *v;
        if (argv[i][0] != '-') {
            add_path(s, argv[i]);
        } else if ((v = value_of("runs", argc, argv, &i)) != NULL) {
            f->runs = number_of(v);
            f->runs_given = true;
        } else if ((v = value_of("seed", argc, argv, &i)) != NULL) {
            f->seed = number_of(v);
        } else if ((v = value_of("max_total_time", argc, argv, &i)) != NULL) {
            f->seconds = number_of(v);
        } else if ((v = value_of("max_len", argc, argv, &i)) != NULL) {
            f->max_len = number_of(v);
        } else if ((v = value_of("artifact_prefix", argc, argv, &i)) != NULL) {
            f->prefix = v;
        }
    }
}

int main(int argc, char **argv)
{
    static struct seeds seeds;
    struct flags f = {.runs = RUNS_DEFAULT, .seed = 1, .max_len = LEN_DEFAULT, .prefix = ""};
    parse(argc, argv, &f, &seeds);
    if (seeds.n == 0)
        add_path(&seeds, "tests/vectors");
    if (seeds.n == 0)
        die("no seeds in", "what was given");

    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(tell);
    signal(SIGABRT, on_signal);
    signal(SIGSEGV, on_signal);
    uint64_t runs = run_all(&f, &seeds);
    printf("%s: %llu inputs from %zu seeds, seed %llu: nothing broke\n", argv[0],
           (unsigned long long)runs, seeds.n, (unsigned long long)f.seed);
    for (size_t i = 0; i < seeds.n; i++)
        free((void *)seeds.items[i].p);
    return 0;
}
