// SPDX-License-Identifier: Apache-2.0
// A typical training program: C++17, no framework, all parameters in one flat
// array and all gradients in another, AdamW over both. It learns to predict the
// next character from the last four: text_model [BATCH [STEPS]]. README.md
// shows the lines that make it data parallel.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <horovodpp/collectives.h>

namespace {

constexpr int kSymbols = 128;
constexpr int kContext = 4;
constexpr int kWidth = 12;
constexpr int kHidden = 48;
constexpr int kInputs = kContext * kWidth;

constexpr char kText[] =
    "the quick brown fox jumps over the lazy dog and runs away, while the dog "
    "sleeps in the sun and dreams of foxes that are slow. when it wakes up the "
    "fox is gone, and so is the sun; the dog goes home and eats what it is "
    "given. ";
constexpr int kTextLength = sizeof(kText) - 1;

// The position of each layer in the flat arrays.
constexpr int kEmbedding = 0;
constexpr int kW1 = kEmbedding + kSymbols * kWidth;
constexpr int kB1 = kW1 + kHidden * kInputs;
constexpr int kW2 = kB1 + kHidden;
constexpr int kB2 = kW2 + kSymbols * kHidden;
constexpr int kParameters = kB2 + kSymbols;
constexpr int kLoss = kParameters;  // After the gradients.

struct Model {
  std::vector<float> parameters = std::vector<float>(kParameters);
  std::vector<float> gradients = std::vector<float>(kParameters + 1);
  std::vector<float> m = std::vector<float>(kParameters);
  std::vector<float> v = std::vector<float>(kParameters);
};

void initialize(Model& model) {
  unsigned seed = 7;
  for (float& weight : model.parameters) {
    seed = seed * 1664525u + 1013904223u;
    weight = 0.1f * (static_cast<float>(seed >> 8) / (1 << 23) - 1.0f);
  }
}

struct Activations {
  std::array<float, kInputs> x;
  std::array<float, kHidden> hidden;
  std::array<float, kSymbols> probability;
};

const char* text_at(int position) {
  return kText + position % (kTextLength - kContext);
}

void forward(const std::vector<float>& p, const char* text, Activations& a) {
  for (int c = 0; c < kContext; ++c) {
    std::memcpy(&a.x[c * kWidth], &p[kEmbedding + text[c] * kWidth],
                kWidth * sizeof(float));
  }
  for (int j = 0; j < kHidden; ++j) {
    float sum = p[kB1 + j];
    for (int i = 0; i < kInputs; ++i) sum += p[kW1 + j * kInputs + i] * a.x[i];
    a.hidden[j] = std::tanh(sum);
  }
  float total = 0;
  for (int s = 0; s < kSymbols; ++s) {
    float logit = p[kB2 + s];
    for (int j = 0; j < kHidden; ++j)
      logit += p[kW2 + s * kHidden + j] * a.hidden[j];
    a.probability[s] = std::exp(logit);
    total += a.probability[s];
  }
  for (float& probability : a.probability) probability /= total;
}

// Adds the gradients and the loss of one place in the text, weighted by
// `weight`.
void backward(Model& model, const char* text, const Activations& a,
              float weight) {
  const std::vector<float>& p = model.parameters;
  std::vector<float>& g = model.gradients;
  const int wanted = text[kContext];
  g[kLoss] -= weight * std::log(a.probability[wanted]);
  std::array<float, kHidden> to_hidden = {};
  for (int s = 0; s < kSymbols; ++s) {
    const float error =
        weight * (a.probability[s] - (s == wanted ? 1.0f : 0.0f));
    g[kB2 + s] += error;
    for (int j = 0; j < kHidden; ++j) {
      g[kW2 + s * kHidden + j] += error * a.hidden[j];
      to_hidden[j] += error * p[kW2 + s * kHidden + j];
    }
  }
  std::array<float, kInputs> to_x = {};
  for (int j = 0; j < kHidden; ++j) {
    const float error = to_hidden[j] * (1.0f - a.hidden[j] * a.hidden[j]);
    g[kB1 + j] += error;
    for (int i = 0; i < kInputs; ++i) {
      g[kW1 + j * kInputs + i] += error * a.x[i];
      to_x[i] += error * p[kW1 + j * kInputs + i];
    }
  }
  for (int i = 0; i < kInputs; ++i) {
    g[kEmbedding + text[i / kWidth] * kWidth + i % kWidth] += to_x[i];
  }
}

void adamw(Model& model, int step) {
  constexpr float kRate = 0.01f, kBeta1 = 0.9f, kBeta2 = 0.99f, kDecay = 0.01f;
  // If gradients are nearly zero, their rounding must not decide the step.
  constexpr float kEpsilon = 1e-3f;
  const float unbias1 = 1 - std::pow(kBeta1, static_cast<float>(step + 1));
  const float unbias2 = 1 - std::pow(kBeta2, static_cast<float>(step + 1));
  for (int i = 0; i < kParameters; ++i) {
    const float gradient = model.gradients[i];
    model.m[i] += (1 - kBeta1) * (gradient - model.m[i]);
    model.v[i] += (1 - kBeta2) * (gradient * gradient - model.v[i]);
    const float update =
        model.m[i] / unbias1 / (std::sqrt(model.v[i] / unbias2) + kEpsilon);
    model.parameters[i] -= kRate * (update + kDecay * model.parameters[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int batch = argc > 1 ? std::atoi(argv[1]) : 32;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 20;
  Model model;
  hvd::throw_if_error(hvd::init());
  initialize(model);
  const auto weights = hvd::TensorView::of(&model.parameters[0], {kParameters});
  const auto step_sum = hvd::TensorView::of(&model.gradients[0], {kLoss + 1});
  hvd::throw_if_error(hvd::broadcast_(weights, 0));
  for (int step = 0; step < steps; ++step) {
    std::fill(model.gradients.begin(), model.gradients.end(), 0.0f);
    const int first = (step * hvd::size() + hvd::rank()) * batch;
    for (int i = 0; i < batch; ++i) {
      Activations activations;
      const char* const text = text_at(11 * (first + i));
      forward(model.parameters, text, activations);
      backward(model, text, activations, 1.0f / static_cast<float>(batch));
    }
    hvd::throw_if_error(hvd::allreduce_(step_sum));
    adamw(model, step);
    if (hvd::rank() == 0)
      std::printf("step %d: loss %.7f\n", step, model.gradients[kLoss]);
  }
}
