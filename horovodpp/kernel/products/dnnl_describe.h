// SPDX-License-Identifier: Apache-2.0
// Describes primitives to oneDNN 2, which takes an operation descriptor, and to
// oneDNN 3, which takes its fields.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "horovodpp/kernel/products/dnnl_routine.h"

namespace hvd::autograd {

// `operation...`: the arguments that oneDNN's manual lists for the primitive
// between the engine and the attributes.
template <class Primitive, typename... Operation>
typename Primitive::primitive_desc describe_primitive(
    const dnnl::primitive_attr& attributes, const Operation&... operation) {
  if constexpr (requires { typename Primitive::desc; }) {
    return {typename Primitive::desc(operation...), attributes, dnnl_engine()};
  } else {
    return {dnnl_engine(), operation..., attributes};
  }
}

// The same for a primitive of the backward pass.
template <class Primitive, class Forward, typename... Operation>
typename Primitive::primitive_desc describe_backward(
    const Forward& forward, const Operation&... operation) {
  if constexpr (requires { typename Primitive::desc; }) {
    return {typename Primitive::desc(operation...), dnnl_attributes(),
            dnnl_engine(), forward};
  } else {
    return {dnnl_engine(), operation..., forward, dnnl_attributes()};
  }
}

// The same elements, in oneDNN's preferred layout.
template <class Description>
Description in_any_layout(const Description& given) {
  const auto any = dnnl::memory::format_tag::any;
  if constexpr (requires { given.get_dims(); }) {
    return {given.get_dims(), given.get_data_type(), any};
  } else {
    return {given.dims(), given.data_type(), any};
  }
}

}  // namespace hvd::autograd
