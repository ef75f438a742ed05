// SPDX-License-Identifier: Apache-2.0
// Errors: the user's mistakes (exit code 2) say where, what was expected, what came and what to do; ours (70) say so.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warploom {

// Where a value was written: a file with line and column (both from 1), the command line, or nowhere in particular.
class Origin {
 public:
  Origin() = default;
  Origin(std::shared_ptr<const std::string> file, int line, int column)
      : file_(std::move(file)), line_(line), column_(column) {}
  Origin(std::string file, int line, int column)
      : Origin(std::make_shared<const std::string>(std::move(file)), line, column) {}
  static Origin command_line();

  bool is_known() const { return file_ != nullptr; }
  bool is_command_line() const { return is_known() && line_ == 0 && *file_ == "command line"; }
  const std::string& file() const;  // empty when unknown
  int line() const { return line_; }
  int column() const { return column_; }
  std::string to_string() const;       // `file:line:col`, `file:line` without a column, `command line` or ``
  std::string line_to_string() const;  // `file:line`, `command line` or ``

  friend bool operator==(const Origin& a, const Origin& b);

 private:
  std::shared_ptr<const std::string> file_;  // shared by all the values of a file
  int line_ = 0;
  int column_ = 0;
};

enum class Severity { error, warning };

// One mistake, or one thing worth saying.
struct Diagnostic {
  Origin origin;
  Severity severity = Severity::error;
  std::string path;     // `links.latency`; may be empty
  std::string message;  // "expected a time such as `700 ns`, got `700`"
  std::string hint;     // "add a unit: ps, ns, us, ms, s"; may be empty

  // file:line:col: error: `key.path`: message
  //   hint: ...
  std::string to_string() const;
};

// At most `limit` of them as text, then "and N more".
std::string format_diagnostics(const std::vector<Diagnostic>& diagnostics, std::size_t limit = 20);

// The user's mistake. what() is the whole text, ready to print.
class UserError : public std::runtime_error {
 public:
  static constexpr int exit_code = 2;
  explicit UserError(std::string message, std::string hint = {})
      : UserError(Origin(), std::move(message), std::move(hint)) {}
  UserError(Origin origin, std::string message, std::string hint = {});

  const Origin& origin() const { return origin_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }

 protected:
  struct Formatted {
    std::string text;
  };
  UserError(const Formatted& formatted, const Diagnostic& first);

 private:
  Origin origin_;
  std::string message_;
  std::string hint_;
};

// A number that does not fit its quantity: an absurd input rather than a bug.
class OverflowError : public UserError {
 public:
  using UserError::UserError;
};

// All the mistakes of a configuration at once.
class ConfigError : public UserError {
 public:
  explicit ConfigError(std::vector<Diagnostic> diagnostics);
  explicit ConfigError(Diagnostic diagnostic) : ConfigError(std::vector<Diagnostic>{std::move(diagnostic)}) {}

  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

// Our mistake.
class InternalError : public std::logic_error {
 public:
  static constexpr int exit_code = 70;
  explicit InternalError(const std::string& message);
};

// Collects mistakes while a configuration is read, so that all are reported in one go.
class Diagnostics {
 public:
  void error(Origin origin, std::string path, std::string message, std::string hint = {});
  void warning(Origin origin, std::string path, std::string message, std::string hint = {});
  void add(Diagnostic diagnostic);

  bool has_errors() const { return errors_ > 0; }
  std::size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }
  std::vector<Diagnostic> warnings() const;
  // Throws ConfigError with all the errors, in the order of their files and lines.
  void throw_if_any() const;

 private:
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
};

namespace detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);
inline std::string check_message() { return {}; }
template <class... Args>
std::string check_message(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}
}  // namespace detail

}  // namespace warploom

// An invariant of the program itself: WARPLOOM_CHECK(queue.empty(), "{} events left", queue.size()).
#define WARPLOOM_CHECK(condition, ...)                                                  \
  do {                                                                                  \
    if (!(condition)) [[unlikely]]                                                      \
      ::warploom::detail::check_failed(#condition, __FILE__, __LINE__,                  \
                                       ::warploom::detail::check_message(__VA_ARGS__)); \
  } while (false)
