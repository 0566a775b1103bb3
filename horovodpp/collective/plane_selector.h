// SPDX-License-Identifier: Apache-2.0
// A PlaneSelector owns the planes that connect one set of ranks, in order of
// preference, and picks the plane of each call.
//
//   HVD_ASSIGN_OR_RETURN(DataPlane* plane, planes.select(device, bytes));
//
// The choice depends on the call alone, so that ranks with the same planes
// choose alike. Not thread-safe, as the planes are not.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/collective/data_plane.h"

namespace hvd::collective {

// "shm, staged", in order of preference; "none".
std::string names_of(const std::vector<std::unique_ptr<DataPlane>>& planes);

// The first of `planes`, pointers to planes, that supports such a call and an
// allreduce's `op`; nullptr: none does.
template <typename Planes>
DataPlane* first_for(const Planes& planes, const Device& device,
                     std::size_t bytes, ReduceOp op) {
  for (const auto& plane : planes) {
    if (plane->supports(device, bytes) && plane->reduces_by(op)) return &*plane;
  }
  return nullptr;
}

class PlaneSelector {
 public:
  explicit PlaneSelector(std::vector<std::unique_ptr<DataPlane>> planes)
      : planes_(std::move(planes)) {}

  // The first plane that supports such a call and an allreduce's `op`; never
  // nullptr, and valid as long as the selector.
  //   Unimplemented  no plane does; names the planes
  absl::StatusOr<DataPlane*> select(const Device& device, std::size_t bytes,
                                    ReduceOp op = ReduceOp::kSum) const;

 private:
  std::vector<std::unique_ptr<DataPlane>> planes_;
};

}  // namespace hvd::collective
