// SPDX-License-Identifier: Apache-2.0
// The parameter shapes of two well-known models, and so of the gradients that a
// step reduces. In the order of the model; backward makes the gradients roughly
// in reverse.
#pragma once

#include <vector>

#include "horovodpp/core/shape.h"

namespace hvd::benchmark {

// 161 tensors, 25,557,032 parameters. (He, Zhang, Ren and Sun, "Deep Residual
// Learning for Image Recognition", CVPR 2016, table 1; 1,000 classes)
std::vector<Shape> resnet50_shapes();

// 148 tensors, 124,439,808 parameters; the output layer shares the embedding.
// (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019,
// the smallest model)
std::vector<Shape> gpt2_small_shapes();

}  // namespace hvd::benchmark
