// SPDX-License-Identifier: Apache-2.0
// The NcclLibrary gives access to NCCL in this process: its functions, its
// version, and errors as text. It loads NCCL at the first use, so a program
// without tensors on GPUs never loads it.
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
  // 2.14: the first version that creates communicators without blocking.
  static constexpr int kOldestVersion = 21400;
  // 2.30: the first version that lets ranks share a GPU, if so configured.
  static constexpr int kSharingVersion = 23000;

  explicit NcclLibrary(std::string file = kFile) : file_(std::move(file)) {}

  // Valid as long as this object; never nullptr. The same answer each time.
  //   NotFound            there is no library; the message names the file and
  //                       says what installs it
  //   FailedPrecondition  the library is too old
  absl::StatusOr<const NcclApi*> api();
  // 22703 is 2.27.3; 0 without a library.
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
