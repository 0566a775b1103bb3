// SPDX-License-Identifier: Apache-2.0
/* Prints the parts of the C interface that compiled programs contain: sizes, offsets and
 * numbers. See abi.txt. */
#include <stddef.h>
#include <stdio.h>

#include "horovodpp/c/horovodpp.h"

static void print(const char* what, size_t value) {
  printf("%s %lu\n", what, (unsigned long)value);
}
#define STRUCT(type) print("struct " #type, sizeof(type))
#define FIELD(type, field) print("  " #field, offsetof(type, field))
#define NUMBER(name) print(#name, (size_t)(name))

int main(void) {
  STRUCT(hvd_tensor);
  FIELD(hvd_tensor, data);
  FIELD(hvd_tensor, dims);
  FIELD(hvd_tensor, num_dims);
  FIELD(hvd_tensor, dtype);
  FIELD(hvd_tensor, device);
  STRUCT(hvd_allreduce_options);
  FIELD(hvd_allreduce_options, size);
  FIELD(hvd_allreduce_options, name);
  FIELD(hvd_allreduce_options, op);
  FIELD(hvd_allreduce_options, average_of_participants);
  FIELD(hvd_allreduce_options, prescale_factor);
  FIELD(hvd_allreduce_options, postscale_factor);
  FIELD(hvd_allreduce_options, process_set);
  FIELD(hvd_allreduce_options, stream);
  STRUCT(hvd_reducescatter_options);
  STRUCT(hvd_collective_options);
  FIELD(hvd_collective_options, size);
  FIELD(hvd_collective_options, name);
  FIELD(hvd_collective_options, process_set);
  FIELD(hvd_collective_options, stream);
  STRUCT(hvd_alltoall_options);
  FIELD(hvd_alltoall_options, size);
  FIELD(hvd_alltoall_options, name);
  FIELD(hvd_alltoall_options, process_set);
  FIELD(hvd_alltoall_options, splits);
  FIELD(hvd_alltoall_options, num_splits);
  FIELD(hvd_alltoall_options, stream);
  STRUCT(hvd_reducer_options);
  FIELD(hvd_reducer_options, size);
  FIELD(hvd_reducer_options, name);
  FIELD(hvd_reducer_options, op);
  FIELD(hvd_reducer_options, reserved);
  FIELD(hvd_reducer_options, gradient_predivide_factor);
  FIELD(hvd_reducer_options, scale);
  FIELD(hvd_reducer_options, process_set);
  FIELD(hvd_reducer_options, group_keys);
  FIELD(hvd_reducer_options, group_sizes);
  FIELD(hvd_reducer_options, num_groups);
  FIELD(hvd_reducer_options, compression);
  FIELD(hvd_reducer_options, power_sgd_rank);
  FIELD(hvd_reducer_options, top_k_share);
  FIELD(hvd_reducer_options, compression_momentum);
  FIELD(hvd_reducer_options, compression_warmup_steps);
  FIELD(hvd_reducer_options, top_k_warmup_share);
  FIELD(hvd_reducer_options, top_k_whole_below);
  FIELD(hvd_reducer_options, top_k_max_norm);
  FIELD(hvd_reducer_options, top_k_mask_velocity);
  FIELD(hvd_reducer_options, compute_threads);
  STRUCT(hvd_reducer_stats);
  FIELD(hvd_reducer_stats, size);
  FIELD(hvd_reducer_stats, gradients);
  FIELD(hvd_reducer_stats, bytes);
  FIELD(hvd_reducer_stats, sent_bytes);
  STRUCT(hvd_gradient_piece);
  FIELD(hvd_gradient_piece, key);
  FIELD(hvd_gradient_piece, offset);
  FIELD(hvd_gradient_piece, elements);
  STRUCT(hvd_operation);
  STRUCT(hvd_process_set);
  STRUCT(hvd_reducer);
  STRUCT(hvd_prepared);
  NUMBER(HVD_GLOBAL_PROCESS_SET);
  NUMBER(-HVD_ANY_RANK);
  NUMBER(HVD_CPU);
  NUMBER(HVD_CUDA(0));
  NUMBER(HVD_OK);
  NUMBER(HVD_CANCELLED);
  NUMBER(HVD_UNKNOWN);
  NUMBER(HVD_INVALID_ARGUMENT);
  NUMBER(HVD_DEADLINE_EXCEEDED);
  NUMBER(HVD_NOT_FOUND);
  NUMBER(HVD_ALREADY_EXISTS);
  NUMBER(HVD_PERMISSION_DENIED);
  NUMBER(HVD_RESOURCE_EXHAUSTED);
  NUMBER(HVD_FAILED_PRECONDITION);
  NUMBER(HVD_ABORTED);
  NUMBER(HVD_OUT_OF_RANGE);
  NUMBER(HVD_UNIMPLEMENTED);
  NUMBER(HVD_INTERNAL);
  NUMBER(HVD_UNAVAILABLE);
  NUMBER(HVD_DATA_LOSS);
  NUMBER(HVD_UNAUTHENTICATED);
  NUMBER(HVD_UINT8);
  NUMBER(HVD_INT8);
  NUMBER(HVD_INT16);
  NUMBER(HVD_INT32);
  NUMBER(HVD_INT64);
  NUMBER(HVD_FLOAT16);
  NUMBER(HVD_BFLOAT16);
  NUMBER(HVD_FLOAT32);
  NUMBER(HVD_FLOAT64);
  NUMBER(HVD_BOOL);
  NUMBER(HVD_AVERAGE);
  NUMBER(HVD_SUM);
  NUMBER(HVD_ADASUM);
  NUMBER(HVD_MIN);
  NUMBER(HVD_MAX);
  NUMBER(HVD_PRODUCT);
  NUMBER(HVD_COMPRESSION_NONE);
  NUMBER(HVD_COMPRESSION_FLOAT16);
  NUMBER(HVD_COMPRESSION_BFLOAT16);
  NUMBER(HVD_COMPRESSION_INT8);
  NUMBER(HVD_COMPRESSION_TOP_K);
  NUMBER(HVD_COMPRESSION_SIGNS);
  NUMBER(HVD_COMPRESSION_POWER_SGD);
  return 0;
}
