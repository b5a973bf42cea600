/* tests/bench/rival_cert.c: a certificate for programs that are measured under TLS; see the header.
 */
#include "tests/bench/rival_cert.h"

#include "common/io/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct rival_cert made;
static char dir[] = "/tmp/aegis-bench-XXXXXX";

static void remove_all(void)
{
    unlink(made.cert);
    unlink(made.key);
    rmdir(dir);
}

static bool make(void)
{
    char command[512];

    if (!tls_library() || !mkdtemp(dir))
        return false;
    snprintf(made.cert, sizeof(made.cert), "%s/cert.pem", dir);
    snprintf(made.key, sizeof(made.key), "%s/key.pem", dir);
    atexit(remove_all);
    snprintf(command, sizeof(command),
             "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
             "-subj /CN=localhost -keyout %s -out %s >/dev/null 2>&1",
             made.key, made.cert);
    return system(command) == 0;
}

const struct rival_cert *rival_cert_get(void)
{
    static bool asked, good;

    if (!asked)
        good = make();
    asked = true;
    return good ? &made : NULL;
}
