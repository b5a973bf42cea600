/* tests/leak.h: look for leaks inside a test.
 * The test runner's workers leave without LeakSanitizer's check at exit, so each test that
 * allocates ends with TEST_NO_LEAKS(). In builds without the sanitizer it does nothing.
 * May touch: the sanitizer's interface.
 */
#pragma once

#include <criterion/criterion.h>

#if defined(__SANITIZE_ADDRESS__)
#define TEST_LEAKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_LEAKS 1
#endif
#endif

#ifdef TEST_LEAKS
#include <sanitizer/lsan_interface.h>
#define TEST_NO_LEAKS() cr_assert_eq(__lsan_do_recoverable_leak_check(), 0, "memory leaked")
#else
#define TEST_NO_LEAKS() ((void)0)
#endif
