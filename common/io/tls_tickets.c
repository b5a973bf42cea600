/* common/io/tls_tickets.c: the keys of session tickets; see the header. May touch: OpenSSL. */
#include "common/io/tls_tickets.h"

#include "common/parts.h"

#ifdef PARTS_TLS

#include "common/io/tls.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>

bool tls_tickets_step(struct tls_tickets *k, struct mono now)
{
    if (k->has_now && clock_since(now, k->since) < TLS_TICKET_NS)
        return true;
    struct tls_ticket_key fresh;
    if (RAND_bytes(fresh.name, sizeof(fresh.name)) != 1 ||
        RAND_priv_bytes(fresh.cipher, sizeof(fresh.cipher)) != 1 ||
        RAND_priv_bytes(fresh.mac, sizeof(fresh.mac)) != 1)
        return false;
    /* One that was out of use for as long again has no ticket that is still good. */
    k->has_before = k->has_now && clock_since(now, k->since) < 2 * TLS_TICKET_NS;
    k->before = k->now;
    k->now = fresh;
    k->has_now = true;
    k->since = now;
    OPENSSL_cleanse(&fresh, sizeof(fresh));
    return true;
}

static bool set_mac(struct evp_mac_ctx_st *mac, const struct tls_ticket_key *key)
{
    uint8_t copy[sizeof(key->mac)]; /* OpenSSL's parameters are not const */
    char digest[] = "SHA256";

    memcpy(copy, key->mac, sizeof(copy));
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, copy, sizeof(copy)),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    const bool ok = EVP_MAC_CTX_set_params(mac, params) == 1;
    OPENSSL_cleanse(copy, sizeof(copy));
    return ok;
}

int tls_tickets_give(struct tls_tickets *k, uint8_t name[16], uint8_t iv[16],
                     struct evp_cipher_ctx_st *cipher, struct evp_mac_ctx_st *mac)
{
    const EVP_CIPHER *aes = EVP_aes_256_cbc();

    if (!k->has_now || RAND_bytes(iv, EVP_CIPHER_get_iv_length(aes)) != 1 ||
        EVP_EncryptInit_ex(cipher, aes, NULL, k->now.cipher, iv) != 1 || !set_mac(mac, &k->now))
        return -1;
    memcpy(name, k->now.name, sizeof(k->now.name));
    return 1;
}

int tls_tickets_take(struct tls_tickets *k, const uint8_t name[16], const uint8_t iv[16],
                     struct evp_cipher_ctx_st *cipher, struct evp_mac_ctx_st *mac)
{
    const bool now = k->has_now && memcmp(name, k->now.name, sizeof(k->now.name)) == 0;
    const bool before = k->has_before && memcmp(name, k->before.name, sizeof(k->before.name)) == 0;
    const struct tls_ticket_key *key = now ? &k->now : &k->before;

    if (!now && !before)
        return 0;
    if (EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key->cipher, iv) != 1 ||
        !set_mac(mac, key))
        return -1;
    return now ? 1 : 2;
}

void tls_tickets_wipe(struct tls_tickets *k)
{
    OPENSSL_cleanse(k, sizeof(*k));
}

#endif
