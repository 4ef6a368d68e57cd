// Changes to an ONNX model that leave it one: what libFuzzer's mutations of bytes hardly ever reach. Over the messages
// of the full Protocol Buffers runtime, which tells what fields there are; nothing else of isobit links it.
#pragma once

#include <google/protobuf/message.h>

#include <random>
#include <string>
#include <vector>

namespace isobit::fuzz {

class OnnxMutator {
 public:
  explicit OnnxMutator(unsigned seed) : random_(seed) {}

  // One change, or a few that belong together, of `model` (ModelProto). `other`: a model that pieces may come from,
  // which may be the same.
  void mutate(google::protobuf::Message& model, const google::protobuf::Message& other);

 private:
  using Message = google::protobuf::Message;
  using Field = google::protobuf::FieldDescriptor;

  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }
  bool one_in(size_t n) { return below(n) == 0; }
  template <class List>
  auto some(const List& list) {
    return list[below(std::size(list))];
  }

  int64_t number();
  double real();
  std::string attribute_name();
  std::string text(const Field& field, const Message& model);
  std::string some_name(const Message& model);
  Message* some_message(Message& model, const std::string& type);  // null: there is none
  void change(Message& message, Message& model, const Message& other);
  void change_list(Message& message, const Field& field, Message& model, const Message& other);
  void change_one(Message& message, const Field& field, Message& model, const Message& other);
  void set_number(Message& message, const Field& field, int64_t value);
  void set_scalar(Message& message, const Field& field, const Message& model);
  void set_item(Message& message, const Field& field, int at, const Message& model);
  void add_item(Message& message, const Field& field, Message& model, const Message& other);
  // Whole pieces that no change of one field makes.
  void other_operator(Message& model);
  void other_edge(Message& model);
  void other_attribute(Message& model);
  void fitting_tensor(Message& model);
  void open_types(Message& model);

  std::minstd_rand random_;
};

}  // namespace isobit::fuzz
