// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/gz_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/file_error.h"

namespace hvd::data {
namespace {

constexpr std::size_t kStep = std::size_t{1} << 20;

constexpr std::size_t kInputBytes = std::size_t{1} << 16;

// The largest window, with a gzip header.
constexpr int kGzipWindow = 15 + 16;

int open_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) return file;
  throw Error(file_error(errno, absl::StrCat("'", path, "' cannot be opened")));
}

}  // namespace

void GzFile::StreamEnd::operator()(z_stream_s* stream) const {
  inflateEnd(stream);
  delete stream;
}

GzFile::GzFile(const std::string& path)
    : path_(path), file_(open_file(path)), input_(kInputBytes) {
  try {
    struct stat status {};
    if (::fstat(file_, &status) == 0 && S_ISDIR(status.st_mode)) {
      throw Error(absl::InvalidArgumentError(
          absl::StrCat("'", path_, "' is a directory")));
    }
    if (!at_member()) return;
    stream_.reset(new z_stream_s());
    if (inflateInit2(stream_.get(), kGzipWindow) != Z_OK) {
      throw Error(absl::ResourceExhaustedError(
          absl::StrCat("'", path_, "': no memory to unpack it with")));
    }
  } catch (...) {
    ::close(file_);
    throw;
  }
}

GzFile::~GzFile() { ::close(file_); }

bool GzFile::has(std::size_t count) {
  while (end_ - begin_ < count) {
    std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const ssize_t got =
        ::read(file_, input_.data() + end_, input_.size() - end_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error(
          file_error(errno, absl::StrCat("'", path_, "' cannot be read")));
    }
    if (got == 0) return false;
    end_ += static_cast<std::size_t>(got);
  }
  return true;
}

std::size_t GzFile::copy_some(void* data, std::size_t bytes) {
  if (!has(1)) return 0;
  const std::size_t got = std::min(bytes, end_ - begin_);
  std::memcpy(data, input_.data() + begin_, got);
  begin_ += got;
  return got;
}

bool GzFile::begin_next_member() {
  while (has(1) && input_[begin_] == 0) ++begin_;
  if (!has(1)) return false;
  if (!at_member()) {
    fail(
        "has uncompressed bytes behind its compressed part; get the file anew");
  }
  within_member_ = inflateReset(stream_.get()) == Z_OK;
  return within_member_;
}

std::size_t GzFile::inflate_some(void* data, std::size_t bytes) {
  while (true) {
    if (!within_member_ && !begin_next_member()) return 0;
    if (!has(1)) fail("is truncated; get the file anew");
    stream_->next_in = input_.data() + begin_;
    stream_->avail_in = static_cast<uInt>(end_ - begin_);
    stream_->next_out = static_cast<Bytef*>(data);
    stream_->avail_out = static_cast<uInt>(bytes);
    const int code = inflate(stream_.get(), Z_NO_FLUSH);
    begin_ = end_ - stream_->avail_in;
    if (code == Z_STREAM_END) {
      within_member_ = false;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      fail(absl::StrCat(
          "is damaged: ",
          stream_->msg != nullptr ? stream_->msg : "it cannot be decompressed",
          "; get the file anew"));
    }
    if (const std::size_t got = bytes - stream_->avail_out; got > 0) return got;
  }
}

std::size_t GzFile::read_some(void* data, std::size_t bytes) {
  const std::size_t step = std::min(bytes, kStep);
  return stream_ ? inflate_some(data, step) : copy_some(data, step);
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
