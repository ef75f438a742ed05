// SPDX-License-Identifier: Apache-2.0
// The one place where exceptions end.
#include "bindings/cli/command_line.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <new>

#include "bindings/cli/help.hpp"
#include "bindings/cli/usage_error.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/library.hpp"
#include "sim/core/text.hpp"
#include "sim/core/version.hpp"

#ifndef WARPLOOM_BUILD_TYPE
#define WARPLOOM_BUILD_TYPE "unknown"
#endif

namespace warploom {

namespace {

std::string bug_report(const std::string& what) {
  const std::string_view prefix = "this is a bug in warploom: ";
  const std::string reason = what.starts_with(prefix) ? what.substr(prefix.size()) : what;
  return "error: this is a bug in warploom " + version() + " (" WARPLOOM_BUILD_TYPE "): " + reason +
         "\n  hint: please report it with the command and its files\n";
}

void run_or_throw(const std::vector<std::string>& arguments, Session& session) {
  Action action;
  const auto app = make_command_line(action);
  if (arguments.empty()) {
    session.console.tell(app->help());
    throw UserError("there is no command");
  }
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants it
  try {
    app->parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return session.console.print(app->help());
  } catch (const CLI::CallForVersion&) {
    return session.console.print(build_info());
  } catch (const CLI::ParseError& error) {
    throw usage_error(*app, error);
  }
  if (action) action(session);
}

// A time beyond the clock comes from somewhere in a simulation, which knows no key.
UserError with_cause(const UserError& error) {
  if (!error.hint().empty() || !error.message().starts_with("time out of range")) return error;
  return UserError("what is simulated takes longer than a clock holds (106 days)",
                   "look for a size that is too large, a rate that is too small or a latency that is too long: in what "
                   "was given, with `--set` and in the files");
}

}  // namespace

std::unique_ptr<CLI::App> make_command_line(Action& action) {
  auto app = std::make_unique<CLI::App>(
      "predicts how long AI training takes on hardware you do not have, and says where the time goes", "warploom");
  app->formatter(std::make_shared<HelpFormatter>());
  app->set_help_flag("-h,--help", "print this; `warploom COMMAND --help` says more");
  app->set_version_flag("--version", version(), "print the version and what this build is");
  app->require_subcommand(1);
  add_run(*app, action);
  add_kernel(*app, action);
  add_collective(*app, action);
  add_validate(*app, action);
  add_calibrate(*app, action);
  add_explain(*app, action);
  add_list(*app, action);
  add_describe(*app, action);
  add_inspect(*app, action);
  add_replay(*app, action);
  add_convert(*app, action);
  add_compare(*app, action);
  add_schema(*app, action);
  add_doctor(*app, action);
  add_completion(*app, action);
  app->footer("Example:\n  warploom run llama3_405b_16k_h100 --out results");
  return app;
}

int exit_code_of(const std::function<void()>& step, const Console& console) {
  try {
    step();
    return 0;
  } catch (const OutputClosed&) {
    return OutputClosed::exit_code;
  } catch (const UserError& error) {
    console.tell(std::string(with_cause(error).what()) + "\n");
    return UserError::exit_code;
  } catch (const std::bad_alloc&) {
    console.tell(
        "error: the machine has too little memory for this\n  hint: try a smaller one, or without `--unfold`\n");
    return UserError::exit_code;
  } catch (const std::exception& error) {
    console.tell(bug_report(error.what()));
    return InternalError::exit_code;
  }
}

int run_command_line(const std::vector<std::string>& arguments, Session& session) {
  return exit_code_of([&] { run_or_throw(arguments, session); }, session.console);
}

std::string build_info() {
  utsname system = {};
  uname(&system);
  std::vector<std::string> roots;
  for (const std::string& root : library_roots()) roots.push_back(display_path(root));
  return "warploom " + version() + "\n" + "build    " WARPLOOM_BUILD_TYPE ", C++ compiler " __VERSION__ "\n" +
         "system   " + system.sysname + " " + system.machine + "\n" + "library  " +
         (roots.empty() ? std::string("none: set WARPLOOM_CONFIGS") : join(roots, ":")) + "\n";
}

}  // namespace warploom
