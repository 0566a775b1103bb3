// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/rank_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "horovodpp/core/status.h"

namespace hvd::launcher {
namespace {

constexpr const char* kStreams[] = {"stdout", "stderr"};

}  // namespace

struct RankFiles::File {
  File(std::string where, int descriptor)
      : path(std::move(where)), fd(descriptor), pump(descriptor) {}
  ~File() { close(fd); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string path;
  const int fd;
  OutputPump pump;
};

absl::Status make_output_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InternalError(
        absl::StrCat("cannot make ", folder, ": ", error.message()));
  }
  return access(folder.c_str(), W_OK | X_OK) == 0
             ? absl::OkStatus()
             : errno_error(absl::StrCat("cannot write to ", folder));
}

RankFiles::RankFiles() = default;
RankFiles::~RankFiles() = default;

absl::Status RankFiles::open(const std::string& folder, int ranks) {
  const std::size_t digits = absl::StrCat(ranks - 1).size();
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string of_rank =
        absl::StrFormat("%s/rank.%0*d", folder, digits, rank);
    HVD_RETURN_IF_ERROR(make_output_folder(of_rank));
    for (const char* stream : kStreams) {
      std::string path = absl::StrCat(of_rank, "/", stream);
      // O_NONBLOCK, so that a pipe of that name does not block.
      const int fd =
          ::open(path.c_str(),
                 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
      if (fd < 0) return errno_error(absl::StrCat("cannot write to ", path));
      files_.push_back(std::make_unique<File>(std::move(path), fd));
    }
  }
  return absl::OkStatus();
}

OutputPump* RankFiles::pump(int rank, int stream) const {
  const auto index =
      static_cast<std::size_t>(rank) * 2 + static_cast<std::size_t>(stream);
  return rank >= 0 && index < files_.size() ? &files_[index]->pump : nullptr;
}

std::string RankFiles::error() const {
  for (const auto& file : files_) {
    if (file->pump.error() != 0) {
      return absl::StrCat("cannot write to ", file->path, ": ",
                          std::strerror(file->pump.error()));
    }
  }
  return "";
}

}  // namespace hvd::launcher
