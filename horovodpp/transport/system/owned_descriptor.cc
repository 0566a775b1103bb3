// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/owned_descriptor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace hvd::transport {

OwnedDescriptor::OwnedDescriptor(int number) : number_(number) {
  struct stat file = {};
  if (number < 0 || ::fstat(number, &file) != 0) return;
  device_ = file.st_dev;
  file_ = file.st_ino;
}

OwnedDescriptor::~OwnedDescriptor() {
  if (is_there()) ::close(number_);
}

OwnedDescriptor::OwnedDescriptor(OwnedDescriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)),
      device_(other.device_),
      file_(other.file_) {}

OwnedDescriptor& OwnedDescriptor::operator=(OwnedDescriptor&& other) noexcept {
  OwnedDescriptor taken(std::move(other));
  std::swap(number_, taken.number_);
  std::swap(device_, taken.device_);
  std::swap(file_, taken.file_);
  return *this;
}

bool OwnedDescriptor::is_there() const {
  struct stat file = {};
  return number_ >= 0 && ::fstat(number_, &file) == 0 &&
         file.st_dev == device_ && file.st_ino == file_;
}

}  // namespace hvd::transport
