/* SPDX-License-Identifier: MIT */
#include "typed_trace.h"

/* What libraries of inference register beside PyTorch's operators. */
static void operators_of_libraries_have_families(void)
{
    static const struct {
        const char *name, *family;
    } rows[] = {
        { "aiter::rmsnorm", "normalisation" },
        { "aiter::add_rmsnorm", "normalisation" },
        { "aten::native_layer_norm", "normalisation" },
        { "aiter::layernorm2d_fwd", "normalisation" },
        { "sgl_kernel::silu_and_mul", "elementwise" },
        { "_C::gelu_and_mul", "elementwise" },
        { "vllm::swiglu", "elementwise" },
        { "sgl_kernel::rotary_embedding", "rotary" },
        { "mylib::apply_rope_inplace", "rotary" },
        { "mylib::fused_rope", "rotary" },
        { "aten::embedding", "embedding, index and gather" },
        { "_C_cache_ops::reshape_and_cache_flash", "kv cache" },
        { "_C_cache_ops::concat_and_cache_mla", "kv cache" },
        { "sglang::store_cache", "kv cache" },
        { "mylib::store_kvcache", "kv cache" },
        { "aten::property", "other" },
    };
    struct run run;
    begin(&run);
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++)
        (void)row(&run, "1", rows[i].name, OPERATOR, (int64_t)i * 10, 5);
    analyze(&run);
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++)
        ok(ap_text_is(ap_text_member(find(&run, "operators.top", "name", rows[i].name), "family"), rows[i].family),
           rows[i].name);
    end(&run);
}

int main(void)
{
    operators_of_libraries_have_families();
    return done();
}
