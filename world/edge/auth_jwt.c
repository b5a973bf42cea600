/* world/edge/auth_jwt.c: see the header. */
#include "world/edge/auth_jwt.h"

#include <stdio.h>
#include <stdlib.h>

struct auth_jwt {
    struct auth_jwt_config config;
    struct keyring keys;
};

static enum auth_verdict check(void *arg, struct span token, struct span name)
{
    const struct auth_jwt *a = arg;
    struct token_claims claims;
    enum token_flaw flaw = token_read(&a->keys, token, &claims);

    if (flaw != TOKEN_SOUND)
        return auth_flaw(flaw);
    return auth_claims(&claims, name, a->config.unix_s(), a->config.leeway_s);
}

static const struct auth_ops auth_jwt_ops = {.check = check};

int auth_jwt_create(const struct auth_jwt_config *c, struct auth_jwt **out, char *why,
                    size_t why_cap)
{
    struct auth_jwt *a = calloc(1, sizeof(*a));
    int err;

    *out = NULL;
    if (!a) {
        snprintf(why, why_cap, "%s", err_text(E_NOMEM));
        return E_NOMEM;
    }
    a->config = *c;
    err = keyring_read(c->path, &a->keys, why, why_cap);
    if (err != 0)
        auth_jwt_destroy(a);
    else
        *out = a;
    return err;
}

void auth_jwt_destroy(struct auth_jwt *a)
{
    if (!a)
        return;
    keyring_fini(&a->keys);
    free(a);
}

int auth_jwt_reload(struct auth_jwt *a, char *why, size_t why_cap)
{
    struct keyring keys;
    int err = keyring_read(a->config.path, &keys, why, why_cap);

    if (err != 0)
        return err;
    keyring_fini(&a->keys);
    a->keys = keys;
    return 0;
}

uint32_t auth_jwt_keys(const struct auth_jwt *a)
{
    return a->keys.n;
}

struct auth_door auth_jwt_door(struct auth_jwt *a)
{
    return a ? (struct auth_door){&auth_jwt_ops, a} : (struct auth_door){0};
}
