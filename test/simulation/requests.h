// SPDX-License-Identifier: Apache-2.0
// Random requests, and variations of a request.
#pragma once

#include <string>
#include <vector>

#include "horovodpp/coordinator/request.h"
#include "test/simulation/random.h"

namespace hvd::simulation {

// A regular request for a collective operation on the ranks `members`.
coordinator::Request random_request(Random& random, const std::string& name,
                                    const std::vector<int>& members);

// The same operation on a tensor of another shape, or with another difference
// if there are no tensors.
coordinator::Request with_other_shape(Random& random,
                                      coordinator::Request request);

// A request that does not match `request`.
coordinator::Request with_difference(Random& random,
                                     coordinator::Request request);

// Whether first dimensions may differ from rank to rank and call to call.
bool has_free_rows(const coordinator::Request& request);

// The same request with other numbers of rows.
coordinator::Request with_other_rows(Random& random,
                                     coordinator::Request request);

}  // namespace hvd::simulation
