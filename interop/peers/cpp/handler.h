// What the server answers.
#pragma once

#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "Interop.h"
#include "Second.h"
#include "values.h"

class Handler : public interop::InteropIf {
 public:
  void ping() override {}
  void whoami(std::string& out) override { out = "cpp"; }

#define ECHO_VALUE(name, type) \
  type echo_##name(const type value) override { return value; }
#define ECHO_REFERENCE(name, ...) \
  void echo_##name(__VA_ARGS__& out, const __VA_ARGS__& value) override { out = value; }
#define KNOWN(name, expression, ...) \
  void known_##name(__VA_ARGS__& out) override { out = expression; }

  ECHO_VALUE(bool, bool)
  ECHO_VALUE(byte, int8_t)
  ECHO_VALUE(i16, int16_t)
  ECHO_VALUE(i32, int32_t)
  ECHO_VALUE(i64, int64_t)
  ECHO_VALUE(double, double)
  ECHO_VALUE(enum, interop::Colour::type)
  ECHO_VALUE(typedef, interop::Ticket)
  ECHO_REFERENCE(string, std::string)
  ECHO_REFERENCE(binary, std::string)
  ECHO_REFERENCE(empty, interop::Empty)
  ECHO_REFERENCE(everything, interop::Everything)
  ECHO_REFERENCE(presence, interop::Presence)
  ECHO_REFERENCE(containers, interop::Containers)
  ECHO_REFERENCE(nested, interop::Nested)
  ECHO_REFERENCE(keyed, interop::Keyed)
  ECHO_REFERENCE(tree, interop::Tree)
  ECHO_REFERENCE(choice, interop::Choice)
  ECHO_REFERENCE(wide, interop::Wide)
  ECHO_REFERENCE(included, interop::shared::Origin)
  ECHO_REFERENCE(bools, std::vector<bool>)
  ECHO_REFERENCE(list, std::vector<interop::Everything>)
  ECHO_REFERENCE(map, std::map<std::string, std::vector<std::map<int32_t, std::string>>>)
  ECHO_REFERENCE(evolving, interop::Older)

  KNOWN(bools, values::bools, std::vector<bool>)
  KNOWN(bytes, values::bytes, std::vector<int8_t>)
  KNOWN(i16s, values::i16s, std::vector<int16_t>)
  KNOWN(i32s, values::i32s, std::vector<int32_t>)
  KNOWN(i64s, values::i64s, std::vector<int64_t>)
  KNOWN(doubles, values::doubles, std::vector<double>)
  KNOWN(special_doubles, values::special_doubles, std::vector<double>)
  KNOWN(strings, values::strings, std::vector<std::string>)
  KNOWN(special_strings, values::special_strings, std::vector<std::string>)
  KNOWN(binaries, values::binaries, std::vector<std::string>)
  KNOWN(everythings, values::everythings(), std::vector<interop::Everything>)
  KNOWN(containers, values::containers(), std::vector<interop::Containers>)
  KNOWN(nested, interop::g_interop_constants.NESTED_FULL, interop::Nested)
  KNOWN(wide, interop::g_interop_constants.WIDE_FULL, interop::Wide)
  KNOWN(choices, values::choices(), std::vector<interop::Choice>)
  KNOWN(presence, values::presence_least(), interop::Presence)

#undef ECHO_VALUE
#undef ECHO_REFERENCE
#undef KNOWN

  void join(std::string& out, const int32_t first, const std::string& second, const int64_t third,
            const std::string& fourth) override {
    out = std::to_string(first) + "," + second + "," + std::to_string(third) + "," + fourth;
  }

  int32_t may_fail(const std::string& how) override {
    if (how == "not_found") {
      interop::NotFound error;
      error.__set_subject("it");
      error.__set_searched(3);
      throw error;
    }
    if (how == "refused") {
      interop::Refused error;
      error.__set_reason("no");
      error.__set_helper(values::origin());
      throw error;
    }
    if (how == "internal") throw std::runtime_error("undeclared failure");
    return interop::g_interop_constants.ANSWER;
  }

  void may_fail_void(const bool fails) override {
    if (!fails) return;
    interop::NotFound error;
    error.__set_subject("nothing");
    error.__set_searched(0);
    throw error;
  }

  void notify(const interop::Token token) override {
    std::lock_guard<std::mutex> guard(lock_);
    notified_.insert(token);
  }

  bool was_notified(const interop::Token token) override {
    std::lock_guard<std::mutex> guard(lock_);
    return notified_.count(token) != 0;
  }

  int32_t slow(const int32_t milliseconds) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return milliseconds;
  }

  void make_bytes(std::string& out, const int32_t count) override { out = values::pattern(count); }

 private:
  std::mutex lock_;
  std::set<int64_t> notified_;
};

class SecondHandler : public interop::SecondIf {
 public:
  void greet(std::string& out, const std::string& name) override { out = "hello, " + name; }
  int32_t echo_i32(const int32_t value) override { return value + 1000; }
};
