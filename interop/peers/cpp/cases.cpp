// The cases. Their names are the same in every language.

#include <thrift/TApplicationException.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <typeinfo>
#include <utility>

#include "connector.h"
#include "values.h"

using namespace interop;
using apache::thrift::TApplicationException;

namespace {

using Client = InteropClient;
using Run = std::function<std::string(Connector&)>;

template <typename T>
bool same(const T& got, const T& want) {
  return got == want;
}

bool same(double got, double want) {
  if (std::isnan(want)) return std::isnan(got);
  return got == want && std::signbit(got) == std::signbit(want);
}

bool same(const std::vector<double>& got, const std::vector<double>& want) {
  if (got.size() != want.size()) return false;
  for (size_t place = 0; place < got.size(); ++place) {
    if (!same(got[place], want[place])) return false;
  }
  return true;
}

template <typename T>
std::string shown(const T& value) {
  std::ostringstream out;
  if constexpr (std::is_same_v<T, int8_t>) {
    out << int(value);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    out << value;
  } else {
    out << typeid(T).name();
  }
  return out.str().substr(0, 120);
}

template <typename T>
void check(const T& got, const T& want) {
  if (!same(got, want)) {
    throw std::runtime_error("got " + shown(got) + ", want " + shown(want));
  }
}

template <typename T, typename Values>
Run echo_value(T (Client::*method)(const T), const Values& sent) {
  return [=](Connector& connector) {
    auto client = connector.client<Client>();
    for (const T value : sent) check<T>((*client.*method)(value), value);
    return "";
  };
}

template <typename T>
Run echo(void (Client::*method)(T&, const T&), const std::vector<T>& sent) {
  return [=](Connector& connector) {
    auto client = connector.client<Client>();
    for (const T& value : sent) {
      T got;
      (*client.*method)(got, value);
      check(got, value);
    }
    return "";
  };
}

template <typename T>
Run known(void (Client::*method)(T&), const T& want) {
  return [=](Connector& connector) {
    T got;
    (*connector.client<Client>().*method)(got);
    check(got, want);
    return "";
  };
}

std::string ping(Connector& connector) {
  connector.client<Client>()->ping();
  return "";
}

std::string whoami(Connector& connector) {
  std::string out;
  connector.client<Client>()->whoami(out);
  return out;
}

std::string evolve(Connector& connector) {
  Newer got, want;
  want.__set_first(1);
  want.__set_last("end");
  connector.client<FutureClient>()->echo_evolving(got, values::newer());
  check(got, want);
  return "";
}

std::string join(Connector& connector) {
  std::string got;
  connector.client<Client>()->join(got, 1, "two", 3, "four");
  check<std::string>(got, "1,two,3,four");
  return "";
}

std::string exception_none(Connector& connector) {
  check(connector.client<Client>()->may_fail("none"), g_interop_constants.ANSWER);
  return "";
}

template <typename Error>
Error thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  throw std::runtime_error("nothing was thrown");
}

std::string exception_not_found(Connector& connector) {
  auto client = connector.client<Client>();
  auto error = thrown<NotFound>([&] { client->may_fail("not_found"); });
  check<std::string>(error.subject, "it");
  check(error.searched, 3);
  check(client->echo_i32(1), 1);
  return "";
}

std::string exception_refused(Connector& connector) {
  auto error = thrown<Refused>([&] { connector.client<Client>()->may_fail("refused"); });
  check<std::string>(error.reason, "no");
  check(error.helper, values::origin());
  return "";
}

std::string exception_undeclared(Connector& connector) {
  auto error =
      thrown<TApplicationException>([&] { connector.client<Client>()->may_fail("internal"); });
  return "type " + std::to_string(error.getType()) + ": " + error.what();
}

std::string after_undeclared(Connector& connector) {
  auto client = connector.client<Client>();
  thrown<TApplicationException>([&] { client->may_fail("internal"); });
  check(client->echo_i32(1), 1);
  return "";
}

std::string exception_void(Connector& connector) {
  auto client = connector.client<Client>();
  client->may_fail_void(false);
  auto error = thrown<NotFound>([&] { client->may_fail_void(true); });
  check<std::string>(error.subject, "nothing");
  return "";
}

std::string unknown_method(Connector& connector) {
  auto client = connector.client<FutureClient>();
  auto error = thrown<TApplicationException>([&] { client->not_yet(1); });
  check<int>(error.getType(), TApplicationException::UNKNOWN_METHOD);
  return error.what();
}

std::string after_unknown_method(Connector& connector) {
  auto client = connector.client<FutureClient>();
  thrown<TApplicationException>([&] { client->not_yet(1); });
  Newer got;
  client->echo_evolving(got, values::newer());
  check<std::string>(got.last, "end");
  return "";
}

std::string oneway(Connector& connector) {
  auto client = connector.client<Client>();
  const Token token = std::random_device()() * 1000003LL + 7;
  check(client->was_notified(token), false);
  client->notify(token);
  for (int turn = 0; turn < 100; ++turn) {
    if (client->was_notified(token)) return "";
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw std::runtime_error("the token never arrived");
}

std::string second_service(Connector& connector) {
  if (!connector.options.multiplexed) throw Skip{"needs --multiplexed"};
  auto protocol = connector.protocol();
  Client first(connector.named(protocol, "Interop"));
  SecondClient second(connector.named(protocol, "Second"));
  std::string got;
  second.greet(got, "you");
  check<std::string>(got, "hello, you");
  check(second.echo_i32(1), 1001);
  check(first.echo_i32(1), 1);
  return "";
}

std::string unknown_service(Connector& connector) {
  if (!connector.options.multiplexed) throw Skip{"needs --multiplexed"};
  std::string got;
  try {
    connector.client<SecondClient>("Nowhere")->greet(got, "you");
  } catch (const std::exception& error) {
    return std::string(typeid(error).name()) + ": " + error.what();
  }
  throw std::runtime_error("an unknown service answered");
}

std::string slow(Connector& connector) {
  check(connector.client<Client>()->slow(50), 50);
  return "";
}

std::string big_binary(Connector& connector) {
  auto client = connector.client<Client>();
  std::string got;
  for (int size : {65535, 65536, 100000}) {
    client->echo_binary(got, values::pattern(size));
    check(got, values::pattern(size));
  }
  client->make_bytes(got, 300000);
  check(got, values::pattern(300000));
  return "";
}

std::string big_list(Connector& connector) {
  Containers value = g_interop_constants.CONTAINERS_EMPTY, got;
  for (int32_t number = 0; number < 20000; ++number) value.numbers.push_back(number);
  connector.client<Client>()->echo_containers(got, value);
  check(got, value);
  return "";
}

std::string many_calls(Connector& connector) {
  auto client = connector.client<Client>();
  for (int32_t number = 0; number < 500; ++number) check(client->echo_i32(number), number);
  return "";
}

std::string pipelined(Connector& connector) {
  if (connector.options.transport == "http") throw Skip{"one HTTP exchange carries one call"};
  auto client = connector.client<Client>();
  for (int32_t number = 0; number < 50; ++number) client->send_echo_i32(number);
  for (int32_t number = 0; number < 50; ++number) check(client->recv_echo_i32(), number);
  return "";
}

std::string connections(Connector& connector) {
  std::vector<std::shared_ptr<Client>> clients;
  for (int place = 0; place < 8; ++place) clients.push_back(connector.client<Client>());
  for (int turn = 0; turn < 3; ++turn) {
    for (int place = 0; place < 8; ++place) {
      check(clients[place]->echo_i32(place + turn), place + turn);
    }
  }
  return "";
}

std::vector<std::pair<std::string, Run>> cases() {
  using values::containers;
  using values::everythings;
  std::vector<bool> thirds;
  for (int place = 0; place < 200; ++place) thirds.push_back(place % 3 == 0);
  std::vector<Everything> hundred;
  for (int turn = 0; turn < 50; ++turn) {
    for (const auto& each : everythings()) hundred.push_back(each);
  }
  std::string big;
  for (int turn = 0; turn < 10 * 1024 * 64; ++turn) big += "0123456789abcdef";
  const auto& nested = g_interop_constants.NESTED_FULL;
  const auto& wide = g_interop_constants.WIDE_FULL;
  using Book = std::map<std::string, std::vector<std::map<int32_t, std::string>>>;
  return {
      {"ping", ping},
      {"whoami", whoami},
      {"echo_bool", echo_value(&Client::echo_bool, values::bools)},
      {"echo_byte", echo_value(&Client::echo_byte, values::bytes)},
      {"echo_i16", echo_value(&Client::echo_i16, values::i16s)},
      {"echo_i32", echo_value(&Client::echo_i32, values::i32s)},
      {"echo_i64", echo_value(&Client::echo_i64, values::i64s)},
      {"echo_double", echo_value(&Client::echo_double, values::doubles)},
      {"echo_special_double", echo_value(&Client::echo_double, values::special_doubles)},
      {"echo_string", echo(&Client::echo_string, values::strings)},
      {"echo_special_string", echo(&Client::echo_string, values::special_strings)},
      {"echo_binary", echo(&Client::echo_binary, values::binaries)},
      {"echo_enum", echo_value(&Client::echo_enum, values::colours)},
      {"echo_typedef", echo_value(&Client::echo_typedef, values::i64s)},
      {"echo_empty", echo(&Client::echo_empty, {Empty()})},
      {"echo_everything", echo(&Client::echo_everything, everythings())},
      {"echo_presence",
       echo(&Client::echo_presence, {values::presence_least(), values::presence_most()})},
      {"echo_containers", echo(&Client::echo_containers, containers())},
      {"echo_nested", echo(&Client::echo_nested, {nested})},
      {"echo_keyed", echo(&Client::echo_keyed, {values::keyed()})},
      {"echo_tree", echo(&Client::echo_tree, {values::chain(1), values::chain(25)})},
      {"echo_choice", echo(&Client::echo_choice, values::choices())},
      {"echo_wide", echo(&Client::echo_wide, {Wide(), wide})},
      {"echo_included", echo(&Client::echo_included, {values::origin()})},
      {"echo_bools", echo(&Client::echo_bools, {{}, thirds})},
      {"echo_list", echo(&Client::echo_list, {{}, hundred})},
      {"echo_map", echo<Book>(&Client::echo_map, {Book(), nested.book})},
      {"evolve", evolve},
      {"known_bools", known(&Client::known_bools, values::bools)},
      {"known_bytes", known(&Client::known_bytes, values::bytes)},
      {"known_i16s", known(&Client::known_i16s, values::i16s)},
      {"known_i32s", known(&Client::known_i32s, values::i32s)},
      {"known_i64s", known(&Client::known_i64s, values::i64s)},
      {"known_doubles", known(&Client::known_doubles, values::doubles)},
      {"known_special_doubles", known(&Client::known_special_doubles, values::special_doubles)},
      {"known_strings", known(&Client::known_strings, values::strings)},
      {"known_special_strings", known(&Client::known_special_strings, values::special_strings)},
      {"known_binaries", known(&Client::known_binaries, values::binaries)},
      {"known_everythings", known(&Client::known_everythings, everythings())},
      {"known_containers", known(&Client::known_containers, containers())},
      {"known_nested", known(&Client::known_nested, nested)},
      {"known_wide", known(&Client::known_wide, wide)},
      {"known_choices", known(&Client::known_choices, values::choices())},
      {"known_presence", known(&Client::known_presence, values::presence_least())},
      {"join", join},
      {"exception_none", exception_none},
      {"exception_not_found", exception_not_found},
      {"exception_refused", exception_refused},
      {"exception_undeclared", exception_undeclared},
      {"after_undeclared", after_undeclared},
      {"exception_void", exception_void},
      {"unknown_method", unknown_method},
      {"after_unknown_method", after_unknown_method},
      {"oneway", oneway},
      {"second_service", second_service},
      {"unknown_service", unknown_service},
      {"slow", slow},
      {"big_binary", big_binary},
      {"big_list", big_list},
      {"big_string", echo(&Client::echo_string, {big})},
      {"many_calls", many_calls},
      {"pipelined", pipelined},
      {"connections", connections},
  };
}

}  // namespace

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const unsigned char byte : text) {
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += static_cast<char>(byte);
    } else if (byte < 0x20 || byte >= 0x7f) {  // the text may be no UTF-8: show bytes
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\u%04x", byte);
      out += hex;
    } else {
      out += static_cast<char>(byte);
    }
  }
  return out + "\"";
}

int run_client(const Options& options) {
  Connector connector(options);
  int code = 0;
  for (const auto& [name, run] : cases()) {
    if (!options.only.empty() && options.only != name) continue;
    std::string result = "ok", detail;
    try {
      detail = run(connector);
    } catch (const Skip& skip) {
      result = "skip";
      detail = skip.reason;
    } catch (const std::exception& error) {
      result = "fail";
      detail = std::string(typeid(error).name()) + ": " + error.what();
      code = 1;
    }
    connector.close_all();
    std::cout << "{\"case\": \"" << name << "\", \"result\": \"" << result
              << "\", \"detail\": " << json_string(detail.substr(0, 300)) << "}" << std::endl;
  }
  return code;
}
