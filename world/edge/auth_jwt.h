/* world/edge/auth_jwt.h: -auth-key: tokens (JWT) checked against the keys of a file.
 * The core gets its door; the keys can be read anew while it runs (SIGHUP), and whoever is logged
 * in stays. May touch: common/token, common/keyring, world/session/auth. On trouble: a line for the
 * operator; keys that cannot be read anew leave the old ones as they were. No token is in any line.
 */
#pragma once

#include "world/session/auth.h"

struct auth_jwt;

struct auth_jwt_config {
    const char *path; /* the keys: common/keyring; borrowed */
    int64_t leeway_s; /* that clocks may differ */
    int64_t (*unix_s)(void);
};

/* `why`: a line without newline. 0, E_IO, E_BAD, E_NOMEM. */
int auth_jwt_create(const struct auth_jwt_config *c, struct auth_jwt **out, char *why,
                    size_t why_cap) MUST_CHECK;
void auth_jwt_destroy(struct auth_jwt *a); /* NULL is fine */
/* As at the start; after an error the keys are those of before. */
int auth_jwt_reload(struct auth_jwt *a, char *why, size_t why_cap) MUST_CHECK;

uint32_t auth_jwt_keys(const struct auth_jwt *a);
/* For world_ops; NULL gives a door that is shut. */
struct auth_door auth_jwt_door(struct auth_jwt *a);
