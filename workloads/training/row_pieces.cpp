// SPDX-License-Identifier: Apache-2.0
// The pieces that layers are written with: moves of tensor parallelism, products beside them, attention's kernels.
//
// Overlap as Transformer Engine's user buffers do it (arXiv:2205.05198 leaves these moves exposed): t pieces of the
// tokens go around the ring while the product works on the piece at hand. Of gather G and product P that takes
// max(G, P (t-1)/t) + P/t, of product and reduction R P/t + max(P, R) (t-1)/t + R/t. Assumes that a piece's product
// runs at the rate of the two parts that stand here.
#include "workloads/training/model_rows.hpp"

namespace warploom {

namespace {
constexpr auto buffers = MemoryPart::buffers;

// The product of some of its tokens.
Kernel of_tokens(Kernel product, std::int64_t tokens) {
  product.size[1] = tokens;
  return product;
}
}  // namespace

ModelRows::Row ModelRows::gather(StepWriter& writer, std::string_view name, std::int64_t bytes_moved) const {
  if (!cuts_sequence) return none;
  const Row row = writer.collective(name, CollectiveKind::all_gather, bytes_moved, job.type());
  writer.take(row, buffers, bytes.whole);
  return row;
}

ModelRows::Row ModelRows::reduce(StepWriter& writer, std::string_view name, std::int64_t bytes_moved) const {
  if (!has_tensor_group) return none;
  if (!cuts_sequence) return writer.collective(name, CollectiveKind::all_reduce, bytes_moved, job.type());
  const Row row = writer.collective(name, CollectiveKind::reduce_scatter, bytes_moved, job.type());
  writer.take(row, buffers, bytes.local);
  writer.give(row, buffers, bytes.whole);
  return row;
}

ModelRows::Row ModelRows::product_of_gathered(StepWriter& writer, std::string_view name, const Kernel& product,
                                              Row all) const {
  if (!overlaps_tensor || all == none) return writer.compute(name, product, Cause::gemm, all);
  const std::int64_t last = product.size[1] / job.layout.tensor;
  writer.compute(name, of_tokens(product, product.size[1] - last), Cause::gemm);
  return writer.compute(name, of_tokens(product, last), Cause::gemm, all);
}

ModelRows::Row ModelRows::reduced_product(StepWriter& writer, std::string_view name, const Kernel& product,
                                          std::string_view reduce_name) const {
  if (!overlaps_tensor) {
    writer.take(writer.compute(name, product, Cause::gemm), buffers, bytes.whole);
    return reduce(writer, reduce_name, bytes.whole);
  }
  const std::int64_t first = product.size[1] / job.layout.tensor;
  writer.take(writer.compute(name, of_tokens(product, first), Cause::gemm), buffers, bytes.whole);
  writer.collective(reduce_name, CollectiveKind::reduce_scatter, bytes.whole - bytes.local, job.type());
  writer.compute(name, of_tokens(product, product.size[1] - first), Cause::gemm);
  return reduce(writer, reduce_name, bytes.local);
}

ModelRows::Row ModelRows::chain(StepWriter& writer, const KernelChain& kernels, Cause cause, std::int64_t shifted,
                                Row before) const {
  // A shift goes as a gather of the whole group that takes as long: each of the c - 1 shifts passes 1/(c - 1) of it on.
  const std::int64_t c = job.layout.context;
  Row arrived = before;
  Row last = none;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    Row next = none;
    if (i + 1 < kernels.size() && kernels[i + 1].waits_for_shift) {
      next = writer.collective("keys_values_shift", CollectiveKind::all_gather, shifted * c / (c - 1), job.type(),
                               Lane::context, Cause::exposed_cp);
    }
    last = writer.compute(kernels[i].name, kernels[i].kernel, cause, arrived);
    arrived = next;
  }
  return last;
}

ModelRows::Row ModelRows::quantise(StepWriter& writer, std::string_view name,
                                   const std::optional<Kernel>& kernel) const {
  return kernel ? writer.compute(name, *kernel, Cause::other_compute) : none;
}

}  // namespace warploom
