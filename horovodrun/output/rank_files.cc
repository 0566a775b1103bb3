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

// O_NONBLOCK, so that a pipe of that name does not block.
absl::StatusOr<int> create_file(const std::string& path) {
  const int fd =
      ::open(path.c_str(),
             O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) return errno_error(absl::StrCat("cannot write to ", path));
  return fd;
}

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

absl::StatusOr<OpenRankFiles> open_rank_files(const std::string& folder,
                                              int rank, int ranks) {
  const std::size_t digits = absl::StrCat(ranks - 1).size();
  const std::string of_rank =
      absl::StrFormat("%s/rank.%0*d", folder, digits, rank);
  HVD_RETURN_IF_ERROR(make_output_folder(of_rank));
  OpenRankFiles files = {.names = {of_rank + "/stdout", of_rank + "/stderr"}};
  HVD_ASSIGN_OR_RETURN(files.output, create_file(files.names.output));
  absl::StatusOr<int> errors = create_file(files.names.errors);
  if (errors.ok()) {
    files.errors = *errors;
    return files;
  }
  close(files.output);
  return errors.status();
}

std::string cannot_write(const std::string& path, int error) {
  return absl::StrCat("cannot write to ", path, ": ", std::strerror(error));
}

RankFiles::RankFiles() = default;
RankFiles::~RankFiles() = default;

absl::Status RankFiles::open(const std::string& folder, int ranks) {
  HVD_RETURN_IF_ERROR(make_output_folder(folder));
  folder_ = folder;
  ranks_ = ranks;
  return absl::OkStatus();
}

absl::Status RankFiles::add(int rank) {
  if (folder_.empty() || files_.contains(rank)) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(OpenRankFiles opened,
                       open_rank_files(folder_, rank, ranks_));
  files_[rank] = {
      std::make_unique<File>(std::move(opened.names.output), opened.output),
      std::make_unique<File>(std::move(opened.names.errors), opened.errors)};
  return absl::OkStatus();
}

OutputPump* RankFiles::pump(int rank, int stream) const {
  const auto found = files_.find(rank);
  return found == files_.end()
             ? nullptr
             : &found->second[static_cast<std::size_t>(stream)]->pump;
}

std::string RankFiles::error() const {
  for (const auto& [rank, files] : files_) {
    for (const auto& file : files) {
      if (file->pump.error() == 0) continue;
      return cannot_write(file->path, file->pump.error());
    }
  }
  return "";
}

}  // namespace hvd::launcher
