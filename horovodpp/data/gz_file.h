// A file that gzip may have compressed, read from its beginning. Errors name it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct gzFile_s;

namespace hvd::data {

class GzFile {
 public:
  //   hvd::Error  there is no such file, or it must not be read
  explicit GzFile(const std::string& path);
  ~GzFile();
  GzFile(const GzFile&) = delete;
  GzFile& operator=(const GzFile&) = delete;

  // Fills `data`.
  //   hvd::Error (DataLoss)  the file is damaged, or has no more so many bytes
  void read(void* data, std::size_t bytes);

  // So many bytes, in memory that grows as they come: a file that claims what
  // it does not hold costs nothing.
  std::vector<std::uint8_t> read_bytes(std::uint64_t bytes);

  // All bytes that are left.
  //   hvd::Error  they are more than `most` (ResourceExhausted), or damaged
  std::vector<std::uint8_t> read_all(std::uint64_t most);

  //   hvd::Error (DataLoss)  there is more to read
  void check_end();

  // Throws the hvd::Error "'<path>' <why>" (DataLoss).
  [[noreturn]] void fail(const std::string& why) const;

 private:
  // At most so many, 0 at the end.
  std::size_t read_some(void* data, std::size_t bytes);

  const std::string path_;
  gzFile_s* file_;
};

}  // namespace hvd::data
