# SPDX-License-Identifier: Apache-2.0
"""The sources of dialects.py for the operations of ops/shapes."""

SOURCES = {
    # Views.
    "flatten": ("{0}.flatten({start}, {end})", "hvd::flatten({0}, {start}, {end})"),
    "unflatten": ("{0}.unflatten({dim}, {sizes})", "hvd::unflatten({0}, {dim}, {sizes})"),
    "movedim": ("torch.movedim({0}, {places}, {to})", "hvd::movedim({0}, {places}, {to})"),
    "swapaxes": ("{0}.swapaxes({dim0}, {dim1})", "hvd::swapaxes({0}, {dim0}, {dim1})"),
    "diagonal": ("{0}.diagonal({offset}, {dim1}, {dim2})",
                 "hvd::diagonal({0}, {offset}, {dim1}, {dim2})"),
    "unfold": ("{0}.unfold({dim}, {size}, {step})", "hvd::unfold({0}, {dim}, {size}, {step})"),
    "broadcast_to": ("{0}.broadcast_to({sizes})", "hvd::broadcast_to({0}, {sizes})"),
    "broadcast_tensors": ("torch.broadcast_tensors(*{all})", "hvd::broadcast_tensors({all})"),
    "tensor_split": ("torch.tensor_split({0}, {sections}, {dim})",
                     "hvd::tensor_split({0}, {sections}, {dim})"),
    "tensor_split_at": ("torch.tensor_split({0}, {starts}, {dim})",
                        "hvd::tensor_split({0}, std::vector<std::int64_t>{starts}, {dim})"),
    "meshgrid": ("torch.meshgrid({all}, indexing='xy' if {cartesian} else 'ij')",
                 "hvd::meshgrid({all}, {cartesian} ? hvd::GridOrder::kCartesian : "
                 "hvd::GridOrder::kMatrix)"),
    # Copies.
    "repeat": ("{0}.repeat({repeats})", "hvd::repeat({0}, {repeats})"),
    "tile": ("{0}.tile({repeats})", "hvd::tile({0}, {repeats})"),
    "repeat_interleave": ("{0}.repeat_interleave({count}, {dim})",
                          "hvd::repeat_interleave({0}, {count}, {dim})"),
    "repeat_interleave_tensor": ("{0}.repeat_interleave({1}, {dim})",
                                 "hvd::repeat_interleave({0}, {1}, {dim})"),
    "rot90": ("torch.rot90({0}, {k}, [{dim0}, {dim1}])", "hvd::rot90({0}, {k}, {dim0}, {dim1})"),
    "roll_flat": ("torch.roll({0}, {shift})", "hvd::roll({0}, {shift})"),
    "channel_shuffle": ("torch.channel_shuffle({0}, {groups})",
                        "hvd::channel_shuffle({0}, {groups})"),
    "tril_": ("{0}.tril_({offset})", "hvd::tril_({0}, {offset})"),
    "triu_": ("{0}.triu_({offset})", "hvd::triu_({0}, {offset})"),
    "diag_embed": ("torch.diag_embed({0}, {offset}, {dim1}, {dim2})",
                   "hvd::diag_embed({0}, {offset}, {dim1}, {dim2})"),
    "full_like": ("torch.full_like({0}, {number})", "hvd::full_like({0}, {number})"),
    "one_hot": ("F.one_hot({0}, {classes})", "hvd::one_hot({0}, {classes})"),
    "unfold_images": ("F.unfold({0}, {kernel}, {dilation}, {padding}, {stride})",
                      "hvd::unfold({0}, {{.kernel = {kernel}, .dilation = {dilation}, "
                      ".padding = {padding}, .stride = {stride}}})"),
    "fold": ("F.fold({0}, {size}, {kernel}, {dilation}, {padding}, {stride})",
             "hvd::fold({0}, hvd::Pair{size}, {{.kernel = {kernel}, .dilation = {dilation}, "
             ".padding = {padding}, .stride = {stride}}})"),
    # Contractions.
    "baddbmm": ("torch.baddbmm({0}, {1}, {2}, beta={beta}, alpha={alpha})",
                "hvd::baddbmm({0}, {1}, {2}, {{.beta = {beta}, .alpha = {alpha}}})"),
    "tensordot": ("torch.tensordot({0}, {1}, ({dims_of_a}, {dims_of_b}))",
                  "hvd::tensordot({0}, {1}, {dims_of_a}, {dims_of_b})"),
    "tensordot_last": ("torch.tensordot({0}, {1}, {count})", "hvd::tensordot({0}, {1}, {count})"),
    "einsum": ("torch.einsum({equation}, *{all})", "hvd::einsum({equation}, {all})"),
}
SOURCES.update({name: (f"torch.{name}({{0}})", f"hvd::{name}({{0}})")
                for name in ["atleast_1d", "atleast_2d", "atleast_3d", "fliplr", "flipud"]})
SOURCES.update({name: (f"torch.{name}({{0}}, {{offset}})", f"hvd::{name}({{0}}, {{offset}})")
                for name in ["tril", "triu", "diag"]})
SOURCES.update({name: (f"torch.{name}({{0}}, {{1}})", f"hvd::{name}({{0}}, {{1}})")
                for name in ["outer", "dot", "mv"]})
SOURCES.update({name: (f"torch.{name}({{all}})", f"hvd::{name}({{all}})")
                for name in ["hstack", "vstack", "dstack", "column_stack"]})

# They may return views, and return several tensors.
VIEWS = {"flatten", "unflatten", "movedim", "swapaxes", "diagonal", "unfold", "broadcast_to",
         "broadcast_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "tensor_split",
         "tensor_split_at", "meshgrid", "einsum"}
SEVERAL = {"broadcast_tensors", "tensor_split", "tensor_split_at", "meshgrid"}
# Their results are not rounded.
EXACT = set(SOURCES) - {"outer", "dot", "mv", "baddbmm", "tensordot", "tensordot_last", "einsum", "fold"}
