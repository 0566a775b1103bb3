// SPDX-License-Identifier: Apache-2.0
// The NcclLibrary is NCCL as this process has it: its functions, its version, and
// errors in words. It is loaded when it is first asked for, so that a program
// without tensors on GPUs never sees it.
//
//   HVD_ASSIGN_OR_RETURN(const NcclApi* nccl, library.api());
//
// Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/core/mutex.h"

namespace hvd::collective {

class NcclLibrary {
 public:
  static constexpr const char* kFile = "libnccl.so.2";
  // 2.14: the first whose communicators are made without blocking.
  static constexpr int kOldestVersion = 21400;
  // 2.30: the first that lets ranks share a GPU, if it is told to.
  static constexpr int kSharingVersion = 23000;

  explicit NcclLibrary(std::string file = kFile) : file_(std::move(file)) {}

  // Valid as long as this; never nullptr. The same answer each time.
  //   NotFound            there is none; says which file was looked for, and what
  //                       brings it
  //   FailedPrecondition  it is too old
  absl::StatusOr<const NcclApi*> api();
  // 22703 is 2.27.3; 0 where there is none.
  int version();

 private:
  struct Loaded {
    NcclApi api = {};
    int version = 0;
    absl::Status status = {};
  };
  const Loaded& loaded();
  static Loaded load(const std::string& file);

  const std::string file_;
  Mutex mutex_;
  std::unique_ptr<const Loaded> loaded_ ABSL_GUARDED_BY(mutex_);
};

// "2.27.3".
std::string nccl_version_text(int version);

// OK, or an Internal error "<call>: <NCCL's words>". `comm` may be nullptr.
absl::Status status_of(const NcclApi& api, NcclResult result, const char* call,
                       NcclComm comm = nullptr);

}  // namespace hvd::collective
