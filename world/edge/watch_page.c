/* world/edge/watch_page.c: see the header. */
#include "world/edge/watch_page.h"

#include "common/embed.h"

EMBED(watch_page_html, "world/edge/page/map.html");
EMBED(watch_page_css, "world/edge/page/map.css");
EMBED(watch_page_map, "world/edge/page/map.js");
EMBED(watch_page_view, "world/edge/page/view.js");
EMBED(watch_page_feed, "world/edge/page/feed.js");
EMBED(watch_page_chart, "world/edge/page/chart.js");
EMBED(watch_page_panel, "world/edge/page/panel.js");

static const struct {
    const char *path;
    const uint8_t *from, *to;
} files[] = {
    {"/map", watch_page_html, watch_page_html_end},
    {"/map/map.css", watch_page_css, watch_page_css_end},
    {"/map/map.js", watch_page_map, watch_page_map_end},
    {"/map/view.js", watch_page_view, watch_page_view_end},
    {"/map/feed.js", watch_page_feed, watch_page_feed_end},
    {"/map/chart.js", watch_page_chart, watch_page_chart_end},
    {"/map/panel.js", watch_page_panel, watch_page_panel_end},
};

int watch_page(void *arg, const struct http_order *in, FILE *to)
{
    (void)arg;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (!span_equal(in->path, span_text(files[i].path)))
            continue;
        fwrite(files[i].from, 1, (size_t)(files[i].to - files[i].from), to);
        return 200;
    }
    ASSERT(!"a route of WATCH_PAGE_ROUTES has no file");
    return 500;
}
