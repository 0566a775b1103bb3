#include "idx_reader.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace {

// No data set of bytes is larger; a damaged header may claim to be.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 34;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw std::runtime_error("'" + path + "' " + why);
}

// A file that gzip may have compressed.
class GzFile {
 public:
  explicit GzFile(const std::string& path)
      : path_(path), file_(gzopen(path.c_str(), "rb"), gzclose) {
    if (file_ == nullptr)
      fail(path_, std::string("cannot be opened: ") + std::strerror(errno));
  }

  // Fills `data`, or fails.
  void read(std::uint8_t* data, std::size_t bytes) {
    while (bytes > 0) {
      const unsigned step =
          bytes > (1u << 20) ? (1u << 20) : static_cast<unsigned>(bytes);
      const int got = gzread(file_.get(), data, step);
      if (got < 0) fail(path_, std::string("is damaged: ") + error());
      if (got == 0) fail(path_, "is truncated; get the file anew");
      data += got;
      bytes -= static_cast<std::size_t>(got);
    }
  }

  bool at_end() {
    std::uint8_t more = 0;
    const int got = gzread(file_.get(), &more, 1);
    if (got < 0) fail(path_, std::string("is damaged: ") + error());
    return got == 0;
  }

 private:
  const char* error() {
    int code = 0;
    return gzerror(file_.get(), &code);
  }
  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

}  // namespace

IdxArray read_idx(const std::string& path) {
  GzFile file(path);
  std::uint8_t header[4];
  file.read(header, sizeof(header));
  if (header[0] != 0 || header[1] != 0 || header[2] != 8 || header[3] == 0) {
    fail(path, "is no IDX file of unsigned bytes");
  }
  IdxArray array;
  std::int64_t bytes = 1;
  for (int i = 0; i < header[3]; ++i) {
    std::uint8_t dim[4];
    file.read(dim, sizeof(dim));
    array.dims.push_back((std::int64_t{dim[0]} << 24) | (dim[1] << 16) |
                         (dim[2] << 8) | dim[3]);
    const std::int64_t size = array.dims.back();
    if (size > 0 && bytes > kMostBytes / size)
      fail(path, "claims to be larger than any data set");
    bytes *= size;
  }
  array.bytes.resize(static_cast<std::size_t>(bytes));
  file.read(array.bytes.data(), array.bytes.size());
  if (!file.at_end()) fail(path, "is longer than its header says");
  return array;
}
