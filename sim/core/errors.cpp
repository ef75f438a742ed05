// SPDX-License-Identifier: Apache-2.0
// How mistakes are worded on the terminal.
#include "sim/core/errors.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace warploom {

Origin Origin::command_line() { return {"command line", 0, 0}; }

const std::string& Origin::file() const {
  static const std::string none;
  return file_ ? *file_ : none;
}

std::string Origin::to_string() const {
  if (column_ == 0) return line_to_string();
  return fmt::format("{}:{}:{}", file(), line_, column_);
}

std::string Origin::line_to_string() const {
  if (line_ == 0) return file();
  return fmt::format("{}:{}", file(), line_);
}

bool operator==(const Origin& a, const Origin& b) {
  return a.line_ == b.line_ && a.column_ == b.column_ && a.file() == b.file();
}

std::string Diagnostic::to_string() const {
  std::string text;
  if (origin.is_known()) text += origin.to_string() + ": ";
  text += severity == Severity::error ? "error: " : "warning: ";
  if (!path.empty()) text += "`" + path + "`: ";
  text += message;
  if (!hint.empty()) text += "\n  hint: " + hint;
  return text;
}

std::string format_diagnostics(const std::vector<Diagnostic>& diagnostics, std::size_t limit) {
  std::string text;
  const std::size_t shown = std::min(limit, diagnostics.size());
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += '\n';
    text += diagnostics[i].to_string();
  }
  if (diagnostics.size() > shown) text += fmt::format("\nand {} more", diagnostics.size() - shown);
  return text;
}

UserError::UserError(Origin origin, std::string message, std::string hint)
    : std::runtime_error(Diagnostic{origin, Severity::error, {}, message, hint}.to_string()),
      origin_(std::move(origin)),
      message_(std::move(message)),
      hint_(std::move(hint)) {}

UserError::UserError(const Formatted& formatted, const Diagnostic& first)
    : std::runtime_error(formatted.text), origin_(first.origin), message_(first.message), hint_(first.hint) {}

ConfigError::ConfigError(std::vector<Diagnostic> diagnostics)
    : UserError(Formatted{format_diagnostics(diagnostics)}, diagnostics.empty() ? Diagnostic{} : diagnostics.front()),
      diagnostics_(std::move(diagnostics)) {}

InternalError::InternalError(const std::string& message) : std::logic_error("this is a bug in warploom: " + message) {}

void Diagnostics::error(Origin origin, std::string path, std::string message, std::string hint) {
  add({std::move(origin), Severity::error, std::move(path), std::move(message), std::move(hint)});
}

void Diagnostics::warning(Origin origin, std::string path, std::string message, std::string hint) {
  add({std::move(origin), Severity::warning, std::move(path), std::move(message), std::move(hint)});
}

void Diagnostics::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::error) ++errors_;
  all_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> Diagnostics::warnings() const {
  std::vector<Diagnostic> result;
  std::copy_if(all_.begin(), all_.end(), std::back_inserter(result),
               [](const Diagnostic& d) { return d.severity == Severity::warning; });
  return result;
}

void Diagnostics::throw_if_any() const {
  if (errors_ == 0) return;
  std::vector<Diagnostic> errors;
  std::copy_if(all_.begin(), all_.end(), std::back_inserter(errors),
               [](const Diagnostic& d) { return d.severity == Severity::error; });
  // Files in the order in which they were first mentioned; inside a file by line; else as they came.
  std::map<std::string, std::size_t> first_mention;
  std::vector<std::tuple<std::size_t, int, int, std::size_t>> order;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const Origin& origin = errors[i].origin;
    order.emplace_back(first_mention.emplace(origin.file(), i).first->second, origin.line(), origin.column(), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<Diagnostic> sorted;
  for (const auto& place : order) sorted.push_back(errors[std::get<3>(place)]);
  throw ConfigError(std::move(sorted));
}

namespace detail {
void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(
      fmt::format("{}:{}: `{}` does not hold{}{}", file, line, condition, message.empty() ? "" : ": ", message));
}
}  // namespace detail

}  // namespace warploom
