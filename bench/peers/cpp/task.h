// The calls of each workload, and how their results are compared.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "data.h"
#include "harness.h"

namespace peer {

template <class Value>
std::string difference(const Value& got, const Value& wanted) {
  if (got == wanted) return "";
  if constexpr (std::is_arithmetic_v<Value>) {
    return std::to_string(got) + " instead of " + std::to_string(wanted);
  } else {
    return "a wrong value";
  }
}

template <class List>
std::string list_difference(const List& got, const List& wanted) {
  if (got.size() != wanted.size()) return "size " + difference(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); i++) {
    if (!(got[i] == wanted[i])) return "element " + std::to_string(i) + ": " + difference(got[i], wanted[i]);
  }
  return "";
}

template <class Record>
std::string difference(const std::vector<Record>& got, const std::vector<Record>& wanted) {
  return list_difference(got, wanted);
}

inline std::string difference(const std::string& got, const std::string& wanted) {
  return list_difference(got, wanted);
}

template <class Result, class Call>
Task task(const Result& wanted, Call call) {
  auto result = std::make_shared<Result>();
  return {[=] { call(*result); }, [=, &wanted] { return difference(*result, wanted); }};
}

template <class Types>
Task make_task(std::shared_ptr<typename Types::Service> client, const Work& work) {
  auto& all = data<Types>();
  const std::string& workload = work.workload;
  int32_t size = work.size;
  if (workload == "get_answer") {
    static const int32_t wanted = answer(1);
    return task(wanted, [=](int32_t& result) { result = client->get_answer(1); });
  }
  if (workload == "get_blob" || workload == "blob_100k") {
    return task(all.blob(size), [=](auto& result) { client->get_blob(result, size); });
  }
  if (workload == "get_structs") {
    return task(all.students, [=](auto& result) { client->get_structs(result); });
  }
  if (workload == "structs_100k") {
    return task(all.samples, [=, &all](auto& result) { client->echo_samples(result, all.samples); });
  }
  if (workload == "db_work") {
    return task(all.rows(size), [=, wait_ms = work.wait_ms](auto& result) { client->db_work(result, size, wait_ms); });
  }
  if (workload == "agent_small" || workload == "agent_large") {
    const auto& message = all.message(size);
    return task(message, [=, &message](auto& result) { client->process(result, message); });
  }
  throw std::logic_error("no task for the workload " + workload);
}

}  // namespace peer
