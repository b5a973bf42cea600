/* tests/world/test_wire.c: what has to be told of an entity; when is the oracle's and the tick's.
 * May touch: world/interest/wire.
 */
#include "world/interest/wire.h"

#include <criterion/criterion.h>

Test(wire, what_has_to_be_told_is_what_differs)
{
    struct entity_wire a = {.qx = 10, .qy = -10, .dir = 3, .speed = 4}, b = a;
    cr_assert_eq(wire_changes(&a, &b), 0);
    b.dir = 5;
    cr_assert(wire_changes(&a, &b) & EVENT_TELL_DIR);
    cr_assert_not(wire_changes(&a, &b) & (EVENT_TELL_SPEED | EVENT_TELL_FAR));
    b = a;
    b.speed = 5;
    cr_assert(wire_changes(&a, &b) & EVENT_TELL_SPEED);
    cr_assert_not(wire_changes(&a, &b) & (EVENT_TELL_DIR | EVENT_TELL_FAR));
    b = a;
    b.qx++;
    cr_assert(wire_changes(&a, &b) & EVENT_TELL_PLACE);
}

Test(wire, sixteen_thousand_three_hundred_and_eighty_four_quanta_are_far)
{
    static const int32_t at[] = {0, -5000, 1000000000, -1000000000};
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        struct entity_wire a = {.qx = at[i], .qy = at[i]}, b = a;
        b.qx = a.qx + PROTO_WRAP_QUANTA - 1;
        b.qy = a.qy - (PROTO_WRAP_QUANTA - 1);
        cr_assert_not(wire_changes(&a, &b) & EVENT_TELL_FAR);
        b.qx++;
        cr_assert(wire_changes(&a, &b) & EVENT_TELL_FAR);
        b.qx = a.qx;
        b.qy--;
        cr_assert(wire_changes(&a, &b) & EVENT_TELL_FAR);
        cr_assert(wire_changes(&b, &a) & EVENT_TELL_FAR);
    }
}

Test(wire, a_tail_says_what_changed_and_the_place)
{
    struct entity_wire w = {.qx = -1, .qy = 65537, .dir = 7, .speed = 9};
    struct aoi_move_tail t = wire_tail(&w, EVENT_TELL_PLACE);
    cr_assert(t.len == 4 && t.flags == 0);
    cr_assert(t.bytes[0] == 0xff && t.bytes[1] == 0xff && t.bytes[2] == 1 && t.bytes[3] == 0);
    t = wire_tail(&w, EVENT_TELL_PLACE | EVENT_TELL_DIR);
    cr_assert(t.len == 5 && t.flags == 1 && t.bytes[4] == 7);
    t = wire_tail(&w, EVENT_TELL_PLACE | EVENT_TELL_SPEED);
    cr_assert(t.len == 5 && t.flags == 2 && t.bytes[4] == 9);
    t = wire_tail(&w, EVENT_TELL_PLACE | EVENT_TELL_DIR | EVENT_TELL_SPEED);
    cr_assert(t.len == 6 && t.flags == 3 && t.bytes[4] == 7 && t.bytes[5] == 9);
}
