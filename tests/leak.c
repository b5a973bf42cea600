/* tests/leak.c: no search for leaks when a test program ends.
 * TEST_NO_LEAKS looks inside each test. At the end only the runner's process would be searched, and
 * Criterion 2.4 at times loses 48 bytes there. This holds for test programs alone: what they start
 * is searched as ever. May touch: the sanitizer's interface. On trouble: none.
 */
#include "tests/leak.h"

#ifdef TEST_LEAKS
#include <sanitizer/asan_interface.h>

const char *__asan_default_options(void)
{
    return "leak_check_at_exit=0";
}
#endif
