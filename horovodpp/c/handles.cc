// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/c/handles.h"

#include "absl/strings/str_cat.h"

namespace hvd::c {
namespace {

const char* name_of(std::uint64_t kind) {
  switch (static_cast<HandleKind>(kind)) {
    case HandleKind::kOperation:
      return "an operation";
    case HandleKind::kProcessSet:
      return "a process set";
    case HandleKind::kReducer:
      return "a reducer";
    case HandleKind::kPrepared:
      return "a prepared collective";
  }
  return nullptr;
}

}  // namespace

absl::Status wrong_handle(std::uint64_t handle, HandleKind kind,
                          std::uint64_t given) {
  const auto wanted = static_cast<std::uint64_t>(kind);
  const std::uint64_t is = handle >> kHandleCountBits;
  const std::uint64_t count =
      handle & ((std::uint64_t{1} << kHandleCountBits) - 1);
  if (is == wanted && count >= 1 && count <= given) {
    return absl::InvalidArgumentError(
        absl::StrCat("handle ", handle, " is of ", name_of(is),
                     " that was released before"));
  }
  if (is != wanted && name_of(is) != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("handle ", handle, " is of ", name_of(is), ", and ",
                     name_of(wanted), " is wanted"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("handle ", handle, " is not that of ", name_of(wanted)));
}

}  // namespace hvd::c
