// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/c/collective_options.h"

#include "horovodpp/c/call.h"

namespace hvd::c {

absl::StatusOr<AlltoallOptions> alltoall_options(
    const hvd_alltoall_options* given) {
  HVD_ASSIGN_OR_RETURN(const hvd_alltoall_options read,
                       read_options(given, HVD_ALLTOALL_OPTIONS));
  HVD_ASSIGN_OR_RETURN(ProcessSet set, set_of(read.process_set));
  AlltoallOptions options;
  options.name = text_of(read.name);
  options.process_set = std::move(set);
  options.stream = read.stream;
  if (read.num_splits > 0) {
    HVD_RETURN_IF_ERROR(check_not_null(read.splits, "splits"));
    options.splits.assign(read.splits, read.splits + read.num_splits);
  }
  return options;
}

std::vector<ConstTensorView> as_const(const std::vector<TensorView>& views) {
  return {views.begin(), views.end()};
}

absl::StatusOr<Transfer> transfer_of(const hvd_tensor* tensor,
                                     const hvd_tensor* result) {
  HVD_RETURN_IF_ERROR(check_not_null(tensor, "tensor"));
  HVD_RETURN_IF_ERROR(check_not_null(result, "result"));
  HVD_ASSIGN_OR_RETURN(TensorView from, view_of(*tensor));
  HVD_ASSIGN_OR_RETURN(TensorView to, view_of(*result));
  return Transfer{std::move(from), std::move(to)};
}

}  // namespace hvd::c
