#include "horovodpp/coordinator/fusion_planner.h"

namespace hvd::coordinator {
namespace {

bool may_fuse(const Request& a, const Request& b) {
  return a.kind == RequestKind::kAllreduce &&
         b.kind == RequestKind::kAllreduce && a.dtype == b.dtype &&
         a.op == b.op && a.prescale == b.prescale &&
         a.postscale == b.postscale && a.device.kind == b.device.kind;
}

}  // namespace

std::vector<std::vector<std::size_t>> plan_fusion(
    std::span<const Request* const> ready, std::size_t threshold,
    std::size_t max_batch) {
  std::vector<std::vector<std::size_t>> batches;
  std::vector<bool> taken(ready.size(), false);
  for (std::size_t first = 0; first < ready.size(); ++first) {
    if (taken[first]) continue;
    std::vector<std::size_t> batch = {first};
    std::size_t fused = ready[first]->bytes();
    std::size_t passed_over = 0;
    for (std::size_t i = first + 1;
         i < ready.size() && batch.size() < max_batch; ++i) {
      if (taken[i]) continue;
      const std::size_t bytes = ready[i]->bytes();
      if (bytes > threshold || fused + passed_over > threshold - bytes) break;
      if (may_fuse(*ready[first], *ready[i])) {
        fused += bytes;
        taken[i] = true;
        batch.push_back(i);
      } else {
        passed_over += bytes;
      }
    }
    batches.push_back(std::move(batch));
  }
  return batches;
}

}  // namespace hvd::coordinator
