// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/root/fusion_planner.h"

#include <algorithm>

namespace hvd::coordinator {
namespace {

// Whether all tensors have one dtype, as a batch requires.
bool is_uniform(const Request& request) {
  return std::all_of(request.tensors.begin(), request.tensors.end(),
                     [&](const TensorSpec& tensor) {
                       return tensor.dtype == request.tensors.front().dtype;
                     });
}

}  // namespace

bool may_fuse_at_all(const Candidate& candidate, const FusionOptions& options) {
  const Request& request = *candidate.request;
  return options.threshold > 0 && request.kind == RequestKind::kAllreduce &&
         !request.tensors.empty() && is_uniform(request) &&
         (options.fuse_groups || request.tensors.size() == 1);
}

bool may_fuse(const Candidate& left, const Candidate& right) {
  const Request& a = *left.request;
  const Request& b = *right.request;
  return a.key.process_set == b.key.process_set &&
         a.tensors.front().dtype == b.tensors.front().dtype && a.op == b.op &&
         a.prescale == b.prescale && a.postscale == b.postscale &&
         a.device.kind == b.device.kind && a.captured == b.captured &&
         a.average_of_participants == b.average_of_participants &&
         left.participants == right.participants;
}

std::vector<std::vector<std::size_t>> plan_fusion(
    std::span<const Candidate> ready, const FusionOptions& options) {
  std::vector<std::vector<std::size_t>> batches;
  std::vector<bool> taken(ready.size(), false);
  const std::size_t threshold = options.threshold;
  for (std::size_t first = 0; first < ready.size(); ++first) {
    if (taken[first]) continue;
    std::vector<std::size_t>& batch = batches.emplace_back();
    batch.push_back(first);
    if (!may_fuse_at_all(ready[first], options)) continue;
    std::size_t fused = ready[first].request->bytes();
    std::size_t passed_over = 0;
    for (std::size_t i = first + 1;
         i < ready.size() && batch.size() < options.max_batch; ++i) {
      if (taken[i]) continue;
      // A barrier must complete before the program goes on.
      if (ready[i].request->kind == RequestKind::kBarrier) break;
      const std::size_t bytes = ready[i].request->bytes();
      if (bytes > threshold || fused + passed_over > threshold - bytes) break;
      if (may_fuse_at_all(ready[i], options) &&
          may_fuse(ready[first], ready[i])) {
        fused += bytes;
        taken[i] = true;
        batch.push_back(i);
      } else {
        passed_over += bytes;
      }
    }
  }
  return batches;
}

}  // namespace hvd::coordinator
