// Reads IDX files, the format of MNIST and its kin, plain or gzip'd.
//
// Format: http://yann.lecun.com/exdb/mnist — two zero bytes, the element type
// (8 for unsigned bytes), the number of dimensions, the dimensions as
// big-endian 32-bit numbers, then the elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct IdxArray {
  std::vector<std::int64_t> dims;
  std::vector<std::uint8_t> bytes;
};

// The unsigned bytes in `path`.
//   std::runtime_error  the file is missing, unreadable, truncated, too long,
//                       or no IDX file of unsigned bytes; names it
IdxArray read_idx(const std::string& path);
