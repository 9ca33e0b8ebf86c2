/* SPDX-License-Identifier: MIT
 * json_dispatch.c - which instruction sets there are and which one this processor should use. */
#include "json_scan.h"

#include "poison.h"

extern const struct ap_scan_ops ap_scan_ops_plain;
#if defined(AP_HAVE_X86)
extern const struct ap_scan_ops ap_scan_ops_sse2, ap_scan_ops_avx2;
#elif defined(AP_HAVE_NEON)
extern const struct ap_scan_ops ap_scan_ops_neon;
#endif

const struct ap_scan_constants ap_scan_constants = {
    { REPEAT_32('"') }, { REPEAT_32('\\') }, { REPEAT_32(0x1f) }, { REPEAT_32('0') }, { REPEAT_32(9) }
};

/* Plain C first; each later one is wider. */
unsigned ap_scan_count(void)
{
#if defined(AP_HAVE_X86)
    return __builtin_cpu_supports("avx2") ? 3 : 2;
#elif defined(AP_HAVE_NEON)
    return 2;
#else
    return 1;
#endif
}

const struct ap_scan_ops *ap_scan_at(unsigned index)
{
    static const struct ap_scan_ops *const all[] = {
        &ap_scan_ops_plain,
#if defined(AP_HAVE_X86)
        &ap_scan_ops_sse2,
        &ap_scan_ops_avx2,
#elif defined(AP_HAVE_NEON)
        &ap_scan_ops_neon,
#endif
    };
    return all[index];
}

const struct ap_scan_ops *ap_scan_best(void)
{
    return ap_scan_at(ap_scan_count() - 1);
}
