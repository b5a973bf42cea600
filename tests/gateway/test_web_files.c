/* tests/gateway/test_web_files.c: a folder that is served: what is in the table, and what is not.
 */
#include "gateway/web_files.h"

#include "common/err.h"
#include "tests/gateway/fake.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[256];

static void setup(void)
{
    const char *tmp = getenv("TMPDIR");

    fake_quiet();
    snprintf(dir, sizeof(dir), "%s/aegis-web-XXXXXX", tmp ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(dir));
}

static const char *path_of(const char *name)
{
    static char path[512];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void put(const char *name, const char *text, off_t length)
{
    const int fd = open(path_of(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    if (length > 0)
        cr_assert_eq(ftruncate(fd, length), 0);
    close(fd);
}

static void teardown(void)
{
    static const char *const names[] = {
        "index.html", "a.js",    "sub/index.html", "sub/b.css",  ".hidden",    "a name.txt",
        "out.html",   "c.bin",   "pipe",           "away",       "a.json",     "b.json",
        "tiles.png",  "make.py", "large.json",     "index.json", "sub/c.json", "maps/a.json"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unlink(path_of(names[i]));
    rmdir(path_of("sub"));
    rmdir(path_of("maps"));
    rmdir(dir);
}

TestSuite(web_files, .init = setup, .fini = teardown);

static bool has(const struct web_files *w, const char *path, struct web_file *out)
{
    return web_files_find(w, span_text(path), out);
}

Test(web_files, a_folder_is_served_as_it_is_with_its_types)
{
    struct web_files *w;
    struct web_file file;
    char why[512];

    put("index.html", "<p>hi", 0);
    put("a.js", "1", 0);
    put("c.bin", "", 1048576);
    cr_assert_eq(mkdir(path_of("sub"), 0700), 0);
    put("sub/index.html", "sub", 0);
    put("sub/b.css", "", 0);
    cr_assert_eq(web_files_create(dir, &w, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(web_files_count(w), 5);
    cr_assert(has(w, "/", &file));
    cr_assert(span_equal(file.bytes, span_text("<p>hi")));
    cr_assert_str_eq(file.type, "text/html; charset=utf-8");
    cr_assert(has(w, "/index.html", &file));
    cr_assert(has(w, "/a.js", &file));
    cr_assert_str_eq(file.type, "text/javascript; charset=utf-8");
    cr_assert(has(w, "/sub/", &file));
    cr_assert(span_equal(file.bytes, span_text("sub")));
    cr_assert(has(w, "/sub/b.css", &file));
    cr_assert_eq(file.bytes.n, 0);
    cr_assert(has(w, "/c.bin", &file));
    cr_assert_eq(file.bytes.n, 1048576);
    cr_assert_str_eq(file.type, "application/octet-stream");
    web_files_destroy(w);
    TEST_NO_LEAKS();
}

Test(web_files, nothing_else_exists_whatever_a_path_says)
{
    static const char *const none[] = {
        "",
        "index.html",
        "//index.html",
        "/./index.html",
        "/sub/../index.html",
        "/..",
        "/../etc/passwd",
        "/%2e%2e/index.html",
        "/%69ndex.html",
        "/sub",
        "/INDEX.HTML",
        "/index.html/",
        "/.hidden",
        "/a name.txt",
        "/out.html",
        "/away/hosts",
        "/pipe",
        "/index.html\\",
    };
    struct web_files *w;
    struct web_file file;
    char why[512];

    put("index.html", "x", 0);
    put(".hidden", "x", 0);
    put("a name.txt", "x", 0);
    cr_assert_eq(mkdir(path_of("sub"), 0700), 0);
    cr_assert_eq(symlink("/etc/hostname", path_of("out.html")), 0);
    cr_assert_eq(symlink("/etc", path_of("away")), 0);
    cr_assert_eq(mkfifo(path_of("pipe"), 0600), 0);
    cr_assert_eq(web_files_create(dir, &w, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(web_files_count(w), 1);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        cr_assert_not(has(w, none[i], &file), "%s", none[i]);
    cr_assert_not(web_files_find(w, span_of("/index.html\0.js", 15), &file));
    web_files_destroy(w);
    TEST_NO_LEAKS();
}

Test(web_files, what_cannot_be_served_is_said_at_the_start)
{
    struct web_files *w = NULL;
    char why[512];

    put("c.bin", "", 1048577);
    cr_assert_eq(web_files_create(dir, &w, why, sizeof(why)), E_FULL);
    cr_assert(strstr(why, "c.bin\": larger than 1 MiB"), "%s", why);
    cr_assert_eq(web_files_create(path_of("none"), &w, why, sizeof(why)), E_IO);
    cr_assert(strstr(why, "No such file"), "%s", why);
    cr_assert_eq(web_files_create(path_of("c.bin"), &w, why, sizeof(why)), E_IO);
    cr_assert_null(w);
    TEST_NO_LEAKS();
}

Test(web_files, without_a_folder_there_is_the_page_that_is_built_in)
{
    struct web_files *w;
    struct web_file file;
    char why[512];

    cr_assert_eq(web_files_create("", &w, why, sizeof(why)), 0);
    cr_assert(has(w, "/", &file));
    cr_assert(has(w, "/index.html", &file));
    cr_assert_str_eq(file.type, "text/html; charset=utf-8");
    cr_assert(has(w, "/main.js", &file));
    cr_assert_str_eq(file.type, "text/javascript; charset=utf-8");
    cr_assert(has(w, "/aegis.js", &file));
    cr_assert_not(has(w, "/ws", &file));
    cr_assert_not(has(w, WEB_MAPS_INDEX, &file));
    cr_assert_eq(web_files_add_maps(w, "", why, sizeof(why)), 0);
    cr_assert(has(w, WEB_MAPS_INDEX, &file));
    cr_assert(span_equal(file.bytes, span_text("[]\n")));
    web_files_destroy(w);
    TEST_NO_LEAKS();
}

Test(web_files, of_maps_only_what_a_page_draws_is_served)
{
    struct web_files *w;
    struct web_file file;
    char why[512];

    put("b.json", "{\"b\": 1}", 0);
    put("a.json", "{}", 0);
    put("tiles.png", "png", 0);
    put("make.py", "secret", 0);
    put("large.json", "", 1048577);
    put("index.json", "no list", 0);
    cr_assert_eq(mkdir(path_of("sub"), 0700), 0);
    put("sub/c.json", "{}", 0);
    cr_assert_eq(web_files_create("", &w, why, sizeof(why)), 0);
    const uint32_t before = web_files_count(w);
    cr_assert_eq(web_files_add_maps(w, dir, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(web_files_count(w), before + 4, "three files and their index");
    cr_assert(has(w, "/maps/b.json", &file));
    cr_assert(span_equal(file.bytes, span_text("{\"b\": 1}")));
    cr_assert_str_eq(file.type, "application/json");
    cr_assert(has(w, "/maps/tiles.png", &file));
    cr_assert_str_eq(file.type, "image/png");
    cr_assert(has(w, WEB_MAPS_INDEX, &file));
    cr_assert(span_equal(file.bytes, span_text("[\"a\",\"b\"]\n")), "%.*s", (int)file.bytes.n,
              (const char *)file.bytes.p);
    cr_assert(has(w, "/index.html", &file), "the page is still found");
    web_files_destroy(w);
    TEST_NO_LEAKS();
}

Test(web_files, a_folder_with_maps_of_its_own_keeps_them)
{
    struct web_files *w;
    struct web_file file;
    char why[512];

    cr_assert_eq(mkdir(path_of("maps"), 0700), 0);
    put("maps/a.json", "its own", 0);
    put("a.json", "the other", 0);
    cr_assert_eq(web_files_create(dir, &w, why, sizeof(why)), 0);
    cr_assert_eq(web_files_add_maps(w, dir, why, sizeof(why)), 0);
    cr_assert(has(w, "/maps/a.json", &file));
    cr_assert(span_equal(file.bytes, span_text("its own")));
    cr_assert_eq(web_files_add_maps(w, path_of("none"), why, sizeof(why)), E_IO);
    cr_assert(strstr(why, "No such file"), "%s", why);
    web_files_destroy(w);
    TEST_NO_LEAKS();
}
