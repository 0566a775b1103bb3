# SPDX-License-Identifier: Apache-2.0
"""Operations whose result may be a view of their first operand, or that operand itself."""

import sources_shapes

VIEWS = {"positive", "matrix_transpose", "hsplit", "vsplit", "dsplit", "ravel", "reshape", "view", "transpose", "t", "permute",
         "expand", "squeeze", "unsqueeze", "as_strided", "narrow", "select", "slice", "split",
         "split_size", "chunk", "unbind", "index", "contiguous", "to", "dropout", "drop_path",
         "channels_last", "detach", "data", "sum_to"} | sources_shapes.VIEWS
