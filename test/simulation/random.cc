// SPDX-License-Identifier: Apache-2.0
#include "test/simulation/random.h"

#include <utility>

namespace hvd::simulation {
namespace {

using coordinator::Request;
using coordinator::RequestKind;
using coordinator::TensorSpec;

RequestKind random_kind(Random& random) {
  const int kind = random.below(100);
  if (kind < 70) return RequestKind::kAllreduce;
  if (kind < 80) return RequestKind::kAllgather;
  if (kind < 86) return RequestKind::kBroadcast;
  if (kind < 90) return RequestKind::kAlltoall;
  if (kind < 95) return RequestKind::kReducescatter;
  return RequestKind::kBarrier;
}

TensorSpec random_tensor(Random& random) {
  const DType dtype = random.percent(80) ? DType::kF32 : DType::kF16;
  return {dtype, Shape({random.between(1, 64), random.between(1, 8)})};
}

bool may_be_a_group(RequestKind kind) {
  return kind == RequestKind::kAllreduce || kind == RequestKind::kAllgather ||
         kind == RequestKind::kReducescatter;
}

Shape with_rows(const Shape& shape, std::int64_t rows) {
  std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.front() = rows;
  return Shape(std::move(dims));
}

}  // namespace

Request random_request(Random& random, const std::string& name,
                       const std::vector<int>& members) {
  Request request;
  request.key.name = name;
  request.kind = random_kind(random);
  if (request.kind == RequestKind::kBarrier) return request;
  const bool group = may_be_a_group(request.kind) && random.percent(15);
  const TensorSpec first = random_tensor(random);
  for (int i = 0; i < (group ? random.between(2, 4) : 1); ++i) {
    request.tensors.push_back(random_tensor(random));
    request.tensors.back().dtype = first.dtype;
  }
  if (request.kind == RequestKind::kBroadcast) {
    request.root = random.pick(members);
  }
  if (random.percent(20)) request.op = ReduceOp::kSum;
  if (random.percent(5)) request.prescale = 0.5;
  return request;
}

Request with_other_shape(Random& random, Request request) {
  if (request.tensors.empty()) {
    request.kind = RequestKind::kAllreduce;
    request.tensors.push_back(random_tensor(random));
    return request;
  }
  TensorSpec& tensor = request.tensors.front();
  std::vector<std::int64_t> dims(tensor.shape.dims().begin(),
                                 tensor.shape.dims().end());
  dims.back() += random.between(1, 3);
  tensor.shape = Shape(std::move(dims));
  return request;
}

Request with_difference(Random& random, Request request) {
  if (request.tensors.empty() || random.percent(60)) {
    return with_other_shape(random, std::move(request));
  }
  if (request.kind == RequestKind::kAllreduce && random.percent(50)) {
    request.op = request.op == ReduceOp::kMax ? ReduceOp::kMin : ReduceOp::kMax;
  } else if (random.percent(50)) {
    request.tensors.front().dtype = DType::kI64;
  } else if (random.percent(50)) {
    request.tensors.clear();
    request.kind = RequestKind::kBarrier;
  } else {
    request.tensors.push_back(random_tensor(random));
    request.tensors.back().dtype = request.tensors.front().dtype;
    if (!may_be_a_group(request.kind)) request.kind = RequestKind::kAllreduce;
  }
  return request;
}

bool has_free_rows(const Request& request) {
  return request.kind == RequestKind::kAllgather ||
         request.kind == RequestKind::kAlltoall;
}

Request with_other_rows(Random& random, Request request) {
  for (TensorSpec& tensor : request.tensors) {
    tensor.shape = with_rows(tensor.shape, random.between(0, 64));
  }
  return request;
}

}  // namespace hvd::simulation
