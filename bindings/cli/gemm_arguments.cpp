// SPDX-License-Identifier: Apache-2.0
// From a name and a grid to the sizes of a kernel.
#include "bindings/cli/gemm_arguments.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "bindings/cli/command.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/gemm_kernel_name.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

namespace fs = std::filesystem;

// As text between double quotes in YAML.
std::string in_quotes(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::vector<std::string> GemmArguments::overrides() const {
  if (selection.empty()) return {};
  std::error_code ignored;
  const bool is_file = fs::is_regular_file(selection, ignored);
  const bool is_path = selection.starts_with("./") || selection.starts_with("../") || selection.starts_with("/");
  return {"architecture.gemm.selection.use=" + in_quotes(is_file && !is_path ? "./" + selection : selection)};
}

Kernel GemmArguments::with_name(const Kernel& kernel) const {
  if (kernel_name.empty()) {
    if (grid.empty()) return kernel;
    throw UserError("`--grid` needs `--kernel-name`: it says how large the blocks are that it counts");
  }
  const GemmShape shape = gemm_shape(kernel);
  for (const auto& [option, size] : {std::pair{"--tile-m", shape.tile_m},
                                     {"--tile-n", shape.tile_n},
                                     {"--stages", shape.stages},
                                     {"--cluster", shape.cluster}}) {
    if (size == 0) continue;
    throw UserError(fmt::format("`{}` and `--kernel-name` say the same in two ways", option), "leave one of them out");
  }
  const std::optional<Grid> blocks = grid.empty() ? std::nullopt : std::optional(parse_grid(grid));
  const GemmShape named = with_kernel_name(shape, parse_gemm_kernel_name(kernel_name), blocks);
  return gemm(named);
}

void add_gemm_arguments(CLI::App* command, GemmArguments& arguments) {
  set_not_empty(command
                    ->add_option("--kernel-name", arguments.kernel_name,
                                 "the kernel that a profile names: tile, pipeline, cluster and stream-K are read out "
                                 "of it")
                    ->type_name("NAME"));
  set_not_empty(command
                    ->add_option("--grid", arguments.grid,
                                 "its blocks in the profile: which edge of the tile is m, and in how many parts k is")
                    ->type_name("X,Y,Z"));
  set_not_empty(command
                    ->add_option("--selection", arguments.selection,
                                 "a table of what the library takes for which products, by data type and size")
                    ->type_name(file_label));
}

}  // namespace warploom
