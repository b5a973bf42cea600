/* tests/proto/test_message_name.c: which names pass. PROTOCOL.md, Framing. */
#include "proto/message.h"

#include "tests/proto/vectors.h"

#include <criterion/criterion.h>

static bool passes(const char *name)
{
    return message_name_ok(span_text(name));
}

Test(message_name, has_one_to_thirty_two_bytes)
{
    cr_assert_not(passes(""));
    cr_assert_not(message_name_ok(span_of(NULL, 0)));
    cr_assert(passes("a"));
    cr_assert(passes("0123456789abcdef0123456789abcdef"));
    cr_assert_not(passes("0123456789abcdef0123456789abcdef0"));
    cr_assert(passes("éééééééééééééééé"));
    cr_assert_not(passes("ééééééééééééééééa"));
}

Test(message_name, may_hold_blanks_and_any_script)
{
    cr_assert(passes(" "));
    cr_assert(passes("Ann of the Hills"));
    cr_assert(passes("世界"));
    cr_assert(passes("\U0001F600"));
    cr_assert(passes("\U0010FFFF"));
}

Test(message_name, that_is_no_utf8_is_refused)
{
    cr_assert_not(passes("\xff"));
    cr_assert_not(passes("a\xc3"));
    cr_assert_not(passes("\xed\xa0\x80"));
    cr_assert_not(passes("\xc1\xbf"));
}

Test(message_name, refuses_exactly_the_characters_of_the_contract)
{
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        uint8_t s[6] = {'a'};
        size_t n = 1;
        if (c < 0x80) {
            s[n++] = (uint8_t)c;
        } else if (c < 0x800) {
            s[n++] = (uint8_t)(0xc0 | c >> 6);
        } else if (c < 0x10000) {
            s[n++] = (uint8_t)(0xe0 | c >> 12);
            s[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        } else {
            s[n++] = (uint8_t)(0xf0 | c >> 18);
            s[n++] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
            s[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        }
        if (c >= 0x80)
            s[n++] = (uint8_t)(0x80 | (c & 0x3f));
        bool refused = c < 0x20 || (c > 0x7e && c < 0xa0) || (c > 0x2027 && c < 0x202f) ||
                       (c > 0x2065 && c < 0x206a) || (c > 0xd7ff && c < 0xe000);
        cr_assert_eq(message_name_ok(span_of(s, n)), !refused, "U+%04X", c);
        cr_assert_eq(message_name_ok(span_of(s + 1, n - 1)), !refused, "U+%04X alone", c);
    }
}
