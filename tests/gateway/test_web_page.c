/* tests/gateway/test_web_page.c: the page that is built in, as a program sees it; tests/web shows
 * it to a browser.
 */
#include "gateway/web_page.h"

#include "gateway/web_files.h"

#include <criterion/criterion.h>
#include <string.h>

static struct span bytes_of(const char *path)
{
    for (size_t i = 0; i < web_page_n; i++) {
        if (strcmp(web_page[i].path, path) == 0)
            return span_of(web_page[i].bytes, (size_t)(web_page[i].end - web_page[i].bytes));
    }
    cr_assert_fail("no %s", path);
    return span_of(NULL, 0);
}

static const char *find(struct span in, const char *text)
{
    return memmem(in.p, in.n, text, strlen(text));
}

Test(web_page, every_file_is_there_once_and_fits)
{
    for (size_t i = 0; i < web_page_n; i++) {
        cr_assert_eq(web_page[i].path[0], '/');
        cr_assert_gt(web_page[i].end, web_page[i].bytes, "%s", web_page[i].path);
        cr_assert_leq(web_page[i].end - web_page[i].bytes, WEB_FILE_MAX);
        for (size_t j = 0; j < i; j++)
            cr_assert_str_neq(web_page[i].path, web_page[j].path);
    }
}

/* What a module imports, and what the page loads, is in the table. */
Test(web_page, what_a_file_asks_for_is_there)
{
    uint32_t imports = 0;

    for (size_t i = 0; i < web_page_n; i++) {
        struct span rest = bytes_of(web_page[i].path);
        const char *at;
        while ((at = find(rest, "from \"./")) != NULL) {
            char path[WEB_PATH_MAX] = "";
            const char *name = at + strlen("from \".");
            const size_t n = strcspn(name, "\"");
            memcpy(path, name, n);
            cr_assert_gt(bytes_of(path).n, 0);
            imports++;
            rest = span_of(name, (size_t)(rest.p + rest.n - (const uint8_t *)name));
        }
    }
    cr_assert_gt(imports, 10);
    const struct span index = bytes_of("/index.html");
    cr_assert(find(index, "href=\"/style.css\""));
    cr_assert(find(index, "href=\"/icon.svg\""));
    cr_assert(find(index, "src=\"/main.js\""));
    cr_assert_gt(bytes_of("/style.css").n + bytes_of("/icon.svg").n + bytes_of("/main.js").n, 0);
}

Test(web_page, nothing_comes_from_elsewhere_and_nothing_is_inline_but_the_import_map)
{
    for (size_t i = 0; i < web_page_n; i++) {
        const struct span file = bytes_of(web_page[i].path);
        if (strcmp(web_page[i].path, "/icon.svg") != 0)
            cr_assert_not(find(file, "http://"), "%s", web_page[i].path);
        cr_assert_not(find(file, "https://"), "%s", web_page[i].path);
        cr_assert_not(find(file, "innerHTML"), "%s", web_page[i].path);
    }
    const struct span index = bytes_of("/index.html");
    cr_assert_not(find(index, "<style"));
    cr_assert_not(find(index, "style="));
    cr_assert_not(find(index, " onclick"));
    cr_assert(find(index, "<script type=\"importmap\">" WEB_PAGE_IMPORTS "</script>"));
    const char *script = find(index, "<script");
    int scripts = 0;
    while (script) {
        scripts++;
        script = strstr(script + 1, "<script");
    }
    cr_assert_eq(scripts, 2, "the import map, and main.js by its address");
}
