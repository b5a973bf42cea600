/* tests/world/alloc_count.c: see the header.
 * May touch: libc, the sanitizer's interface.
 */
#include "tests/world/alloc_count.h"

#if defined(__SANITIZE_ADDRESS__)
#define BY_HOOKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BY_HOOKS 1
#endif
#endif

static bool counting;
static uint64_t calls;

static void note(void)
{
    if (counting)
        calls++;
}

uint64_t alloc_count_end(void)
{
    counting = false;
    return calls;
}

#ifdef BY_HOOKS

#include <stddef.h>

/* Of sanitizer/allocator_interface.h, which gcc's packages leave out. */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));

static void on_malloc(const volatile void *p, size_t n)
{
    (void)p;
    (void)n;
    note();
}

static void on_free(const volatile void *p)
{
    if (p)
        note();
}

void alloc_count_begin(void)
{
    static bool installed;
    if (!installed)
        installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) != 0;
    calls = 0;
    counting = installed;
}

bool alloc_count_sees_mmap(void)
{
    return false;
}

#else

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* libc's own, under the names that it keeps for those who stand in front. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);

void *malloc(size_t n)
{
    note();
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    note();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    note();
    return __libc_realloc(p, n);
}

void free(void *p)
{
    note();
    __libc_free(p);
}

void *memalign(size_t align, size_t n)
{
    note();
    return __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    note();
    return __libc_memalign(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
    note();
    *out = __libc_memalign(align, n);
    return *out ? 0 : ENOMEM;
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
    note();
    return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}

void alloc_count_begin(void)
{
    calls = 0;
    counting = true;
}

bool alloc_count_sees_mmap(void)
{
    return true;
}

#endif
