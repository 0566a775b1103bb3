// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/trace/current.h"
#include "horovodpp/core/trace/event.h"
#include "horovodpp/core/trace/recorder.h"
#include "horovodpp/ops.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> spans_of(const trace::Recorder& recorder) {
  const trace::RingReader reader = recorder.reader();
  std::vector<std::string> spans;
  for (std::uint64_t i = 0; i < reader.written(); ++i) {
    const trace::Event event = reader.read(i).value();
    spans.push_back(
        (event.kind == trace::EventKind::kSpanBegins ? "B " : "E ") +
        reader.name(event.label).text);
  }
  return spans;
}

class TrainingSpans : public ::testing::Test {
 protected:
  const std::shared_ptr<trace::Recorder> recorder_ = trace::Recorder::open();
  const trace::ThreadRecorder scope_{recorder_};
  const Tensor weight_ = ones({2}, {.requires_grad = true});
};

TEST_F(TrainingSpans, AStepHasItsPhases) {
  SGD optimizer({weight_}, {.learning_rate = 0.1});
  const Tensor y = hvd::checkpoint(
      [&](const Tensor& x) { return exp(x * weight_); }, ones({2}));
  y.sum().backward();
  optimizer.step();
  EXPECT_THAT(spans_of(*recorder_),
              ElementsAre("B backward", "B recompute", "E recompute",
                          "E backward", "B optimizer", "E optimizer"));
}

TEST_F(TrainingSpans, ANestedBackwardIsPartOfTheOuterOne) {
  const Tensor input = ones({2}, {.requires_grad = true});
  const std::vector<Tensor> y = autograd::checkpoint_reentrant(
      [&](const std::vector<Tensor>& x) {
        return std::vector<Tensor>{exp(x[0] * weight_)};
      },
      {input});
  y[0].sum().backward();
  EXPECT_THAT(spans_of(*recorder_), ElementsAre("B backward", "B recompute",
                                                "E recompute", "E backward"));
}

TEST_F(TrainingSpans, AFailedBackwardEndsItsSpan) {
  const Tensor y = weight_.sum();
  y.register_hook(
      [](const Tensor&) -> Tensor { throw InvalidArgument("fails"); });
  EXPECT_THROW(y.backward(), Error);
  EXPECT_THAT(spans_of(*recorder_), ElementsAre("B backward", "E backward"));
}

}  // namespace
}  // namespace hvd::optim
