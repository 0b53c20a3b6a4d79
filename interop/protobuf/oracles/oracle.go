// Protobuf's own library for Go: reads and writes messages, as oracle.py does.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

type message struct {
	Type   string `json:"type,omitempty"`
	Binary []byte `json:"binary,omitempty"`
	JSON   string `json:"json,omitempty"`
	Error  string `json:"error,omitempty"`
}

func check(types *dynamicpb.Types, asked message) (answer message, err error) {
	kind, err := types.FindMessageByName(protoreflect.FullName(asked.Type))
	if err != nil {
		return
	}
	read, other := kind.New().Interface(), kind.New().Interface()
	if err = (proto.UnmarshalOptions{Resolver: types}).Unmarshal(asked.Binary, read); err != nil {
		return
	}
	if err = (protojson.UnmarshalOptions{Resolver: types}).Unmarshal([]byte(asked.JSON), other); err != nil {
		return
	}
	if !proto.Equal(read, other) {
		return answer, fmt.Errorf("differ: %v\n--- by JSON %v", read, other)
	}
	answer.Type = asked.Type
	if answer.Binary, err = proto.Marshal(read); err != nil {
		return
	}
	text, err := protojson.MarshalOptions{Resolver: types}.Marshal(read)
	answer.JSON = string(text)
	return
}

func main() {
	bytes, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(bytes, &set); err != nil {
		panic(err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		panic(err)
	}
	types := dynamicpb.NewTypes(files)
	lines := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked message
		if err := json.Unmarshal(line, &asked); err != nil {
			panic(err)
		}
		answer, err := check(types, asked)
		if err != nil {
			answer = message{Error: err.Error()}
		}
		if err := out.Encode(answer); err != nil {
			panic(err)
		}
	}
}
