/* SPDX-License-Identifier: MIT
 * Operations and bytes of operators, against figures that were worked out by hand; names of tiles; the table of devices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_peaks.h"
#include "kernel_tile.h"
#include "op_cost.h"
#include "tap.h"
#include "tensor_layout.h"

#define CHECK(condition) ok((condition), #condition)

#define BF16_2 "[\"c10::BFloat16\",\"c10::BFloat16\"]"
#define BF16_3 "[\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\"]"

static struct ap_call_cost cost_with(const char *name, const char *dims, const char *types, const char *strides,
                                     const char *concrete)
{
    struct ap_op_inputs inputs;
    struct ap_call_cost cost;
    enum ap_op_formula formula = ap_op_formula_of(ap_text_of(name));
    if (formula == AP_FORMULA_none)
        abort();
    ap_op_inputs_read(&inputs, ap_text_of(dims), ap_text_of(types), ap_text_of(strides), ap_text_of(concrete));
    ap_op_cost_of(formula, &inputs, &cost);
    return cost;
}

static double flops(const char *name, const char *dims, const char *types, const char *concrete)
{
    return cost_with(name, dims, types, "", concrete).flops;
}

static double bytes(const char *name, const char *dims, const char *types, const char *concrete)
{
    return cost_with(name, dims, types, "", concrete).bytes;
}

static bool is(double figure, double expected)
{
    return figure >= expected && figure <= expected;
}

/* What gradients of resizing go back to is told, or the shapes of both sides are. */
static void gradients_of_images_are_read_and_written_once(void)
{
    static const char *const resized[] = {
        "aten::upsample_nearest2d_backward",        "aten::upsample_bilinear2d_backward",
        "aten::_upsample_nearest_exact2d_backward", "aten::upsample_bicubic2d_backward",
        "aten::_upsample_bilinear2d_aa_backward",   "aten::_upsample_bicubic2d_aa_backward"
    };
    static const char *const lines[] = { "aten::upsample_nearest1d_backward", "aten::upsample_linear1d_backward" };
    static const char *const volumes[] = { "aten::upsample_nearest3d_backward", "aten::upsample_trilinear3d_backward" };
    static const char *const pooled[] = { "aten::avg_pool2d_backward",          "aten::_adaptive_avg_pool2d_backward",
                                          "aten::avg_pool3d_backward",          "aten::_adaptive_avg_pool3d_backward",
                                          "aten::adaptive_max_pool2d_backward", "aten::max_pool3d_with_indices_backward" };
    for (size_t i = 0; i < AP_COUNT_OF(resized); i++)
        CHECK(
            is(bytes(resized[i], "[[2,3,8,8],[],[]]", "[\"float\"]", "[\"\",\"[8, 8]\",\"[2, 3, 4, 4]\"]"), (384 + 96) * 4));
    for (size_t i = 0; i < AP_COUNT_OF(lines); i++)
        CHECK(is(bytes(lines[i], "[[2,3,8],[],[]]", "[\"float\"]", "[\"\",\"[8]\",\"[2, 3, 4]\"]"), (48 + 24) * 4));
    for (size_t i = 0; i < AP_COUNT_OF(volumes); i++)
        CHECK(is(bytes(volumes[i], "[[2,3,8,8,8],[],[]]", "[\"float\"]", "[\"\",\"[8, 8, 8]\",\"[2, 3, 4, 4, 4]\"]"),
                 (3072 + 384) * 4));
    for (size_t i = 0; i < AP_COUNT_OF(pooled); i++)
        CHECK(is(bytes(pooled[i], "[[2,3,4,4],[2,3,8,8]]", "[\"float\",\"float\"]", ""), (96 + 384) * 4));
    CHECK(is(bytes("aten::grid_sampler_3d", "[[2,3,8,8,8],[2,4,4,4,3]]", "[\"float\",\"float\"]", ""), (2 * 384 + 384) * 4));
    CHECK(is(bytes("aten::cudnn_grid_sampler", "[[2,3,8,8],[2,4,4,2]]", "[\"float\",\"float\"]", ""), (2 * 96 + 64) * 4));
}

/* Of a new size. */
static void resized_images_are_read_and_written_once(void)
{
    static const char *const names[] = { "aten::upsample_bicubic2d", "aten::_upsample_bilinear2d_aa",
                                         "aten::_upsample_bicubic2d_aa" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        CHECK(is(bytes(names[i], "[[2,3,4,4],[]]", "[\"float\",\"ScalarList\"]", "[\"\",\"[8, 8]\"]"), (96 + 384) * 4));
}

/* Packed weights are of another type than what meets them. */
static void products_of_unknown_libraries_are_told_by_name_and_type(void)
{
    CHECK(is(flops("mylib::matmul", "[[16,64],[64,32]]", BF16_2, ""), 2 * 16 * 64 * 32));
    CHECK(is(flops("mylib::matmul", "[[16,64],[64,8]]", "[\"c10::Half\",\"int\"]", ""), -1));
    CHECK(is(flops("mylib::mm", "[[16,64],[64,32]]", BF16_2, ""), 2 * 16 * 64 * 32));
    CHECK(is(flops("mylib::gemm", "[[16,64],[64,32],[32,8],[8,8]]", "", ""), -1));
}

/* 20 steps of 4 sequences, from 64 through 128 of four gates; two directions of cuDNN's. */
static void recurrent_layers_multiply_each_step_by_all_gates(void)
{
    double layer = 2 * 20 * 4 * (512 * 64 + 512 * 128);
    const char *of_cudnn =
        "[[20,4,64],[[512,64],[512,128],[512],[512],[512,64],[512,128],[512],[512]],[],[],[2,4,128],[2,4,128]]";
    CHECK(is(flops("aten::mkldnn_rnn_layer", "[[20,4,64],[512,64],[512,128],[512],[512],[4,128],[4,128]]", "", ""), layer));
    CHECK(is(flops("aten::mkldnn_rnn_layer_backward", "[[20,4,64],[512,64],[512,128],[512],[512],[4,128],[4,128]]", "", ""),
             2 * layer));
    CHECK(is(flops("aten::_cudnn_rnn", of_cudnn, "[\"float\",\"TensorList\"]", ""), 2 * layer));
    CHECK(flops("aten::_cudnn_rnn", "[[20,4,64],[],[],[]]", "", "") < 0);
    CHECK(bytes("aten::_cudnn_rnn", of_cudnn, "[\"float\",\"TensorList\"]", "") < 0);
}

/* A row of 128 floats for each of 1000 numbers, 50 bags of them. */
static void bags_read_the_rows_that_they_meet(void)
{
    CHECK(is(bytes("aten::_embedding_bag", "[[5000,128],[1000],[50]]", "[\"float\",\"long int\",\"long int\"]", ""),
             4 * 128 * (1000 + 50) + 8 * 1000));
    CHECK(bytes("aten::_embedding_bag", "[[5000,128],[1000]]", "[\"float\",\"long int\"]", "") < 0);
}

static void a_mask_is_read_besides(void)
{
    const char *types = "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"c10::Half\"]", *arguments = "[\"\",\"\",\"\"]";
    struct ap_call_cost masked =
        cost_with("aten::_scaled_dot_product_efficient_attention", "[[2,4,64,32],[2,4,64,32],[2,4,64,32],[2,4,64,64]]",
                  types, "[[8192,2048,32,1],[8192,2048,32,1],[8192,2048,32,1],[4096,0,64,1]]", arguments);
    CHECK(is(masked.mask_bytes, 2 * 2 * 64 * 64));
    CHECK(is(masked.bytes, 2 * 4 * 2 * 4 * 64 * 32 + 2 * 2 * 64 * 64));
    struct ap_call_cost within =
        cost_with("aten::_efficient_attention_forward", "[[2,64,4,32],[2,64,4,32],[2,64,4,32],[2,4,64,64]]", types,
                  "[[8192,128,32,1],[8192,128,32,1],[8192,128,32,1],[4096,0,64,1]]", arguments);
    CHECK(is(within.mask_bytes, masked.mask_bytes) && is(within.bytes, masked.bytes) && is(within.flops, masked.flops));
    struct ap_call_cost backward =
        cost_with("aten::_efficient_attention_backward", "[[2,64,4,32],[2,64,4,32],[2,64,4,32],[2,64,4,32],[2,4,64,64]]",
                  "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"c10::Half\",\"c10::Half\"]",
                  "[[8192,128,32,1],[8192,128,32,1],[8192,128,32,1],[8192,128,32,1],[16384,4096,64,1]]", arguments);
    CHECK(is(backward.mask_bytes, 2 * 2 * 4 * 64 * 64) && is(backward.flops, 2.5 * masked.flops));
    CHECK(is(flops("aten::_efficient_attention_backward", "[[2,64,4,32],[2,64,4,32],[2,64,4,32],[2,64,4,32],[]]",
                   "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"c10::Half\",\"\"]", ""),
             2.5 * masked.flops));
}

static void products_are_two_operations_for_each_pair(void)
{
    CHECK(is(flops("aten::addmm", "[[768],[25089,3072],[3072,768]]", BF16_3, ""), 118384754688));
    CHECK(is(flops("aten::addmm", "[[3072],[25089,768],[768,3072]]", BF16_3, ""), 118384754688));
    CHECK(is(flops("aten::bmm", "[[96,3137,64],[96,64,3137]]", BF16_2, ""), 120923369472));
    CHECK(is(flops("aten::bmm", "[[37632,8,64],[37632,64,8]]", BF16_2, ""), 308281344));
    CHECK(is(bytes("aten::bmm", "[[37632,8,64],[37632,64,8]]", BF16_2, ""), 81887232));
    CHECK(is(flops("aten::mm", "[[1,2880],[2880,25136]]", BF16_2, ""), 144783360));
    CHECK(is(bytes("aten::mm", "[[1,2880],[2880,25136]]", BF16_2, ""), 144839392));
    CHECK(is(flops("aten::mm", "[[32768,2048],[2048,8192]]", BF16_2, ""), 1099511627776));
    CHECK(is(flops("aten::mm", "[[8192,9728],[9728,2432],[8192,2432]]", BF16_3, ""), 387620798464));
    CHECK(is(bytes("aten::mm", "[[46,2880],[2880,201088]]", BF16_2, ""), 1177031936));
    CHECK(is(flops("aten::mv", "[[512,256],[256]]", BF16_2, ""), 2 * 512 * 256));
    CHECK(is(bytes("aten::mv", "[[512,256],[256]]", BF16_2, ""), 2 * (512 * 256 + 512 + 256)));
    CHECK(is(flops("aten::_grouped_mm", "[[64,128],[8,128,32],[8]]", BF16_2, ""), 2 * 64 * 128 * 32));
    CHECK(is(flops("aten::linear", "[[2,3,16],[8,16]]", BF16_2, ""), 2 * 6 * 16 * 8));
    CHECK(is(bytes("aten::_grouped_mm", "[[64,128],[128,32],[8]]", BF16_2, ""), 2 * (64 * 128 + 128 * 32 + 8 * 64 * 32)));
    CHECK(is(bytes("aten::_int_mm", "[[64,128],[128,32]]", "[\"signed char\",\"signed char\"]", ""),
             64 * 128 + 128 * 32 + 4 * 64 * 32));
    const char *fp4 = "[\"c10::Float4_e2m1fn_x2\",\"c10::Float4_e2m1fn_x2\"]"; /* two numbers in a byte */
    CHECK(is(flops("aten::_scaled_mm", "[[64,128],[128,32]]", fp4, ""), 2.0 * 64 * 256 * 32));
    CHECK(is(bytes("aten::_scaled_mm", "[[64,128],[128,32]]", fp4, ""), 64 * 128 + 128 * 32 + 2 * 64 * 32));
    CHECK(is(flops("aten::matmul", "[[5,1,8,16],[3,16,4]]", BF16_2, ""), 2 * 15 * 8 * 16 * 4));
    CHECK(is(bytes("aten::matmul", "[[5,1,8,16],[3,16,4]]", BF16_2, ""), 2 * (5 * 8 * 16 + 3 * 16 * 4 + 15 * 8 * 4)));
    CHECK(is(flops("aten::matmul", "[[8,16],[3,16,4]]", BF16_2, ""), 2 * 3 * 8 * 16 * 4));
    CHECK(is(flops("aten::matmul", "[[3,8,16],[16,4]]", BF16_2, ""), 2 * 3 * 8 * 16 * 4));
    CHECK(is(flops("aten::addmv_", "[[8],[8,16],[16]]", BF16_3, ""), 2 * 16 * 8));
    CHECK(is(cost_with("aten::addmv_", "[[8],[8,16],[16]]", BF16_3, "", "").m, 1));
}

static void scans_and_scatters_move_what_they_meet(void)
{
    CHECK(is(bytes("aten::cumsum", "[[1024,65536],[],[]]", "[\"float\",\"Scalar\",\"\"]", ""), 2.0 * 1024 * 65536 * 4));
    CHECK(is(bytes("aten::native_dropout", "[[16,4096],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]", ""), 16 * 4096 * 9));
    CHECK(is(bytes("aten::index_add_", "[[500,128],[],[1000],[1000,128],[]]",
                   "[\"float\",\"Scalar\",\"long int\",\"float\",\"Scalar\"]", ""),
             3.0 * 1000 * 128 * 4 + 8000));
    CHECK(is(bytes("aten::scatter_add_", "[[500,128],[]]", "[\"float\",\"Scalar\"]", ""), -1));
}

static void what_an_index_directs_is_known_for_it(void)
{
    const char *types = "[\"float\",\"TensorList\",\"float\",\"Scalar\"]";
    struct ap_call_cost put =
        cost_with("aten::_index_put_impl_", "[[100,8],[[50]],[50,8],[]]", types, "", "[\"\",\"\",\"\",\"True\"]");
    CHECK(put.is_scattered && is(put.bytes, 3 * 50 * 8 * 4));
    struct ap_call_cost table =
        cost_with("aten::embedding_dense_backward", "[[4,16,8],[4,16],[],[],[]]",
                  "[\"float\",\"long int\",\"Scalar\",\"Scalar\",\"Scalar\"]", "", "[\"\",\"\",\"1000\",\"-1\",\"False\"]");
    CHECK(table.is_scattered && is(table.bytes, (64 * 8 + 1000 * 8) * 4 + 64 * 8));
    CHECK(is(bytes("aten::embedding_dense_backward", "[[4,8],[4]]", "[\"float\",\"long int\"]", ""), -1));
    CHECK(is(bytes("aten::index", "[[100,8],[[50]]]", "[\"float\",\"TensorList\"]", ""), 2 * 50 * 8 * 4 + 50 * 8));
    CHECK(is(bytes("aten::index", "[[100,8],[[100,8]]]", "[\"float\",\"TensorList\"]", ""), -1)); /* perhaps a mask */
    CHECK(is(bytes("aten::upsample_nearest2d", "[[2,3,4,4],[]]", "[\"float\",\"ScalarList\"]", "[\"\",\"[8, 8]\"]"),
             (96 + 2 * 3 * 64) * 4));
    CHECK(is(bytes("aten::upsample_bilinear2d_backward", "[[2,3,8,8],[],[]]", "[\"float\"]",
                   "[\"\",\"[8, 8]\",\"[2, 3, 4, 4]\"]"),
             (96 + 2 * 3 * 64) * 4));
    CHECK(is(bytes("aten::max_pool2d_with_indices_backward", "[[2,4,4,4],[2,4,8,8],[],[],[],[],[],[2,4,4,4]]",
                   "[\"float\",\"float\",\"\",\"\",\"\",\"\",\"\",\"long int\"]", ""),
             128 * (4 + 8) + 512 * 4));
    CHECK(is(bytes("aten::grid_sampler_2d", "[[2,3,8,8],[2,4,4,2]]", "[\"float\",\"float\"]", ""), (2 * 96 + 64) * 4));
    CHECK(is(bytes("aten::sort", "[[10,100]]", "[\"float\"]", ""), 1000 * (2 * 4 + 8)));
    CHECK(is(bytes("aten::topk", "[[10,100]]", "[\"float\"]", ""), 1000 * 4));
    CHECK(is(bytes("aten::max_pool2d_with_indices", "[[2,4,8,8],[],[]]", "[\"float\"]", "[\"\",\"[2, 2]\",\"[2, 2]\"]"),
             512 * 4 + 128 * (4 + 8)));
    CHECK(is(bytes("_C::silu_and_mul", "[[4,8],[4,16]]", BF16_2, ""), (32 + 64) * 2));
    CHECK(is(cost_with("aten::_softmax", "[[9,4,7]]", "[\"float\"]", "", "[\"\",\"1\",\"False\"]").row_elements, 4));
    CHECK(is(cost_with("aten::native_layer_norm", "[[9,4,7]]", "[\"float\"]", "", "[\"\",\"[4, 7]\"]").row_elements, 28));
}

static void sizes_that_do_not_fit_tell_nothing(void)
{
    CHECK(flops("aten::mm", "[[4,8],[9,2]]", BF16_2, "") < 0);
    CHECK(flops("aten::mm", "[[4,8]]", BF16_2, "") < 0);
    CHECK(flops("aten::mm", "[]", "[]", "") < 0);
    CHECK(flops("aten::mm", "[[-1,8],[8,2]]", BF16_2, "") < 0);
    CHECK(bytes("aten::add", "[[2,2,2,2,2,2,2],[2]]", BF16_2, "") < 0); /* a tensor that is left out */
    CHECK(bytes("aten::add", "[[5000000000],[1]]", BF16_2, "") < 0);
    CHECK(is(bytes("aten::copy_", "[[4],[4]]", "[\"c10::complex<double>\",\"c10::complex<c10::Half>\"]", ""), 4 * 20));
    CHECK(flops("aten::bmm", "[[2,4,8],[3,8,2]]", BF16_2, "") < 0);
    CHECK(flops("aten::cudnn_convolution", "[[1,3,8,8],[4,3,3,3]]", BF16_2, "") < 0);
    CHECK(flops("aten::cudnn_convolution", "[[1,3,2,2],[4,3,9,9]]", BF16_2,
                "[\"\",\"\",\"[0, 0]\",\"[1, 1]\",\"[1, 1]\",\"1\"]") < 0);
    CHECK(bytes("aten::mm", "[[4,8],[8,2]]", "[]", "") < 0);
    CHECK(is(flops("aten::mm", "[[4,8],[8,2]]", "[]", ""), 128));
}

static void convolutions_meet_all_weights_at_each_place(void)
{
    CHECK(is(flops("aten::cudnn_convolution", "[[128,3,224,224],[768,3,16,16]]", BF16_2,
                   "[\"\",\"\",\"[0, 0]\",\"[16, 16]\",\"[1, 1]\",\"1\",\"False\"]"),
             29595009024));
    CHECK(is(flops("aten::miopen_convolution", "[[1,128,1024,1024],[128,128,3,3],[128]]", BF16_3,
                   "[\"\",\"\",\"\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\",\"1\"]"),
             309237645312));
    CHECK(is(flops("aten::convolution", "[[4,512,8,8],[512,256,4,4]]", "[\"Float\",\"Float\"]",
                   "[\"\",\"\",\"\",\"(2,2)\",\"(1,1)\",\"(1,1)\",\"True\",\"(0,0)\",\"1\"]"),
             1073741824));
    CHECK(is(flops("aten::convolution", "[[8,1024,32,32],[1024,1,3,3]]", "[\"Float\",\"Float\"]",
                   "[\"\",\"\",\"\",\"(1,1)\",\"(1,1)\",\"(1,1)\",\"False\",\"(0,0)\",\"1024\"]"),
             150994944));
}

static void gradients_that_are_not_wanted_are_not_counted(void)
{
    static const char dims[] = "[[10,64,112,112],[10,3,224,224],[64,3,7,7]]";
    static const char of_both[] =
        "[\"\",\"\",\"\",\"[0]\",\"[2, 2]\",\"[3, 3]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\",\"[True, "
        "True, False]\"]";
    static const char of_weights[] = "[\"\",\"\",\"\",\"[0]\",\"[2, 2]\",\"[3, 3]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\","
                                     "\"[False, True, False]\"]";
    CHECK(is(flops("aten::convolution_backward", dims, BF16_3, of_weights), 2360279040));
    CHECK(is(flops("aten::convolution_backward", dims, BF16_3, of_both), 2 * 2360279040.0));
    CHECK(is(
        flops("aten::cudnn_convolution_backward_input", "[[],[32,64,56,56],[64,64,3,3]]", "[\"\",\"float\",\"float\"]", ""),
        7398752256));
}

#define FLASH(causal) "[\"\",\"\",\"\",\"\",\"\",\"8\",\"8\",\"0.\",\"" causal "\",\"False\",\"\",\"\",\"\",\"\",\"\"]"

static void attention_counts_what_the_mask_leaves(void)
{
    CHECK(is(flops("aten::_flash_attention_forward", "[[8,4096,16,128],[8,4096,16,128],[8,4096,16,128],[],[]]", BF16_3,
                   FLASH("False")),
             1099511627776));
    CHECK(is(flops("aten::_flash_attention_forward", "[[2,4429,38,64],[2,4429,38,64],[2,4429,38,64],[],[]]", BF16_3,
                   FLASH("False")),
             381649693696));
    CHECK(is(flops("aten::_scaled_dot_product_flash_attention", "[[16,16,559,64],[16,16,559,64],[16,16,559,64]]", BF16_3,
                   "[\"\",\"\",\"\",\"0.\",\"True\",\"False\",\"\"]"),
             10239377408));
    CHECK(is(
        flops("aten::_flash_attention_forward", "[[8,4096,16,128],[8,4096,4,128],[8,4096,4,128]]", BF16_3, FLASH("False")),
        1099511627776)); /* heads of the queries count */
    CHECK(flops("aten::_flash_attention_forward", "[[100,16,128],[100,16,128],[100,16,128],[5],[5]]", BF16_3,
                FLASH("False")) < 0); /* sequences of unknown lengths */
}

/* Of flash_attn: causal, and the window behind it. */
#define WINDOW(causal, left, right) "[\"\",\"\",\"\",\"0.\",\"0.088\",\"" causal "\",\"" left "\",\"" right "\",\"0.\",\"\"]"

static void windows_leave_keys_out(void)
{
    const char *name = "flash_attn::_flash_attn_forward", *dims = "[[1,4096,2,8],[1,4096,2,8],[1,4096,2,8]]";
    double full = 4096.0 * 4096, pair = 4 * 2 * 8;
    CHECK(is(flops(name, dims, BF16_3, WINDOW("False", "-1", "-1")), full * pair));
    CHECK(is(flops(name, dims, BF16_3, WINDOW("True", "-1", "-1")), full / 2 * pair));
    CHECK(is(flops(name, dims, BF16_3, WINDOW("True", "1023", "0")), (4096.0 * 1024 - 1023.0 * 1023 / 2) * pair));
    CHECK(is(flops(name, dims, BF16_3, WINDOW("False", "512", "511")),
             (4096.0 * 1024 - 512.0 * 512 / 2 - 511.0 * 511 / 2) * pair));
    CHECK(is(flops(name, dims, BF16_3, WINDOW("True", "8192", "0")), full / 2 * pair)); /* longer than the sequence */
    CHECK(is(flops(name, "[[1,1,2,8],[1,4096,2,8],[1,4096,2,8]]", BF16_3, WINDOW("True", "1023", "0")), 1024 * pair));
}

#define PACKED(longest_q, longest_k, causal) \
    "[\"\",\"\",\"\",\"\",\"\",\"" longest_q "\",\"" longest_k "\",\"0.\",\"" causal "\",\"False\",\"\",\"\",\"\"]"

static void lengths_that_are_not_told_have_bounds(void)
{
    const char *name = "aten::_flash_attention_forward", *types = BF16_3;
    struct ap_call_cost cost =
        cost_with(name, "[[400,2,8],[400,2,8],[400,2,8],[5],[5]]", types, "", PACKED("100", "100", "False"));
    CHECK(is(cost.flops, 4.0 * 100 * 100 * 4 * 2 * 8)); /* all are as long as the longest */
    CHECK(is(cost.bytes, 4 * 400 * 2 * 8 * 2));
    cost = cost_with(name, "[[400,2,8],[400,2,8],[400,2,8],[5],[5]]", types, "", PACKED("250", "250", "True"));
    CHECK(cost.flops < 0 && is(cost.flops_least, (250.0 * 250 + 150.0 * 150 / 3) / 2 * 4 * 2 * 8));
    CHECK(is(cost.flops_most, (250.0 * 250 + 150.0 * 150) / 2 * 4 * 2 * 8));
    cost = cost_with(name, "[[4,2,8],[1000,2,8],[1000,2,8],[5],[5]]", types, "", PACKED("1", "700", "True"));
    CHECK(is(cost.flops, 1000.0 * 4 * 2 * 8) && is(cost.queries, 1) && is(cost.keys, 700)); /* each looks at its own keys */
    cost = cost_with(name, "[[400,2,8],[400,2,8],[400,2,8],[5],[5]]", types, "", "");
    CHECK(cost.flops < 0 && is(cost.flops_least, 400.0 * 400 / 4 * 4 * 2 * 8));
    cost = cost_with("flash_attn_3::fwd", "[[2,512,8,128],[2,512,8,128],[2,512,8,128]]", types, "",
                     "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\","
                     "\"\",\"\",\"\","
                     "\"0.08\",\"True\",\"-1\",\"-1\"]");
    CHECK(is(cost.flops, 4.0 * 2 * 8 * 512 * 512 * 128 / 2));
    cost = cost_with("vllm::unified_attention_with_output", "[[8192,64,64],[8192,8,64],[8192,8,64],[8192,64,64]]", types, "",
                     "");
    CHECK(cost.flops < 0 && cost.bytes < 0 && is(cost.pair_flops, 4 * 64 * 64) && is(cost.key_bytes, 2 * 8 * 64 * 2));
}

static void experts_are_met_by_chance(void)
{
    struct ap_call_cost few = cost_with("vllm::rocm_aiter_fused_moe", "[[16,4096],[64,22016,4096],[64,4096,11008],[16,2]]",
                                        "[\"BFloat16\",\"BFloat16\",\"BFloat16\",\"Float\"]", "", "");
    CHECK(is(few.flops, 2.0 * 16 * 2 * (22016.0 * 4096 + 4096.0 * 11008)));
    CHECK(few.weight_bytes > 6.8e9 && few.weight_bytes < 7.0e9);
    CHECK(is(few.tokens_per_expert, 0.5));
}

static void bytes_are_read_and_written_once(void)
{
    struct ap_call_cost cost;
    CHECK(is(bytes("aten::add", "[[8192,8192],[8192,8192],[]]", "[\"float\",\"float\",\"Scalar\"]", ""), 805306368));
    CHECK(is(bytes("aten::add", "[[64,32],[32],[]]", "[\"float\",\"float\",\"Scalar\"]", ""), 4 * (2048 + 32 + 2048)));
    CHECK(is(bytes("aten::copy_", "[[64],[64],[]]", "[\"c10::Half\",\"float\",\"Scalar\"]", ""), 64 * 2 + 64 * 4));
    CHECK(is(bytes("aten::eq", "[[64],[64]]", "[\"float\",\"float\"]", ""), 64 * 9));
    cost = cost_with("aten::add", "[[64,32],[64,32],[]]", "[\"float\",\"float\",\"Scalar\"]", "[[32,1],[0,1],[]]", "");
    CHECK(is(cost.bytes, 4 * (2048 + 32 + 2048)));
    CHECK(!cost.is_strided);
    cost = cost_with("aten::mul", "[[64,32],[64,32]]", "[\"float\",\"float\"]", "[[64,2],[64,2]]", "");
    CHECK(cost.is_strided);
    cost = cost_with("aten::copy_", "[[64,32],[64,32]]", "[\"float\",\"float\"]", "[[32,1],[1,64]]", "");
    CHECK(cost.is_mixed_layout);
}

static bool has_tile(const char *name, unsigned rows, unsigned columns, bool splits)
{
    struct ap_kernel_tile tile;
    return ap_kernel_tile_of(ap_text_of(name), &tile) && tile.rows == rows && tile.columns == columns &&
           tile.splits_inner == splits;
}

static void tiles_stand_in_names(void)
{
    struct ap_kernel_tile tile;
    CHECK(has_tile("Cijk_Alik_Bljk_BBS_BH_MT256x192x64_MI16x16x1_GSU1_X", 256, 192, false));
    CHECK(has_tile("Cijk_Alik_Bljk_BBS_BH_MT128x16x64_MI16x16x1_GSU4_X", 128, 16, true));
    CHECK(has_tile("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", 128, 128, false));
    CHECK(has_tile("nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN", 144, 128, false));
    CHECK(has_tile("cutlass_75_tensorop_bf16_s1688gemm_bf16_128x64_nn_align1", 128, 64, false));
    CHECK(has_tile("volta_sgemm_32x128_nt", 32, 128, false));
    CHECK(has_tile("cutlass_80_simt_sgemm_128x64_8x5_splitK_nn", 128, 64, true));
    CHECK(!ap_kernel_tile_of(ap_text_of("gemm_"), &tile));
    CHECK(ap_kernel_loads_narrowly(ap_text_of("cutlass_75_tensorop_f16_s1688gemm_f16_256x128_nn_align1")));
    CHECK(ap_kernel_loads_narrowly(ap_text_of("cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align2_x")));
    CHECK(!ap_kernel_loads_narrowly(ap_text_of("cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x5_nn_align16")));
    CHECK(!ap_kernel_loads_narrowly(ap_text_of("cutlass_80_simt_sgemm_256x128_8x4_nn_align1")));
    CHECK(!ap_kernel_loads_narrowly(ap_text_of("cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1")));
    CHECK(!ap_kernel_tile_of(ap_text_of("void vectorized_elementwise_kernel<4>"), &tile));
    CHECK(!ap_kernel_tile_of(ap_text_of("_MT4096x4096"), &tile));
    CHECK(ap_kernel_tile_of(ap_text_of("cutlass3x_sm100_tensorop_s128x256x16gemm_bf16_bf16_f32_bf16_bf16_128x256x64_tnn"),
                            &tile) &&
          tile.rows == 128 && tile.columns == 256);
    CHECK(ap_kernel_generation(ap_text_of("cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align8")) == 8);
    CHECK(ap_kernel_generation(ap_text_of("nvjet_sm100_tst_256x256_64x4_2x1_2cta_v_bz_TNN")) == 10);
    CHECK(ap_kernel_generation(ap_text_of("nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNN")) == 0);
}

static enum ap_status read_peaks(const char *text, size_t *ret_count, struct ap_error *ret_error)
{
    static struct ap_gpu_peak rows[AP_GPU_PEAKS_MAX];
    struct ap_gpu_peaks peaks = { .rows = rows };
    enum ap_status status = ap_gpu_peaks_add(&peaks, ap_text_of(text), ret_error);
    *ret_count = peaks.count;
    return status;
}

static void devices_are_read_from_tables(void)
{
    struct ap_error error;
    size_t count;
    CHECK(read_peaks("| Device | 16 bit | GB/s |\n|---|---|---|\n| X1 | 100 | 50.5 |\n| X2 | - | 5 |\n", &count, &error) ==
          AP_OK);
    CHECK(count == 2);
    CHECK(read_peaks("no table", &count, &error) == AP_ERROR_USAGE);
    CHECK(read_peaks("| Device | what |\n", &count, &error) == AP_ERROR_USAGE && strstr(error.message, "line 1"));
    CHECK(read_peaks("| Device | GB/s |\n|---|---|\n| X | fast |\n", &count, &error) == AP_ERROR_USAGE &&
          strstr(error.message, "line 3"));
    CHECK(read_peaks("| Device | GB/s |\n|---|---|\n| X | -5 |\n", &count, &error) == AP_ERROR_USAGE);
    CHECK(read_peaks("| Device | GB/s |\n|---|---|\n| X |\n", &count, &error) == AP_ERROR_USAGE);
    CHECK(read_peaks("| Device | Kind |\n|---|---|\n| X | Other |\n", &count, &error) == AP_ERROR_USAGE);
}

struct found {
    struct ap_device_peak device;
    bool is_found;
};

/* A device by its name, or by its properties where the name tells nothing. */
static struct found find_device(const char *name, int64_t major, int64_t minor, int64_t sm_count, int64_t memory_gb,
                                int64_t warp_size)
{
    static struct ap_gpu_peak rows[AP_GPU_PEAKS_MAX];
    struct ap_gpu_peaks peaks = { .rows = rows };
    struct ap_kernel_families families = { .name_count = 0 };
    struct ap_device_properties properties = { .id = 0,
                                               .memory_bytes = memory_gb << 30,
                                               .sm_count = sm_count,
                                               .compute_major = major,
                                               .compute_minor = minor,
                                               .warp_size = warp_size };
    struct ap_gate gate;
    struct ap_trace *trace;
    struct found found = { .is_found = false };
    ap_gate_init(&gate, 0);
    if (ap_trace_new(&gate, &trace, NULL) != AP_OK || ap_gpu_peaks_add(&peaks, ap_gpu_peaks_builtin(), NULL) != AP_OK ||
        ap_strpool_intern(&trace->strings, name, strlen(name), &properties.name, NULL) != AP_OK)
        abort();
    trace->devices = &properties;
    trace->device_count = 1;
    found.is_found = ap_gpu_peaks_find(&peaks, trace, &families, &found.device);
    trace->devices = NULL;
    trace->device_count = 0;
    ap_trace_free(trace);
    return found;
}

static bool is_device(struct found found, double rate_16_bit, double gb_s, enum ap_peak_source source)
{
    return found.is_found && is(found.device.peak.tflop_s[AP_PEAK_16_bit], rate_16_bit) &&
           is(found.device.peak.gb_s, gb_s) && found.device.source == source;
}

static void devices_are_found_by_their_words(void)
{
    CHECK(is_device(find_device("NVIDIA H100 80GB HBM3", 9, 0, 132, 79, 32), 989.4, 3350, AP_PEAK_by_name));
    CHECK(is_device(find_device("NVIDIA H100 PCIe", 9, 0, 114, 79, 32), 756, 2000, AP_PEAK_by_name));
    CHECK(is_device(find_device("NVIDIA A100-PG509-200", 8, 0, 108, 39, 32), 312, 1555, AP_PEAK_by_name));
    CHECK(is_device(find_device("NVIDIA A100-SXM4-80GB", 8, 0, 108, 79, 32), 312, 2039, AP_PEAK_by_name));
    CHECK(is_device(find_device("NVIDIA A10G", 8, 6, 80, 22, 32), 70, 600, AP_PEAK_by_name));
    CHECK(is_device(find_device("NVIDIA A10", 8, 6, 72, 22, 32), 125, 600, AP_PEAK_by_name));
    CHECK(is_device(find_device("NVIDIA GB200", 10, 0, 148, 184, 32), 2500, 8000, AP_PEAK_by_name));
    CHECK(is_device(find_device("NVIDIA H20", 9, 0, 78, 95, 32), 148, 4000, AP_PEAK_by_name));
    CHECK(is_device(find_device("AMD Instinct MI300X VF", 9, 4, 304, 191, 64), 1307.4, 5300, AP_PEAK_by_name));
}

static void devices_without_a_name_are_estimated(void)
{
    CHECK(is_device(find_device("", 9, 4, 304, 191, 64), 1307.4, 5300, AP_PEAK_by_properties));
    CHECK(is_device(find_device("AMD Radeon Graphics", 9, 0, 104, 63, 64), 181, 1600, AP_PEAK_by_properties));
    CHECK(is_device(find_device("", 9, 0, 132, 79, 32), 989.4, 3350, AP_PEAK_by_properties));
    CHECK(is_device(find_device("", 9, 0, 264, 79, 32), 1978.8, 3350, AP_PEAK_by_properties));
    CHECK(!find_device("NVIDIA TITAN", 3, 5, 14, 6, 32).is_found);
}

static void layouts_are_told_in_words(void)
{
    static const struct {
        const char *dims, *strides, *text;
    } cases[] = {
        { "[[64,32],[32,16]]", "[[32,1],[1,32]]", "contiguous, transposed" },
        { "[[8,3,16,16],[4,3,3,3],[4]]", "[[768,1,48,3],[27,1,9,3],[1]]", "channels last, channels last" },
        { "[[8,3,16,16],[],[4,3,1,1]]", "[[768,256,16,1],[],[3,1,1,1]]", "contiguous, contiguous" },
        { "[[2,3,4,5,6]]", "[[360,1,90,18,3]]", "channels last" },
        { "[[64,32]]", "[[64,1]]", "strided" }, /* a slice */
        { "[[64,32]]", "[[0,1]]", "strided" },  /* repeated */
        { "[[4]]", "[[1]]", "" },
        { "[[64,32]]", "[[32,1],[1]]", "" },
        { "[[64,32]]", "", "" },
        { "[[2147483647,2147483647,2147483647,2147483647]]", "[[1,1,1,1]]", "strided" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        char text[AP_LAYOUT_TEXT_BYTES];
        is_text(ap_layout_text(ap_text_of(cases[i].dims), ap_text_of(cases[i].strides), text), cases[i].text, cases[i].dims);
    }
}

struct formulas_tried {
    struct ap_name_patterns set;
    size_t tried, found, differ;
};

/* The text of the table without stars, and what is nearly it. */
static void try_formula(struct formulas_tried *of, const char *text, int bytes)
{
    static const char *const forms[] = { "%.*s", "x%.*s", "%.*sx", "x%.*sx", "%.*s_", "aten::%.*s" };
    for (size_t i = 0; i <= AP_COUNT_OF(forms); i++) {
        char name[200];
        bool shorter = i == AP_COUNT_OF(forms);
        (void)snprintf(name, sizeof(name), shorter ? "%.*s" : forms[i], bytes - shorter, text);
        enum ap_op_formula want = ap_op_formula_of(ap_text_of(name));
        of->tried++;
        of->found += want != AP_FORMULA_none;
        of->differ += ap_op_formulas_find(&of->set, ap_text_of(name)) != want;
    }
}

static void one_name_and_many_have_the_same_formula(void)
{
    static const char *const names_of[] = {
#define AP_OP_FORMULA(formula, kind, names) names,
#include "op_formula.def"
    };
    struct ap_gate gate;
    struct ap_error error;
    struct formulas_tried of = { .tried = 0 };
    ap_gate_init(&gate, 0);
    is_int(ap_op_formulas_init(&of.set, &gate, &error), AP_OK, "the table of formulas can be taken apart");
    for (size_t i = 0; i < AP_COUNT_OF(names_of); i++)
        for (const char *at = names_of[i]; *at; at += strcspn(at, "|"), at += *at == '|') {
            const char *text = at + (*at == '*');
            try_formula(&of, text, (int)strcspn(text, "|*"));
        }
    ok(of.found > 300 && of.found < of.tried, "names with a formula, and without");
    is_u64(of.differ, 0, "among many names each has the formula that it has alone");
    ap_name_patterns_release(&of.set);
}

int main(void)
{
    one_name_and_many_have_the_same_formula();
    layouts_are_told_in_words();
    products_of_unknown_libraries_are_told_by_name_and_type();
    gradients_of_images_are_read_and_written_once();
    resized_images_are_read_and_written_once();
    recurrent_layers_multiply_each_step_by_all_gates();
    bags_read_the_rows_that_they_meet();
    a_mask_is_read_besides();
    products_are_two_operations_for_each_pair();
    scans_and_scatters_move_what_they_meet();
    what_an_index_directs_is_known_for_it();
    sizes_that_do_not_fit_tell_nothing();
    convolutions_meet_all_weights_at_each_place();
    gradients_that_are_not_wanted_are_not_counted();
    attention_counts_what_the_mask_leaves();
    windows_leave_keys_out();
    lengths_that_are_not_told_have_bounds();
    experts_are_met_by_chance();
    bytes_are_read_and_written_once();
    tiles_stand_in_names();
    devices_are_read_from_tables();
    devices_are_found_by_their_words();
    devices_without_a_name_are_estimated();
    return done();
}
