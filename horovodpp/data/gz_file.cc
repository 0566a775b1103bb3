#include "horovodpp/data/gz_file.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/file_error.h"
#include "horovodpp/core/status.h"

namespace hvd::data {
namespace {

constexpr std::size_t kStep = std::size_t{1} << 20;

}  // namespace

GzFile::GzFile(const std::string& path)
    : path_(path), file_(gzopen(path.c_str(), "rbe")) {
  const int error = errno;
  if (file_ == nullptr) {
    throw Error(
        file_error(error, absl::StrCat("'", path_, "' cannot be opened")));
  }
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    gzclose(file_);
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("'", path_, "' is a directory")));
  }
}

GzFile::~GzFile() { gzclose(file_); }

std::size_t GzFile::read_some(void* data, std::size_t bytes) {
  const int got =
      gzread(file_, data, static_cast<unsigned>(std::min(bytes, kStep)));
  // At the end of a file that stops within a compressed block, zlib gives what
  // there is and remembers an error.
  int code = Z_OK;
  const char* text = gzerror(file_, &code);
  if (got < 0 || (got == 0 && code != Z_OK)) {
    if (code == Z_BUF_ERROR) fail("is truncated; get the file anew");
    fail(absl::StrCat("is damaged: ", text));
  }
  return static_cast<std::size_t>(got);
}

void GzFile::read(void* data, std::size_t bytes) {
  auto* next = static_cast<std::uint8_t*>(data);
  while (bytes > 0) {
    const std::size_t got = read_some(next, bytes);
    if (got == 0) fail("is truncated; get the file anew");
    next += got;
    bytes -= got;
  }
}

std::vector<std::uint8_t> GzFile::read_bytes(std::uint64_t bytes) {
  std::vector<std::uint8_t> result;
  while (result.size() < bytes) {
    const std::size_t at = result.size();
    const auto step = static_cast<std::size_t>(
        std::min<std::uint64_t>(bytes - at, std::max(at, kStep)));
    result.resize(at + step);
    read(result.data() + at, step);
  }
  return result;
}

std::vector<std::uint8_t> GzFile::read_all(std::uint64_t most) {
  std::vector<std::uint8_t> result;
  while (true) {
    const std::size_t at = result.size();
    result.resize(at + kStep);
    const std::size_t got = read_some(result.data() + at, kStep);
    result.resize(at + got);
    if (got == 0) return result;
    if (result.size() > most) {
      throw Error(absl::ResourceExhaustedError(
          absl::StrCat("'", path_, "' has more than ", most, " bytes")));
    }
  }
}

void GzFile::check_end() {
  std::uint8_t more = 0;
  if (read_some(&more, 1) > 0) fail("is longer than its header says");
}

void GzFile::fail(const std::string& why) const {
  throw Error(absl::DataLossError(absl::StrCat("'", path_, "' ", why)));
}

}  // namespace hvd::data
