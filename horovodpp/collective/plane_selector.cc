// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/plane_selector.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hvd::collective {

std::string names_of(const std::vector<std::unique_ptr<DataPlane>>& planes) {
  if (planes.empty()) return "none";
  return absl::StrJoin(planes, ", ", [](std::string* out, const auto& plane) {
    absl::StrAppend(out, plane->name());
  });
}

absl::StatusOr<DataPlane*> PlaneSelector::select(const Device& device,
                                                 std::size_t bytes,
                                                 ReduceOp op) const {
  if (DataPlane* const plane = first_for(planes_, device, bytes, op)) {
    return plane;
  }
  return absl::UnimplementedError(absl::StrCat(
      "no data plane moves ", bytes, " bytes on ", device.to_string(),
      " between these ranks",
      describe(op).whole_tensors ? absl::StrCat(" by ", name_of(op)) : "",
      "; there is: ", names_of(planes_),
      ". Copy the tensor to another device, or use a build with a plane for "
      "this one"));
}

}  // namespace hvd::collective
