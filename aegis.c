/* aegis.c: the front door.
 * Finds -role among the arguments and hands them to that role's main, which checks the rest.
 * May touch: gateway_main, world_main. Never: anything behind them.
 */
#include "gateway/gateway_main.h"
#include "world/world_main.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: aegis -role=world|gateway [flags]   (aegis -role=world -help)\n";

/* The value of -role in `argv`, NULL where there is none. */
static const char *role_find(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (a[0] != '-')
            continue;
        a += a[1] == '-' ? 2 : 1;
        if (strncmp(a, "role=", 5) == 0)
            return a + 5;
        if (strcmp(a, "role") == 0)
            return i + 1 < argc ? argv[i + 1] : "";
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const char *role = role_find(argc, argv);

    if (role && strcmp(role, "world") == 0)
        return world_main(argc, argv);
    if (role && strcmp(role, "gateway") == 0)
        return gateway_main(argc, argv);
    if (role) {
        fprintf(stderr, "aegis: -role=%s: must be world or gateway\n", role);
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i] + strspn(argv[i], "-");

        if (strcmp(flag, "help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(flag, "version") == 0) {
            char *both[] = {argv[0], argv[i], NULL};
            return gateway_main(2, both); /* the same for either role */
        }
    }
    fputs(usage, stderr);
    return 2;
}
