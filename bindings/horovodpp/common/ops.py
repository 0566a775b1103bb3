# SPDX-License-Identifier: Apache-2.0
"""The operations of reductions. Their numbers are as in Horovod and in ReduceOp of C++."""

__all__ = ["Adasum", "Average", "Max", "Min", "Product", "Sum"]

Average = 0
Sum = 1
Adasum = 2
Min = 3
Max = 4
Product = 5
