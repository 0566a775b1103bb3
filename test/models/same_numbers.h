// SPDX-License-Identifier: Apache-2.0
// Numbers that test/fixtures/torch_models.py generates as well, from only a
// name. Models and inputs are filled with them before their results are
// compared with PyTorch's.
//
//   hvd::Tensor x = hvd::same_uniform("images", {4, 1, 28, 28});
//   hvd::fill_with_same_numbers(model);
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/nn/safetensors.h"

namespace hvd {

// FNV-1a of the name.
inline std::uint64_t seed_of(const std::string& name) {
  std::uint64_t value = 0xCBF29CE484222325;
  for (const char c : name) {
    value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return value;
}

// SplitMix64, starting at the name's seed.
inline std::vector<std::uint64_t> hashed(const std::string& name,
                                         std::int64_t count) {
  std::vector<std::uint64_t> result;
  std::uint64_t state = seed_of(name);
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    result.push_back(z ^ (z >> 31));
  }
  return result;
}

// float64 in [-bound, bound): multiples of bound * 2^-23, exact in float32.
inline Tensor same_uniform(const std::string& name, const autograd::Dims& shape,
                           double bound = 1.0) {
  std::vector<double> values;
  for (const std::uint64_t word : hashed(name, shape.product())) {
    const auto steps = static_cast<double>(word >> 40);
    values.push_back((std::ldexp(steps, -23) - 1.0) * bound);
  }
  return from_vector(values, shape);
}

// int64, in [0, below).
inline Tensor same_integers(const std::string& name,
                            const autograd::Dims& shape, std::int64_t below) {
  std::vector<std::int64_t> values;
  for (const std::uint64_t word : hashed(name, shape.product())) {
    values.push_back(static_cast<std::int64_t>(
        (word >> 33) % static_cast<std::uint64_t>(below)));
  }
  return from_vector(values, shape);
}

// One-dimensional parameters get small numbers, added to 1 if all are 1. Others
// get a uniform distribution about as wide as PyTorch's defaults.
inline void fill_with_same_numbers(const nn::Module& model) {
  NoGrad no_grad;
  for (const auto& [name, parameter] : model.named_parameters()) {
    Tensor values;
    if (parameter.dim() < 2) {
      const auto now = parameter.to(DType::kF64).to_vector<double>();
      const bool all_one = std::all_of(now.begin(), now.end(),
                                       [](double x) { return x == 1.0; });
      values = same_uniform(name, parameter.shape(), std::ldexp(1.0, -4)) +
               (all_one ? 1.0 : 0.0);
    } else {
      const auto fan_in =
          static_cast<double>(parameter.num_elements() / parameter.size(0));
      const int power =
          static_cast<int>(std::nearbyint(-std::log2(fan_in) / 2));
      values = same_uniform(name, parameter.shape(), std::ldexp(1.0, power));
    }
    parameter.copy_(values.to(parameter.dtype()));
  }
}

// The tensors of a file of test/fixtures, by name.
inline std::map<std::string, Tensor> read_fixture(const std::string& file) {
  std::map<std::string, Tensor> result;
  for (const auto& [name, tensor] :
       nn::load_safetensors(std::string(HVD_FIXTURES "/") + file).tensors) {
    result[name] = tensor;
  }
  return result;
}

}  // namespace hvd
