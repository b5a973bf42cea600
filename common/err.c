/* common/err.c: the texts of err.h's table.
 * May touch: nothing. On trouble: an unknown number has a text too.
 */
#include "common/err.h"

const char *err_text(int err)
{
    switch (err) {
#define ERR_CASE(name, value, text) \
    case name:                      \
        return text;
        ERR_TABLE(ERR_CASE)
#undef ERR_CASE
    default:
        return "unknown error";
    }
}
