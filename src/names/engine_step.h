/* SPDX-License-Identifier: MIT
 * engine_step.h - what the name of an annotation tells of one step of an inference engine: how many requests and tokens it
 * works on, and whether it reads prompts (prefill) or writes answers (decode). */
#ifndef AP_ENGINE_STEP_H
#define AP_ENGINE_STEP_H

#include "base.h"

enum ap_engine_phase {
    AP_ENGINE_prefill,   /* reads prompts */
    AP_ENGINE_decode,    /* one token, or a few that are guessed, for each request */
    AP_ENGINE_mixed,     /* both */
    AP_ENGINE_diffusion, /* makes an image or a video */
    AP_ENGINE_empty,     /* nothing to do: the other ranks have */
    AP_ENGINE_other,     /* not told */
    AP_ENGINE_PHASE_COUNT_
};

/** Counts are -1 where the name does not tell them. */
struct ap_engine_step_name {
    const char *engine; /* whose form the name has: "vLLM" */
    enum ap_engine_phase phase;
    int64_t requests, context_requests, generation_requests;
    int64_t tokens, context_tokens, generation_tokens; /* that are worked on, not that are held */
    double attention_pairs; /* of a token and one before it or itself, of all requests; negative = not told */
    double attention_keys;  /* tokens that are looked at, of all requests; likewise */
};

/** Of vLLM "execute_context_2(30)_generation_4(4)", its older and longer forms and "execute_new_1_cached_3"; of SGLang
 *  "step[DECODE bs=32]"; of TensorRT-LLM "[Executor] _forward_step 7: 1 ctx reqs, 0 gen reqs"; of xDiT
 *  "execute_diffusion_1_256x256"; of ATOM "decode[bs=64 tok=64 d=64]". False where it is no such name. */
bool ap_engine_step_name_read(struct ap_text name, struct ap_engine_step_name *ret_name);

/** As the report writes it: "prefill". */
const char *ap_engine_phase_name(enum ap_engine_phase phase);

#endif
