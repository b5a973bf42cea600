/* common/io/tls_tickets.h: the keys that session tickets are sealed with: one for new ones, and the
 * one before it for those that are out.
 * They belong to the process and not to a certificate, so a ticket is good in every thread and
 * after a reload. For tls.c only. May touch: OpenSSL. Never: the clock.
 * On trouble: a ticket that cannot be opened means a whole handshake.
 *
 *   ticket   [ name 16 | iv 16 | AES-256-CBC | HMAC-SHA-256 32 ]   RFC 5077, 4
 */
#pragma once

#include "common/base.h"
#include "common/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct evp_cipher_ctx_st; /* OpenSSL's EVP_CIPHER_CTX */
struct evp_mac_ctx_st;    /* OpenSSL's EVP_MAC_CTX */

struct tls_ticket_key {
    uint8_t name[16], cipher[32], mac[32];
};

struct tls_tickets {
    struct tls_ticket_key now, before;
    struct mono since; /* `now` is in use */
    bool has_now, has_before;
};

/* Change keys where it is time. False: there is no randomness. */
bool tls_tickets_step(struct tls_tickets *k, struct mono now) MUST_CHECK;
/* Set up sealing a new ticket. 1; -1: cannot. As OpenSSL's callback returns. */
int tls_tickets_give(struct tls_tickets *k, uint8_t name[16], uint8_t iv[16],
                     struct evp_cipher_ctx_st *cipher, struct evp_mac_ctx_st *mac);
/* Set up opening one. 1; 2: opened, and a new one is due; 0: a key that is not ours; -1: cannot. */
int tls_tickets_take(struct tls_tickets *k, const uint8_t name[16], const uint8_t iv[16],
                     struct evp_cipher_ctx_st *cipher, struct evp_mac_ctx_st *mac);
void tls_tickets_wipe(struct tls_tickets *k);
