// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/prepared.h"

#include <utility>

#include "horovodpp/runtime/settings/waits_at_once.h"
#include "horovodpp/runtime/submission/prepared_call.h"

namespace hvd {
namespace {

Status of_nothing() {
  return Status(StatusCode::kFailedPrecondition,
                "this Prepared is of no collective, or was moved away");
}

}  // namespace

Prepared::Prepared() = default;
Prepared::~Prepared() = default;
Prepared::Prepared(Prepared&& other) noexcept = default;
Prepared& Prepared::operator=(Prepared&& other) noexcept = default;

Prepared::Prepared(std::unique_ptr<runtime::PreparedCall> call)
    : call_(std::move(call)) {}

void Prepared::start() {
  if (call_ != nullptr) call_->start();
}

Status Prepared::wait() { return call_ ? call_->wait() : of_nothing(); }

Status Prepared::wait(void* stream) {
  return call_ ? call_->wait(stream) : of_nothing();
}

bool Prepared::poll() { return call_ == nullptr || call_->poll(); }

Status Prepared::run() {
  if (call_ != nullptr && call_->start_at_once()) return call_->wait();
  const WaitsAtOnce at_once;
  start();
  return wait();
}

}  // namespace hvd
