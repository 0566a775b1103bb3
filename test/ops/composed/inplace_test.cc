// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/composed/inplace.h"

#include <map>
#include <string>
#include <utility>

#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using testing::ElementsAre;

using Function = Tensor (*)(const Tensor&);
using Write = const Tensor& (*)(const Tensor&);

const std::map<std::string, std::pair<Function, Write>>& written_functions() {
#define HVD_PAIR(f) {#f, {static_cast<Function>(f), static_cast<Write>(f##_)}},
  static const std::map<std::string, std::pair<Function, Write>> all = {
      HVD_INPLACE_FUNCTIONS(HVD_PAIR)};
#undef HVD_PAIR
  return all;
}

// The value and the gradient of x.
std::pair<std::vector<double>, std::vector<double>> value_and_gradient(
    Tensor (*run)(const Tensor&, const std::string&), const std::string& name) {
  const Tensor x = from_vector<double>({0.3, 0.7, 1.2, -0.6}, {4}, true);
  const Tensor y = run(x * 1.0, name);
  (y * y).sum().backward();
  return {values(y.detach()), values(x.grad())};
}

TEST(InplaceFunctions, HaveTheValuesAndGradientsOfTheirFunctions) {
  for (const auto& [name, forms] : written_functions()) {
    SCOPED_TRACE(name);
    const auto wanted = value_and_gradient(
        [](const Tensor& x, const std::string& f) {
          return written_functions().at(f).first(x);
        },
        name);
    const auto found = value_and_gradient(
        [](const Tensor& x, const std::string& f) {
          const auto version = x.version();
          const Tensor& y = written_functions().at(f).second(x);
          EXPECT_TRUE(y.is_same(x));
          EXPECT_EQ(x.version(), version + 1);
          return y;
        },
        name);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_THAT(found.first[i],
                  testing::NanSensitiveDoubleNear(wanted.first[i], 1e-12));
      EXPECT_THAT(found.second[i],
                  testing::NanSensitiveDoubleNear(wanted.second[i], 1e-12));
    }
  }
}

TEST(InplaceFunctions, RefuseALeafAndADtypeBeforeTheyWrite) {
  const Tensor leaf = full({2}, 4.0, {.requires_grad = true});
  EXPECT_THROW(sqrt_(leaf), autograd::LeafInplaceError);
  EXPECT_THAT(leaf.to_vector<float>(), ElementsAre(4, 4));
  EXPECT_EQ(leaf.version(), 0U);
  const Tensor n = arange(1, 3);
  EXPECT_THROW(sqrt_(n), InvalidArgument);
  EXPECT_THROW(clamp_(n, 0.5, 1.5), InvalidArgument);
  EXPECT_THAT(neg_(n).to_vector<std::int64_t>(), ElementsAre(-1, -2));
}

TEST(InplaceFunctions, WriteViewsAndInvalidateWhatWasSaved) {
  const Tensor x = ones({2, 3}, {.requires_grad = true});
  const Tensor y = x * 4.0;
  const Tensor squares = y * y;
  sqrt_(y.t().select(0, 1));
  EXPECT_THAT(y.detach().contiguous().to_vector<float>(),
              ElementsAre(4, 2, 4, 4, 2, 4));
  EXPECT_THROW(squares.sum().backward(), autograd::VersionError);
  y.sum().backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(4, 1, 4, 4, 1, 4));
}

TEST(InplaceFunctions, TakeParameters) {
  const auto x = [] { return from_vector<float>({-2, 0.5, 3}, {3}); };
  EXPECT_THAT(clamp_(x(), -1, 1).to_vector<float>(), ElementsAre(-1, 0.5, 1));
  EXPECT_THAT(clamp_min_(x(), 1).to_vector<float>(), ElementsAre(1, 1, 3));
  EXPECT_THAT(clamp_max_(x(), 1).to_vector<float>(), ElementsAre(-2, 0.5, 1));
  EXPECT_THAT(leaky_relu_(x(), 0.5).to_vector<float>(),
              ElementsAre(-1, 0.5, 3));
  EXPECT_THAT(threshold_(x(), 1, 7).to_vector<float>(), ElementsAre(7, 7, 3));
  EXPECT_THAT(hardtanh_(x()).to_vector<float>(), ElementsAre(-1, 0.5, 1));
  EXPECT_THAT(cumsum_(x(), 0).to_vector<float>(), ElementsAre(-2, -1.5, 1.5));
  EXPECT_THAT(cumprod_(x(), 0).to_vector<float>(), ElementsAre(-2, -1, -3));
}

}  // namespace
}  // namespace hvd
