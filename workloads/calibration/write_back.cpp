// SPDX-License-Identifier: Apache-2.0
// Edits by line and column, so that everything else in a file stays to the byte.
#include "workloads/calibration/write_back.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "sim/core/config_notes.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "sim/core/whole_file.hpp"

namespace warploom {

namespace {

// `# [fit] share` -> `# [fit 2026-11-29 gemm.csv] share`.
std::string tagged(std::string line, const std::string& tag) {
  const std::size_t comment = comment_start(line);
  const std::string fit = "[fit " + tag + "]";
  if (comment == std::string::npos) return line + "  # " + fit;
  const std::size_t old = line.find("[fit", comment);
  const std::size_t end = old == std::string::npos ? old : line.find(']', old);
  if (end != std::string::npos) return line.replace(old, end - old + 1, fit);
  std::size_t words = comment + 1;
  while (words < line.size() && line[words] == ' ') ++words;
  return line.insert(words, (words == comment + 1 ? " " : "") + fit + " ");
}

std::string tag_of(const FittedConstant& constant, const std::string& date) {
  constexpr std::size_t most = 3;
  std::vector<std::string> named = constant.sources;
  const std::size_t more = named.size() > most ? named.size() - most : 0;
  named.resize(named.size() - more);
  return date + " " + join(named) + (more > 0 ? fmt::format(" and {} more", more) : "");
}

// `a.b.c` overrides as nested maps.
struct Tree {
  std::map<std::string, Tree> children;
  std::string value;
  std::string comment;
};

void print(const Tree& tree, int depth, std::string& text) {
  for (const auto& [key, child] : tree.children) {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    if (child.children.empty()) {
      text += fmt::format("{}{}: {}  # {}\n", indent, key, child.value, child.comment);
    } else {
      text += fmt::format("{}{}:\n", indent, key);
      print(child, depth + 1, text);
    }
  }
}

}  // namespace

std::string with_scalar_replaced(const std::string& text, const Origin& at, const std::string& before,
                                 const std::string& after, const std::string& tag) {
  const auto moved = [&] {
    return UserError(at, fmt::format("expected {} here, as it was read", warploom::quoted(before)),
                     "the file has changed meanwhile; nothing was written");
  };
  std::size_t start = 0;
  for (int line = 1; line < at.line(); ++line) {
    start = text.find('\n', start);
    if (start == std::string::npos) throw moved();
    ++start;
  }
  std::size_t end = std::min(text.find('\n', start), text.size());
  if (end > start && text[end - 1] == '\r') --end;
  std::string line = text.substr(start, end - start);
  auto column = static_cast<std::size_t>(std::max(at.column(), 1) - 1);
  const bool is_quoted = column < line.size() && (line[column] == '"' || line[column] == '\'');
  if (is_quoted) ++column;
  if (column >= line.size() || line.compare(column, before.size(), before) != 0) throw moved();
  line.replace(column, before.size(), after);
  return text.substr(0, start) + tagged(std::move(line), tag) + text.substr(end);
}

std::vector<FileText> edited_files(const Calibration& calibration, const std::string& date) {
  std::map<std::string, std::vector<const FittedConstant*>> by_file;
  for (const FittedGroup& group : calibration.groups) {
    for (const FittedConstant& constant : group.constants) {
      if (constant.changed()) by_file[constant.written.file()].push_back(&constant);
    }
  }
  std::vector<FileText> files;
  for (auto& [path, constants] : by_file) {
    // From the end, so that several scalars of one line keep their columns.
    std::sort(constants.begin(), constants.end(), [](const FittedConstant* a, const FittedConstant* b) {
      return std::pair(a->written.line(), a->written.column()) > std::pair(b->written.line(), b->written.column());
    });
    std::string text = read_whole_file(path);
    for (const FittedConstant* constant : constants)
      text = with_scalar_replaced(text, constant->written, constant->before, constant->after, tag_of(*constant, date));
    files.emplace_back(path, std::move(text));
  }
  return files;
}

std::string override_text(const Calibration& calibration, const std::string& base, const std::string& file,
                          const std::string& date) {
  Tree tree;
  std::string head = fmt::format("# Written by `warploom calibrate` on {}.\n", date);
  for (const FittedGroup& group : calibration.groups) {
    if (std::find(group.files.begin(), group.files.end(), file) == group.files.end()) continue;
    head += fmt::format("# {}: {} rows, MAPE {:.1f}% before and {:.1f}% after", group.kind, group.rows,
                        100 * group.mape_before, 100 * group.mape_after);
    if (group.leave_one_set_out_mape)
      head += fmt::format(", {:.1f}% on rows left out of the fit", 100 * *group.leave_one_set_out_mape);
    head += ".\n";
    for (const FittedConstant& constant : group.constants) {
      if (!constant.changed()) continue;
      if (std::find(constant.files.begin(), constant.files.end(), file) == constant.files.end()) continue;
      Tree* at = &tree;
      for (const std::string& key : split(constant.declared.path, '.')) at = &at->children[key];
      at->value = constant.after;
      at->comment = fmt::format("[fit {}] was {}", tag_of(constant, date), constant.before);
    }
  }
  std::string text = head + "use: " + base + "\n";
  print(tree, 0, text);
  return text;
}

std::string residuals_text(const std::vector<ErrorBand>& bands, const std::vector<ErrorBand>& before,
                           const std::string& date) {
  std::set<std::pair<std::string, std::string>> scored;
  for (const ErrorBand& band : bands) scored.insert({band.kind, band.device});
  std::vector<ErrorBand> all = bands;
  for (const ErrorBand& band : before) {
    if (!scored.contains({band.kind, band.device})) all.push_back(band);
  }
  std::sort(all.begin(), all.end(), [](const ErrorBand& a, const ErrorBand& b) {
    return std::tie(a.kind, a.device, a.dtype, a.size_class) < std::tie(b.kind, b.device, b.dtype, b.size_class);
  });
  std::string text = fmt::format(
      "# Errors of predictions by kind of table, device, data type and class, as `warploom calibrate` found them, last "
      "on {}.\n"
      "# mape: mean of |predicted / measured - 1|, in sample; leave_one_set_out_mape: fitted without the row's set;\n"
      "# p10, p90: percentiles of predicted / measured, for the error bands of predictions.\n"
      "records:\n",
      date);
  for (const ErrorBand& band : all) {
    text += fmt::format("  - {{kind: {}, device: {}, dtype: {}, class: {}, rows: {}, mape: {:.4f}, ",
                        json_string(band.kind), json_string(band.device), json_string(band.dtype),
                        json_string(band.size_class), band.rows, band.mape);
    if (band.leave_one_set_out_mape)
      text += fmt::format("leave_one_set_out_mape: {:.4f}, ", *band.leave_one_set_out_mape);
    text += fmt::format("p10: {:.4f}, p90: {:.4f}}}\n", band.ratio_p10, band.ratio_p90);
  }
  if (all.empty()) text += "  []\n";
  return text;
}

}  // namespace warploom
