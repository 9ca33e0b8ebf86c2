/* SPDX-License-Identifier: MIT
 * record_user.cpp - the public headers in C++: they compile with its warnings, and a scope ends where an exception leaves
 * it. */
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "analyze_profile/record.h"

static void fails(ap_recorder *recorder)
{
    AP_SCOPE(recorder, AP_RECORD_COMPUTE, "left by an exception");
    throw std::runtime_error("expected");
}

int main()
{
    ap_recorder_options options = {};
    ap_recorder *recorder = nullptr;
    ap_error error;
    ap_hotspot hotspot;
    if (ap_recorder_new(&options, &recorder, &error) != AP_OK)
        return 1;
    try {
        fails(recorder);
    } catch (const std::runtime_error &) {
    }
    bool recorded =
        ap_recorder_statistics(recorder, "left by an exception", &hotspot, &error) == AP_OK && hotspot.count == 1;
    ap_recorder_free(recorder);
    std::printf("%s 1 - a scope ends where an exception leaves it\n1..1\n", recorded ? "ok" : "not ok");
    return recorded ? 0 : 1;
}
