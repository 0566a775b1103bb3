// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/rows_exchange.h"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/reduce_arithmetic.h"
#include "horovodpp/core/status.h"

namespace hvd::replica {
namespace {

constexpr std::size_t kNumberBytes = sizeof(std::int64_t);

Shape with_rows(const Shape& shape, std::int64_t rows) {
  const IntSpan dims = shape.dims();
  std::vector<std::int64_t> sizes(dims.begin(), dims.end());
  sizes[0] = rows;
  return Shape(IntSpan(sizes.data(), sizes.size()));
}

std::size_t bytes_of_row(const ConstTensorView& values) {
  const Shape one = with_rows(values.shape(), 1);
  return static_cast<std::size_t>(one.num_elements()) * size_of(values.dtype());
}

}  // namespace

void check_rows(const std::string& key, const Rows& rows, ReduceOp op) {
  const auto refuse = [&](const std::string& why) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("the sparse gradient of '", key, "' ", why)));
  };
  if (!describe(op).linear) {
    refuse(absl::StrCat("cannot be reduced with op ", name_of(op),
                        ", only with average or sum; send it as a dense one"));
  }
  const Shape& shape = rows.values.shape();
  const bool fits = rows.rows.dtype() == DType::kI64 &&
                    rows.rows.shape().rank() == 1 && shape.rank() >= 1 &&
                    shape[0] == rows.rows.num_elements();
  if (!fits) {
    refuse(absl::StrCat("has rows of ", name_of(rows.rows.dtype()),
                        rows.rows.shape().to_string(), " for values of ",
                        shape.to_string(),
                        "; each row has a number, int64[n]"));
  }
}

RowsExchange::RowsExchange(Runtime& job, const Rows& rows,
                           AllgatherOptions options,
                           std::shared_ptr<GatheredRows> result)
    : result_(std::move(result)),
      dtype_(rows.values.dtype()),
      shape_(rows.values.shape()),
      row_bytes_(bytes_of_row(rows.values)) {
  const std::int64_t count = rows.rows.num_elements();
  const std::size_t stride = kNumberBytes + row_bytes_;
  const auto message = std::make_shared<std::vector<std::byte>>(
      static_cast<std::size_t>(count) * stride);
  std::byte* to = message->data();
  const auto* number = static_cast<const std::byte*>(rows.rows.data());
  const auto* values = static_cast<const std::byte*>(rows.values.data());
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to, number, kNumberBytes);
    if (row_bytes_ > 0) std::memcpy(to + kNumberBytes, values, row_bytes_);
    to += stride;
    number += kNumberBytes;
    values += row_bytes_;
  }
  options.keep_alive = message;
  all_ = job.allgather_async(
      ConstTensorView(message->data(), DType::kU8,
                      Shape({count, static_cast<std::int64_t>(stride)})),
      std::move(options));
}

Status RowsExchange::finish() {
  const absl::StatusOr<Buffer> all = all_.take();
  if (!all.ok()) return all.status();
  const std::size_t stride = kNumberBytes + row_bytes_;
  const auto count = static_cast<std::int64_t>(all->bytes() / stride);
  auto rows = Buffer::allocate(DType::kI64, Shape({count}));
  if (!rows.ok()) return rows.status();
  auto values = Buffer::allocate(dtype_, with_rows(shape_, count));
  if (!values.ok()) return values.status();
  const auto* from = static_cast<const std::byte*>(all->view().data());
  auto* number = static_cast<std::byte*>(rows->view().data());
  auto* value = static_cast<std::byte*>(values->view().data());
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(number, from, kNumberBytes);
    if (row_bytes_ > 0) std::memcpy(value, from + kNumberBytes, row_bytes_);
    from += stride;
    number += kNumberBytes;
    value += row_bytes_;
  }
  result_->rows = *std::move(rows);
  result_->values = *std::move(values);
  return Status();
}

}  // namespace hvd::replica
