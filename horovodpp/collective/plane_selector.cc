// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/plane_selector.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hvd::collective {

absl::StatusOr<DataPlane*> PlaneSelector::select(const Device& device,
                                                 std::size_t bytes,
                                                 ReduceOp op) const {
  for (const auto& plane : planes_) {
    if (plane->supports(device, bytes) && plane->reduces_by(op)) {
      return plane.get();
    }
  }
  const auto append_name = [](std::string* out, const auto& plane) {
    absl::StrAppend(out, plane->name());
  };
  return absl::UnimplementedError(absl::StrCat(
      "no data plane moves ", bytes, " bytes on ", device.to_string(),
      " between these ranks", op == ReduceOp::kAdasum ? " by adasum" : "",
      "; there is: ",
      planes_.empty() ? "none" : absl::StrJoin(planes_, ", ", append_name),
      ". Copy the tensor to another device, or use a build with a plane for "
      "this one"));
}

}  // namespace hvd::collective
