/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "large.h"

#include <stdint.h>
#include <sys/mman.h>

#include "poison.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define AP_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define AP_SANITIZED 1
#endif

/* Sanitizers see the ends of what the C library hands out alone. */
#if defined(MADV_HUGEPAGE) && defined(MREMAP_FIXED) && !defined(AP_SANITIZED)

#define HUGE_BYTES ((size_t)2 << 20)
#define LEAST_BYTES ((size_t)16 << 20) /* of less, a last huge page that is hardly used is too large a part */
#define PAGES_BYTES ((size_t)64 << 10) /* all kernels take multiples of it */
#define TAIL_BYTES ((size_t)768 << 10) /* of less, too much of a last huge page would be wasted */

static size_t whole_pages(size_t bytes)
{
    size_t pages = bytes < LEAST_BYTES || bytes % HUGE_BYTES < TAIL_BYTES ? PAGES_BYTES : HUGE_BYTES;
    return (bytes + pages - 1) & ~(pages - 1);
}

/* Those that are touched from here on. Where all are, none is too large: what does not fill one is in small pages. */
static void *in_huge_pages(void *memory, size_t bytes, bool is_all_used)
{
    if (memory && (is_all_used || bytes >= LEAST_BYTES))
        (void)madvise(memory, whole_pages(bytes), MADV_HUGEPAGE);
    return memory;
}

/* They begin with a huge page: a block that moves there takes its huge pages along. */
static void *take_addresses(size_t bytes, int protection)
{
    unsigned char *taken = mmap(NULL, bytes + HUGE_BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (taken == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)taken & (HUGE_BYTES - 1);
    if (before)
        (void)munmap(taken, before);
    if (before < HUGE_BYTES)
        (void)munmap(taken + before + bytes, HUGE_BYTES - before);
    return taken + before;
}

bool ap_is_large(size_t bytes)
{
    return bytes >= HUGE_BYTES;
}

/* Page by page each would be an interrupt, and one that is read before it is written, as in tables, a second one in which
 * all other threads have to forget the first. Systems that know no such call (before Linux 5.14) take them page by page. */
void ap_large_take(void *memory, size_t from, size_t to)
{
#if defined(MADV_POPULATE_WRITE)
    size_t start = from & ~(PAGES_BYTES - 1);
    (void)madvise((unsigned char *)memory + start, to - start, MADV_POPULATE_WRITE);
#else
    (void)memory;
    (void)from;
    (void)to;
#endif
}

void *ap_large_new(size_t bytes, bool is_all_used)
{
    void *memory = in_huge_pages(take_addresses(whole_pages(bytes), PROT_READ | PROT_WRITE), bytes, is_all_used);
    if (memory && is_all_used)
        ap_large_take(memory, 0, whole_pages(bytes));
    return memory;
}

void *ap_large_resize(void *memory, size_t old_bytes, size_t new_bytes)
{
    size_t old_size = whole_pages(old_bytes), new_size = whole_pages(new_bytes);
    void *resized = mremap(memory, old_size, new_size, 0);
    if (resized != MAP_FAILED)
        return in_huge_pages(resized, new_bytes, false);
    /* Where addresses are short, as under ulimit -v, any place will do. A refused move may have given the place back, and
     * another thread may live there by now: it is not given back twice. */
    void *place = take_addresses(new_size, PROT_NONE);
    resized = mremap(memory, old_size, new_size, place ? MREMAP_MAYMOVE | MREMAP_FIXED : MREMAP_MAYMOVE, place);
    return resized != MAP_FAILED ? in_huge_pages(resized, new_bytes, false) : NULL;
}

void ap_large_free(void *memory, size_t bytes)
{
    (void)munmap(memory, whole_pages(bytes));
}

#else

bool ap_is_large(size_t bytes)
{
    (void)bytes;
    return false;
}

/* Never asked for. */
void *ap_large_new(size_t bytes, bool is_all_used)
{
    (void)bytes;
    (void)is_all_used;
    return NULL;
}

void *ap_large_resize(void *memory, size_t old_bytes, size_t new_bytes)
{
    (void)memory;
    (void)old_bytes;
    (void)new_bytes;
    return NULL;
}

void ap_large_take(void *memory, size_t from, size_t to)
{
    (void)memory;
    (void)from;
    (void)to;
}

void ap_large_free(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

#endif
