// SPDX-License-Identifier: Apache-2.0
// Functions of one tensor, and its orders, have the values and gradients of
// PyTorch. test/fixtures/make_unary_fixtures.py makes the expected numbers.
#include "test/ops/torch_cases.h"

namespace hvd {
namespace {

const std::vector<autograd::Dims> kTable = {{5, 7}};

TorchCases functions_of_numbers() {
  return {
      {"expm1", {kTable, [](X x) { return expm1(3.0 * x[0]); }}},
      {"exp2", {kTable, [](X x) { return exp2(3.0 * x[0]); }}},
      {"tan", {kTable, [](X x) { return tan(x[0]); }}},
      {"asin", {kTable, [](X x) { return asin(0.9 * x[0]); }}},
      {"acos", {kTable, [](X x) { return acos(0.9 * x[0]); }}},
      {"atan", {kTable, [](X x) { return atan(3.0 * x[0]); }}},
      {"sinh", {kTable, [](X x) { return sinh(3.0 * x[0]); }}},
      {"cosh", {kTable, [](X x) { return cosh(3.0 * x[0]); }}},
      {"asinh", {kTable, [](X x) { return asinh(3.0 * x[0]); }}},
      {"atanh", {kTable, [](X x) { return atanh(0.9 * x[0]); }}},
      {"sinc", {kTable, [](X x) { return sinc(3.0 * x[0]); }}},
      {"erfc", {kTable, [](X x) { return erfc(2.0 * x[0]); }}},
      {"erfinv", {kTable, [](X x) { return erfinv(0.9 * x[0]); }}},
      {"logit", {kTable, [](X x) { return logit(x[0], 0.1); }}},
      {"frac", {kTable, [](X x) { return frac(7.0 * x[0]); }}},
      {"log1p", {kTable, [](X x) { return log1p(x[0]); }, true}},
      {"log2", {kTable, [](X x) { return log2(x[0]); }, true}},
      {"log10", {kTable, [](X x) { return log10(x[0]); }, true}},
      {"reciprocal", {kTable, [](X x) { return reciprocal(x[0]); }, true}},
      {"acosh", {kTable, [](X x) { return acosh(x[0] + 0.6); }, true}},
      {"lgamma", {kTable, [](X x) { return lgamma(x[0]); }, true}},
      {"digamma",
       {kTable, [](X x) { return digamma(x[0].detach()) * x[0]; }, true}},
      {"polygamma", {kTable, [](X x) { return polygamma(2, x[0]); }, true}}};
}

TorchCases activations() {
  return {
      {"elu", {kTable, [](X x) { return elu(3.0 * x[0], 0.7); }}},
      {"celu", {kTable, [](X x) { return celu(3.0 * x[0], 0.5); }}},
      {"selu", {kTable, [](X x) { return selu(3.0 * x[0]); }}},
      {"softplus", {kTable, [](X x) { return softplus(5.0 * x[0], 2, 4); }}},
      {"log_sigmoid", {kTable, [](X x) { return log_sigmoid(5.0 * x[0]); }}},
      {"mish", {kTable, [](X x) { return mish(5.0 * x[0]); }}},
      {"softsign", {kTable, [](X x) { return softsign(5.0 * x[0]); }}},
      {"hardtanh",
       {kTable, [](X x) { return hardtanh(3.0 * x[0], -0.7, 1.2); }}},
      {"relu6", {kTable, [](X x) { return relu6(9.0 * x[0]); }}},
      {"hardsigmoid",
       {kTable, [](X x) { return hardsigmoid(5.0 * x[0].detach()) * x[0]; }}},
      {"hardswish", {kTable, [](X x) { return hardswish(5.0 * x[0]); }}},
      {"hardshrink", {kTable, [](X x) { return hardshrink(x[0], 0.3); }}},
      {"softshrink", {kTable, [](X x) { return softshrink(x[0], 0.3); }}},
      {"threshold", {kTable, [](X x) { return threshold(x[0], 0.2, -3); }}},
      {"rrelu",
       {kTable, [](X x) { return rrelu(x[0], {.lower = 0.1, .upper = 0.4}); }}},
      {"glu", {{{3, 6, 2}}, [](X x) { return glu(x[0], 1); }}}};
}

TorchCases orders() {
  return {{"sort", {kTable, [](X x) { return sort(x[0], {.dim = 0}).values; }}},
          {"topk", {kTable, [](X x) { return topk(x[0], 3).values; }}},
          {"topk_smallest",
           {kTable,
            [](X x) {
              return topk(x[0], 2, {.dim = 0, .largest = false}).values;
            }}},
          {"kthvalue", {kTable, [](X x) { return kthvalue(x[0], 4).values; }}}};
}

TEST(PyTorchsUnaryFunctions, ComputeTheSame) {
  TorchCases all = functions_of_numbers();
  all.merge(activations());
  all.merge(orders());
  hold_all_to_pytorch(read_fixture("unary.safetensors"), all);
}

}  // namespace
}  // namespace hvd
