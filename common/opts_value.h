/* common/opts_value.h: one value of a flag from its text.
 * For opts.c. May touch: libc. On trouble: one reason, without the flag's name.
 */
#pragma once

#include "common/opts.h"

/* Read `text` as the flag's type, check its range and put it into the config. Texts and addresses
 * are borrowed. Empty is zero, or an empty text, for flags whose default is empty. False with the
 * reason in `why`. */
bool opts_value_set(const struct opt *o, const char *text, void *config, char *why,
                    size_t why_cap) MUST_CHECK;
