// SPDX-License-Identifier: Apache-2.0
// A sparse gradient in flight: an allgather of rows, each preceded by its
// number; ranks may have any number of rows.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "horovodpp/compression/compressor.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/replica/reducer_options.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::replica {

struct Rows {
  ConstTensorView rows;    // int64[n]
  ConstTensorView values;  // [n, ...]
  std::shared_ptr<const void> keep_alive;
};

// Checks that the rows can be the gradient of `key`, and be reduced with `op`.
//   hvd::Error (InvalidArgument)  they cannot
void check_rows(const std::string& key, const Rows& rows, ReduceOp op);

class RowsExchange : public compression::Exchange {
 public:
  // Starts the allgather of a copy of the rows; finish() fills `result`.
  RowsExchange(Runtime& job, const Rows& rows, AllgatherOptions options,
               std::shared_ptr<GatheredRows> result);
  Status finish() override;

 private:
  const std::shared_ptr<GatheredRows> result_;
  const DType dtype_;
  const Shape shape_;            // Of this rank's values.
  const std::size_t row_bytes_;  // Of the values of one row.
  Future<Buffer> all_;
};

}  // namespace hvd::replica
