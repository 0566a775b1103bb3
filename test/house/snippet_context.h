// SPDX-License-Identifier: Apache-2.0
// What the snippets of the pages take from the text around them.
#pragma once

#include <horovodpp/horovodpp.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

struct Net : hvd::nn::Module {
  hvd::Tensor forward(const hvd::Tensor& input) override { return input; }
};

extern hvd::Tensor images, labels, x;
extern std::vector<hvd::ChainFunction> blocks;
extern hvd::Tensor input, w, w1, w2, w3;
extern hvd::Tensor image_features, text_features;
extern std::string path;
extern std::int64_t epochs;
extern std::shared_ptr<hvd::nn::Linear> layer;
extern std::vector<hvd::nn::NamedTensor> matrices, the_rest;
extern Net model;
extern hvd::optim::AdamW optimizer;
extern hvd::DistributedOptimizer distributed;
extern hvd::data::DataLoader loader;
extern hvd::optim::LRScheduler schedule;
extern hvd::data::DistributedSampler sampler;
extern float* grad;
extern float* memory_of_gpu;
extern void* stream;
