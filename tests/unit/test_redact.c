/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "redact.h"
#include "tap.h"

#include "poison.h"

static struct ap_gate gate;
static struct ap_redaction redaction;

static struct ap_text redacted(struct ap_text text)
{
    struct ap_error error;
    struct ap_text made = { "", 0 };
    is_int(ap_redact(&redaction, text, &made, &error), AP_OK, "a text is redacted");
    return made;
}

static void stays(const char *text)
{
    struct ap_text made = redacted(ap_text_of(text));
    is_text(made, text, text);
}

static void becomes(const char *text, const char *want)
{
    struct ap_text made = redacted(ap_text_of(text));
    is_text(made, want, text);
}

static void names_of_libraries_stay(void)
{
    stays("aten::copy_");
    stays("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, "
          "3> >(int)");
    stays("at::native::(anonymous namespace)::f(float const*, std::array<char*, 3ul>)::{lambda(int)#1}");
    stays("ampere_sgemm_128x64_tn");
    stays("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long)");
    stays("Memcpy HtoD (Pageable -> Device)");
    stays("ProfilerStep#12");
    stays("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    stays("autograd::engine::evaluate_function: AddmmBackward0");
    stays("torch/nn/modules/linear.py(114): forward");
    stays("torch/optim/x.py:3 anything_of_the_library");
    stays("torch.nn.Linear");
    stays("0x7f00dead");
    stays("");
}

static void what_readers_go_by_stays(void)
{
#define AP_KIND(kind, sentence)
#define AP_CATEGORY(spelling, kind) stays(spelling);
#include "event_kind.def"
    stays("CPU functions");
    stays("[memory]");
    stays("PyTorch Profiler (0)");
}

static void the_rest_does_not(void)
{
    static const char *const secrets[] = { "Secret",           "my_module",    "secret::op",  "cuSecret",
                                           "cudaSecret",       "torchsecret",  "aten_secret", "Secret\xc3\xa9",
                                           "\xe4\xb8\xad",     "10.1.2.3",     "user@host",   "host-12.corp",
                                           "SecretBackward",   "C:\\Users\\x", "/home/x",     "secret/torch/x",
                                           "torch_secret/x.py" };
    for (size_t i = 0; i < AP_COUNT_OF(secrets); i++) {
        struct ap_text made = redacted(ap_text_of(secrets[i]));
        const char *end = made.bytes > 4 ? made.data + 4 : "";
        ok(made.bytes >= 13 && memchr(made.data, '-', made.bytes) && !ap_text_contains_folded(made, "secret") && *end,
           secrets[i]);
    }
}

static void hashes_are_stable(void)
{
    becomes("Secret", "name-5f0b704a");
    becomes("name-5f0b704a", "name-5f0b704a");
    becomes("name-5f0b704a_7", "name-5f0b704a_7");
    becomes("path-5f0b704a(3): name-5f0b704a", "path-5f0b704a(3): name-5f0b704a");
    becomes("nn.Module: Secret_3", "nn.Module: name-5f0b704a_3");
    becomes("void Secret<at::Half>::Secret(int)", "void name-5f0b704a<at::Half>::name-5f0b704a(int)");
    becomes("at::f<Secret>::g", "at::f<name-5f0b704a>::g");
}

static void a_library_elsewhere_is_known_by_its_folder(void)
{
    struct ap_text made = redacted(AP_TEXT("/home/jane/lib/python3.11/site-packages/torch/nn/x.py:12 forward_once"));
    struct ap_text tail = AP_TEXT("/site-packages/torch/nn/x.py:12 forward_once");
    ok(made.bytes == 13 + tail.bytes && memcmp(made.data + 13, tail.data, tail.bytes) == 0,
       "only what is before site-packages goes");
    made = redacted(AP_TEXT("/home/jane/site-packages/secret/torch/x.py:12 f2"));
    ok(made.bytes == 13 + 4 + 13, "a package that is not public goes with its functions");
}

static void any_bytes_are_fine(void)
{
    char text[512];
    uint32_t state = 1;
    for (int round = 0; round < 2000; round++) {
        size_t bytes = (size_t)round % sizeof(text);
        for (size_t i = 0; i < bytes; i++) {
            state = state * 1664525u + 1013904223u;
            text[i] = (state >> 28) ? (char)("<>():: a_b.\\/#0x"[state >> 24 & 15]) : (char)(state >> 16);
        }
        struct ap_error error;
        struct ap_text made, again;
        if (ap_redact(&redaction, (struct ap_text){ text, bytes }, &made, &error) != AP_OK) {
            ok(false, "a text is redacted");
            return;
        }
        char *copy = ap_mem_resize(&gate, NULL, 0, made.bytes + 1);
        memcpy(copy, made.data, made.bytes);
        size_t kept = made.bytes;
        bool same = ap_redact(&redaction, (struct ap_text){ copy, kept }, &again, &error) == AP_OK && again.bytes == kept &&
                    memcmp(copy, again.data, kept) == 0;
        ap_mem_free(&gate, copy, kept + 1);
        if (!same) {
            ok(false, "redacting again changes nothing");
            tap_show("of", text, bytes);
            return;
        }
    }
    ok(true, "any bytes are redacted, and again changes nothing");
}

int main(void)
{
    ap_gate_init(&gate, 0);
    ap_redaction_init(&redaction, &gate);
    names_of_libraries_stay();
    what_readers_go_by_stays();
    the_rest_does_not();
    hashes_are_stable();
    a_library_elsewhere_is_known_by_its_folder();
    any_bytes_are_fine();
    ap_redaction_release(&redaction);
    return done();
}
