/* SPDX-License-Identifier: MIT
 * tap.h - the test harness: each check prints one line of TAP, done() prints the plan and is main's return value.
 *
 *     static void sums_add_up(void) { is_int(1 + 1, 2, "one and one"); }
 *     int main(void) { sums_add_up(); return done(); }
 *
 * A test's name is the claim it makes. Texts are shown with control bytes written as \xNN. */
#ifndef AP_TAP_H
#define AP_TAP_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "analyze_profile/model.h" /* struct ap_text */

static struct {
    int count, failed;
} tap_state;

#define TAP_UNUSED __attribute__((unused))

/** A claim may quote an input: its control characters would break the log into lines of their own. */
TAP_UNUSED static void tap_print_claim(const char *text)
{
    for (; *text; text++)
        putchar((unsigned char)*text < 0x20 || *text == '#' ? ' ' : *text);
    putchar('\n');
}

/** The check that all others come down to. Returns @condition, so that a test can stop where no more makes sense. */
TAP_UNUSED static bool tap_check(bool condition, const char *text, const char *file, int line)
{
    tap_state.count++;
    tap_state.failed += !condition;
    printf("%sok %d - ", condition ? "" : "not ", tap_state.count);
    tap_print_claim(text);
    if (!condition)
        printf("#   at %s:%d\n", file, line);
    return condition;
}

TAP_UNUSED static void tap_show(const char *label, const char *data, size_t bytes)
{
    printf("#   %s \"", label);
    for (size_t i = 0; i < bytes && i < 2000; i++) {
        unsigned char byte = (unsigned char)data[i];
        if (byte < 32 || byte == 127)
            printf("\\x%02x", byte);
        else
            putchar(byte);
    }
    printf("\"%s (%zu bytes)\n", bytes > 2000 ? "..." : "", bytes);
}

TAP_UNUSED static bool tap_is_text(const char *got, size_t got_bytes, const char *want, const char *text, const char *file,
                                   int line)
{
    size_t want_bytes = strlen(want);
    bool same = got_bytes == want_bytes && (got_bytes == 0 || memcmp(got, want, got_bytes) == 0);
    if (!tap_check(same, text, file, line)) {
        tap_show(" got", got, got_bytes);
        tap_show("want", want, want_bytes);
    }
    return same;
}

TAP_UNUSED static bool tap_is_str(const char *got, const char *want, const char *text, const char *file, int line)
{
    if (!got)
        return tap_check(false, text, file, line);
    return tap_is_text(got, strlen(got), want, text, file, line);
}

TAP_UNUSED static bool tap_is_int(int64_t got, int64_t want, const char *text, const char *file, int line)
{
    if (!tap_check(got == want, text, file, line))
        printf("#    got %" PRId64 "\n#   want %" PRId64 "\n", got, want);
    return got == want;
}

TAP_UNUSED static bool tap_is_u64(uint64_t got, uint64_t want, const char *text, const char *file, int line)
{
    if (!tap_check(got == want, text, file, line))
        printf("#    got %" PRIu64 "\n#   want %" PRIu64 "\n", got, want);
    return got == want;
}

#define ok(condition, text) tap_check((condition), (text), __FILE__, __LINE__)
#define is_int(got, want, text) tap_is_int((int64_t)(got), (int64_t)(want), (text), __FILE__, __LINE__)
#define is_u64(got, want, text) tap_is_u64((uint64_t)(got), (uint64_t)(want), (text), __FILE__, __LINE__)
/** @got: a C string, or NULL, which never matches. */
#define is_str(got, want, text) tap_is_str((got), (want), (text), __FILE__, __LINE__)

TAP_UNUSED static bool tap_is_ap_text(struct ap_text got, const char *want, const char *text, const char *file, int line)
{
    return tap_is_text(got.data, got.bytes, want, text, file, line);
}
/** @got: struct ap_text; @want: a C string. */
#define is_text(got, want, text) tap_is_ap_text((got), (want), (text), __FILE__, __LINE__)

/** One check that cannot be made here; @text says why. */
TAP_UNUSED static void skip(const char *text)
{
    tap_state.count++;
    printf("ok %d # SKIP %s\n", tap_state.count, text);
}

/** A remark for who reads the log. */
TAP_UNUSED static void note(const char *text)
{
    printf("# %s\n", text);
}

/** The plan; main's return value. */
TAP_UNUSED static int done(void)
{
    printf("1..%d\n", tap_state.count);
    if (tap_state.failed)
        printf("# %d of %d failed\n", tap_state.failed, tap_state.count);
    return tap_state.failed ? 1 : 0;
}

#endif
