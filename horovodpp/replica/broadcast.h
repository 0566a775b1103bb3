// Makes replicas equal: every rank gets the tensors of one.
#pragma once

#include <string>
#include <vector>

#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::replica {

struct NamedView {
  std::string name;
  TensorView view;
};

// Replaces all `tensors`, matched across ranks by name, by those of rank
// `root_rank`.
//   hvd::Error  the first failure; all transfers have ended by then
void broadcast(Runtime& runtime, const std::vector<NamedView>& tensors,
               int root_rank);

}  // namespace hvd::replica
