/* world/edge/store_none.c: see the header. */
#include "world/edge/store_none.h"

struct store_door store_none_door(void)
{
    return (struct store_door){0};
}
