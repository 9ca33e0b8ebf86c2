/* SPDX-License-Identifier: MIT
 * Steps of inference engines: what their names tell, and what of the host and the device belongs to them. */
#include "engine_step.h"
#include "typed_trace.h"

static struct ap_engine_step_name read_name(const char *text)
{
    struct ap_engine_step_name name = { "none", AP_ENGINE_other, -2, -2, -2, -2, -2, -2, -2, -2 };
    return ap_engine_step_name_read(ap_text_of(text), &name) ? name : (struct ap_engine_step_name){ .engine = "none" };
}

static bool tells(const char *text, const char *engine, enum ap_engine_phase phase, int64_t requests, int64_t tokens)
{
    struct ap_engine_step_name name = read_name(text);
    return !strcmp(name.engine, engine) && name.phase == phase && name.requests == requests && name.tokens == tokens;
}

static bool is(double figure, double expected)
{
    return figure >= expected && figure <= expected;
}

static void names_tell_requests_and_tokens(void)
{
    ok(tells("execute_context_1(888)_generation_3(3)", "vLLM", AP_ENGINE_mixed, 4, 891), "vLLM, requests and tokens");
    ok(tells("execute_context_1(888_788544)_generation_0(0)", "vLLM", AP_ENGINE_prefill, 1, 888), "vLLM, with squares");
    ok(tells("execute_context_0(0)_generation_37(37)", "vLLM", AP_ENGINE_decode, 37, 37), "vLLM decodes");
    ok(tells("execute_context_0(0)_generation_0(0)", "vLLM", AP_ENGINE_empty, 0, 0), "vLLM has nothing to do");
    ok(tells("execute_context_2_generation_4", "vLLM", AP_ENGINE_mixed, 6, -1), "vLLM, requests alone");
    ok(tells("execute_new_1_cached_31", "vLLM", AP_ENGINE_mixed, 32, -1), "vLLM of 2025");
    ok(tells("execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)", "vLLM",
             AP_ENGINE_mixed, 46, 8192),
       "sums of lengths");
    ok(tells("step[DECODE bs=32]", "SGLang", AP_ENGINE_decode, 32, 32), "SGLang decodes");
    ok(tells("step[EXTEND bs=15 toks=15360]", "SGLang", AP_ENGINE_prefill, 15, 15360), "SGLang reads prompts");
    ok(tells("step[TARGET_VERIFY bs=8]", "SGLang", AP_ENGINE_decode, 8, -1), "guessed tokens are not told");
    ok(tells("step[MIXED bs=2 toks=40]", "SGLang", AP_ENGINE_mixed, 2, 40), "SGLang does both");
    ok(tells("step[IDLE bs=0]", "SGLang", AP_ENGINE_empty, 0, -1), "SGLang has nothing to do");
    ok(tells("step[EXTEND bs=2 toks=12 c_sq=12 c_sqsq=80 c_sqsk=120 c_sk=20]", "SGLang", AP_ENGINE_prefill, 2, 12),
       "SGLang with sums of lengths");
    ok(tells("step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 g_sk=12 g_sqsq=1 g_sqsk=12]", "SGLang",
             AP_ENGINE_mixed, 2, 6),
       "of both");
    ok(tells("step[TARGET_VERIFY bs=2 g_sq=6 g_sqsq=18 g_sqsk=90 g_sk=30]", "SGLang", AP_ENGINE_decode, 2, 6),
       "guessed tokens are told there");
    ok(is(read_name("step[EXTEND bs=2 toks=12 c_sq=12 c_sqsq=80 c_sqsk=120 c_sk=20]").attention_pairs, 120 - 40) &&
           is(read_name("step[DECODE bs=2 g_sqsq=2 g_sqsk=30 g_sk=30]").attention_pairs, 30) &&
           is(read_name("step[DECODE bs=2]").attention_pairs, -1),
       "and pairs of tokens");
    ok(tells("decode[bs=117/128 tok=117 d=117]", "ATOM", AP_ENGINE_decode, 117, 117), "ATOM decodes, in a graph for 128");
    ok(tells("decode[bs=128 tok=384 p=2 d=126 sqsq=9 sqsk=99 sk=9 tbo=1]", "ATOM", AP_ENGINE_mixed, 128, 384),
       "ATOM does both");
    ok(tells("prefill[bs=6 tok=17408 ctx=[4096, 4096, 4096]...+3 sqsq=59768832 sqsk=59768832 sk=17408]", "ATOM",
             AP_ENGINE_prefill, 6, 17408),
       "ATOM reads prompts");
    ok(tells("[Executor] _forward_step 7: 0 ctx reqs, 64 gen reqs", "TensorRT-LLM", AP_ENGINE_decode, 64, -1),
       "TensorRT-LLM");
    ok(tells("[Executor] _forward_step 9: 2 ctx reqs, 40 ctx tokens, 0 gen reqs", "TensorRT-LLM", AP_ENGINE_prefill, 2, 40),
       "TensorRT-LLM with tokens");
    ok(tells("executeStep: 1 ctx reqs, 3 gen reqs", "TensorRT-LLM", AP_ENGINE_mixed, 4, -1), "TensorRT-LLM in C++");
    ok(tells("execute_diffusion_1_256x256", "xDiT", AP_ENGINE_diffusion, 1, -1), "xDiT");
    ok(is(read_name("execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)")
              .attention_pairs,
          7671310 - 7475785.0 / 2 + 34489),
       "pairs of tokens that attention compares");
    ok(is(read_name("execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)")
              .attention_keys,
          8430 + 34489),
       "tokens that attention reads");
}

static void other_names_tell_nothing(void)
{
    static const char *const names[] = { "",
                                         "execute_",
                                         "execute_context_",
                                         "execute_context_1(888",
                                         "step[",
                                         "step[]",
                                         "step[DECODE bs=]",
                                         "step[decode bs=3]",
                                         "step[DECODE bs=3] more",
                                         "step[DECODE bs=3",
                                         "decode[bs=3]",
                                         "prefill[",
                                         "step[MIXED bs=2 c=99999999999999999999 g=1]",
                                         "decode[bs=1 tok=1 x=[",
                                         "execute_model",
                                         "execute_context_1(8)_generation_2(3)x",
                                         "execute_diffusion_1",
                                         "executeStep: 1",
                                         "execute_context_99999999999999999999(1)_generation_0(0)",
                                         "_forward_step: ctx reqs",
                                         "execute_context_1(sq)_generation_0(0)" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        ok(!strcmp(read_name(names[i]).engine, "none"), names[i]);
}

static void kernel(struct run *run, int64_t start_us, int64_t dur_us, ap_link_key correlation)
{
    struct ap_work_detail detail = { .correlation = correlation };
    detail.as.grid.blocks_per_sm = detail.as.grid.occupancy_ratio = -1;
    row(run, "s7", "kernel", KERNEL, start_us, dur_us);
    if (ap_trace_add_work_detail(run->trace, detail, NULL) != AP_OK)
        abort();
}

static void step(struct run *run, const char *name, int64_t start_us, int64_t dur_us)
{
    row(run, "host", name, ANNOTATION, start_us, dur_us);
}

/* A decode step of 100 us every 150 us: two kernels of one graph, 30 and 40 us. */
static void decode(struct run *run, int64_t start_us, ap_link_key correlation)
{
    step(run, "execute_context_0(0)_generation_4(4)", start_us, 100);
    step(run, "step[DECODE bs=4]", start_us + 1, 90);
    call(run, "host", "cudaGraphLaunch", start_us + 10, 2, correlation);
    kernel(run, start_us + 20, 30, correlation);
    kernel(run, start_us + 50, 40, correlation);
}

/* Times are rounded: one that begins a nanosecond before the end of the step before it is the next one all the same. */
static void a_step_may_begin_at_the_end_of_another(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 3; i++) {
        step(&run, "execute_context_0(0)_generation_4(4)", 1000 + 100 * i, 101);
        step(&run, "step[DECODE bs=4]", 1002 + 100 * i, 90);
    }
    analyze(&run);
    is_int(number(&run, "engine.count"), 3, "each of them");
    end(&run);
}

static void steps_last_from_end_to_end(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 3; i++)
        decode(&run, 1000 + 150 * i, (ap_link_key)(5 + i));
    analyze(&run);
    ok(ap_text_is(ap_value_text(at(&run, "engine.name")), "SGLang"), "the inner annotation tells the engine");
    is_int(number(&run, "engine.count"), 3, "annotations within steps are no steps");
    is_int(us(&run, "engine.total_us"), 100 + 150 + 150, "the first one counts from its start");
    is_int(us(&run, "engine.phases.decode.median_us"), 150, "median");
    ok(is_null(&run, "engine.phases.decode.p90_us"), "three steps have no 90th percentile");
    is_int(number(&run, "engine.phases.decode.tokens"), 12, "tokens");
    is_int(us(&run, "engine.phases.decode.token_us"), 400 / 12, "time over tokens");
    is_int(us(&run, "engine.phases.decode.device_us"), 3 * 70, "GPU work");
    ok(is(ratio(&run, "engine.phases.decode.graph_ratio"), 1), "all of it in graphs");
    is_int(number(&run, "engine.phases.decode.graph_launches"), 3, "graph launches");
    is_int(number(&run, "graphs.launches"), 3, "each launch of the graph");
    is_int(number(&run, "graphs.kinds"), 1, "of one kind");
    is_int(us(&run, "graphs.total_us"), 3 * 70, "with its kernels");
    is_int(number(&run, "engine.gaps.count"), 2, "gaps between steps");
    is_int(us(&run, "engine.gaps.total_us"), 2 * 80, "from the end of the work to the next work");
    is_int(us(&run, "engine.gaps.lost_us"), 2 * 80 + 10, "and behind the last one, until the recording ends");
    is_int(us(&run, "engine.gaps.host_mean_us"), 50, "host from step to step");
    is_int(us(&run, "engine.phases.prefill.total_us"), 0, "no prompt was read");
    ok(ap_text_is(ap_value_text(at(&run, "engine.mostly")), "decode"), "so all of its time goes into answers");
    end(&run);
}

static void rests_are_no_steps(void)
{
    struct run run;
    begin(&run);
    decode(&run, 1000, 1);
    decode(&run, 1150, 2);
    decode(&run, 9000, 3);
    analyze(&run);
    is_int(number(&run, "engine.pauses"), 1, "one rest");
    is_int(us(&run, "engine.total_us"), 100 + 150 + 100, "it is of no step");
    is_int(us(&run, "engine.gaps.total_us"), 80, "nor is it a gap");
    end(&run);
}

static void the_gap_that_the_end_cuts_is_no_longer_than_others(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 3; i++)
        decode(&run, 1000 + 150 * i, (ap_link_key)(5 + i));
    call(&run, "host", "cudaDeviceSynchronize", 3000, 5, 0);
    analyze(&run);
    is_int(us(&run, "engine.gaps.lost_us"), 3 * 80, "who knows what the host did then");
    end(&run);
    begin(&run);
    for (int i = 0; i < 3; i++)
        decode(&run, 1000 + 150 * i, (ap_link_key)(5 + i));
    call(&run, "host", "cudaLaunchKernel", 1450, 2, 9);
    kernel(&run, 1460, 5, 9);
    analyze(&run);
    is_int(us(&run, "engine.gaps.lost_us"), 2 * 80, "nor where other work comes");
    end(&run);
}

static void prompts_interrupt_answers(void)
{
    struct run run;
    begin(&run);
    step(&run, "execute_context_1(99)_generation_0(0)", 500, 400);
    decode(&run, 1000, 1);
    step(&run, "execute_context_1(99)_generation_0(0)", 1150, 400);
    step(&run, "execute_context_1(99)_generation_4(4)", 1600, 400);
    decode(&run, 2050, 2);
    analyze(&run);
    is_int(number(&run, "engine.stalls.count"), 1, "what comes before the first answer interrupts nothing");
    is_int(us(&run, "engine.stalls.total_us"), 460 + 450, "alone or with answers");
    is_int(number(&run, "engine.phases.prefill.count"), 2, "prefill");
    is_int(number(&run, "engine.phases.mixed.count"), 1, "mixed");
    is_int(number(&run, "engine.phases.prefill.tokens"), 198, "tokens of prompts");
    ok(is_null(&run, "engine.mostly"), "no kind takes all but a twentieth of the time");
    end(&run);
}

static void work_of_before_is_taken_out(void)
{
    struct run run;
    begin(&run);
    step(&run, "step[DECODE bs=2]", 1000, 5000);
    call(&run, "host", "cudaLaunchKernel", 1010, 2, 1);
    kernel(&run, 5012, 500, 1);
    analyze(&run);
    is_int(us(&run, "engine.queued_us"), 4000, "queued from the call to the start");
    is_int(us(&run, "engine.total_us"), 1000, "what remains is the step's");
    end(&run);
}

static void other_threads_are_left_out(void)
{
    struct run run;
    begin(&run);
    decode(&run, 1000, 1);
    decode(&run, 1150, 2);
    row(&run, "other", "step[DECODE bs=4]", ANNOTATION, 1000, 10);
    analyze(&run);
    is_int(number(&run, "engine.count"), 2, "the thread with most steps");
    is_int(number(&run, "engine.elsewhere"), 1, "the others are counted");
    end(&run);
    begin(&run);
    row(&run, "host", "ProfilerStep#3", ANNOTATION, 1000, 10);
    analyze(&run);
    ok(is_null(&run, "engine"), "no engine without its annotations");
    end(&run);
}

int main(void)
{
    names_tell_requests_and_tokens();
    other_names_tell_nothing();
    a_step_may_begin_at_the_end_of_another();
    steps_last_from_end_to_end();
    rests_are_no_steps();
    the_gap_that_the_end_cuts_is_no_longer_than_others();
    prompts_interrupt_answers();
    work_of_before_is_taken_out();
    other_threads_are_left_out();
    return done();
}
