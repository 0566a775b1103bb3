// Which tensors travel together: a pure function from what is ready, in order,
// to batches. The one who cuts batches runs it once for everybody, so that all
// ranks execute the same ones.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "horovodpp/coordinator/request.h"

namespace hvd::coordinator {

// Batches of indices into `ready`, in the order of execution. Allreduces of
// equal dtype, op, scales and kind of device are fused while their bytes stay
// within `threshold`; everything else, and what is larger by itself, goes
// alone. Looking for companions it may pass over others as long as fused and
// passed-over bytes together stay within the threshold; who is passed over
// keeps its order. At most `max_batch` tensors in a batch. A threshold of 0
// fuses nothing.
std::vector<std::vector<std::size_t>> plan_fusion(
    std::span<const Request* const> ready, std::size_t threshold,
    std::size_t max_batch);

}  // namespace hvd::coordinator
