package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
)

var cases = []struct {
	name string
	run  func(peer) error
}{
	{"echo", echo},
	{"large", large},
	{"gzip", gzip},
	{"get", get_},
	{"codes", codes},
	{"metadata", metadata},
	{"time_left", timeLeft},
	{"unknown", unknown},
	{"mapped", mapped},
	{"mapped_exceptions", exceptions},
	{"derived", derived},
	{"grpc_web", grpcWeb},
	{"server_stream", serverStream},
	{"client_stream", clientStream},
}

func check(got, want any) error {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("got %.100v, want %.100v", got, want)
	}
	return nil
}

func calls(p peer, name string, with how, fields fields) (*dynamicpb.Message, error) {
	return p.call(method("calls.proto", "Calls", name), with, fields)
}

// The bytes that all peers make.
func pattern(size int) []byte {
	made := make([]byte, size)
	for at := range made {
		made[at] = byte(at % 251)
	}
	return made
}

// What the server knows, and nothing, come back as they went.
func echoed(p peer, with how) error {
	known, err := calls(p, "Known", with, nil)
	if err != nil {
		return err
	}
	if err := check(get(known, "text"), "Grüße, 世界 🚀"); err != nil {
		return err
	}
	if err := check(get(known, "unsigned"), uint64(1<<64-1)); err != nil {
		return err
	}
	of := method("calls.proto", "Calls", "Echo")
	for _, value := range []*dynamicpb.Message{known, dynamicpb.NewMessage(of.Input())} {
		sent := fields{}
		for at := 0; at < of.Input().Fields().Len(); at++ {
			if field := of.Input().Fields().Get(at); value.Has(field) {
				sent[string(field.Name())] = value.Get(field).Interface()
			}
		}
		back, err := p.call(of, with, sent)
		if err != nil {
			return err
		}
		if !proto.Equal(back, value) {
			return fmt.Errorf("got %v, want %v", back, value)
		}
	}
	return nil
}

func echo(p peer) error { return echoed(p, how{}) }

func gzip(p peer) error {
	with := how{options: []connect.ClientOption{connect.WithSendGzip()}}
	if err := echoed(p, with); err != nil {
		return err
	}
	back, err := calls(p, "Echo", with, fields{"text": strings.Repeat("x", 100_000)})
	if err != nil {
		return err
	}
	return check(len(get(back, "text").(string)), 100_000)
}

func get_(p peer) error {
	asked := connect.WithIdempotency(connect.IdempotencyNoSideEffects)
	if err := echoed(p, how{options: []connect.ClientOption{asked, connect.WithHTTPGet()}}); err != nil {
		return err
	}
	// What the contract does not say it of is refused.
	_, err := calls(p, "Make", how{options: []connect.ClientOption{asked, connect.WithHTTPGet()}}, nil)
	return check(connect.CodeOf(err), connect.CodeUnknown)
}

func large(p peer) error {
	for _, size := range []int{0, 1, 127, 16 << 10, 70_000, 5_000_000} {
		made, err := calls(p, "Make", how{}, fields{"number": int64(size)})
		if err != nil {
			return err
		}
		if !bytes.Equal(get(made, "blob").([]byte), pattern(size)) {
			return fmt.Errorf("%d bytes are others", size)
		}
		back, err := calls(p, "Echo", how{}, fields{"blob": pattern(size)})
		if err != nil {
			return err
		}
		if !bytes.Equal(get(back, "blob").([]byte), pattern(size)) {
			return fmt.Errorf("%d bytes come back as others", size)
		}
	}
	return nil
}

func codes(p peer) error {
	for code := connect.CodeCanceled; code <= connect.CodeUnauthenticated; code++ {
		text := fmt.Sprintf("\t100%% Grüße, \"number\" %d\n", code)
		_, err := calls(p, "Fail", how{}, fields{"code": int32(code), "message": text})
		var failed *connect.Error
		if !errors.As(err, &failed) {
			return fmt.Errorf("%v is no failure", code)
		}
		if err := check(failed.Code().String()+failed.Message(), code.String()+text); err != nil {
			return err
		}
	}
	return nil
}

func metadata(p peer) error {
	headers := map[string]string{
		"Colour":    "dark blue",
		"trace-bin": base64.RawStdEncoding.EncodeToString([]byte("\x00\xff,")),
	}
	for name, hex := range map[string]string{"colour": "6461726b20626c7565", "trace-bin": "00ff2c", "none": ""} {
		got, err := calls(p, "Header", how{headers: headers}, fields{"text": name})
		if err != nil {
			return err
		}
		if err := check(get(got, "text"), hex); err != nil {
			return err
		}
	}
	return nil
}

func timeLeft(p peer) error {
	hurry, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	left, err := calls(p, "TimeLeft", how{context: hurry}, nil)
	if err != nil {
		return err
	}
	if number := get(left, "number").(int64); number < 19_000 || number > 20_000 {
		return fmt.Errorf("%d ms are left of 20,000", number)
	}
	left, err = calls(p, "TimeLeft", how{}, nil)
	if err != nil {
		return err
	}
	return check(get(left, "number"), -1)
}

func unknown(p peer) error {
	elsewhere := peer{p.url + "/elsewhere", p.json}
	_, err := calls(elsewhere, "Known", how{}, nil)
	return check(connect.CodeOf(err), connect.CodeUnimplemented)
}

func mapped(p peer) error {
	for _, pair := range [][2]int32{{1, 2}, {0, 0}, {-5, 3}} {
		sum, err := p.call(method("mapped.proto", "Mapped", "add"), how{}, fields{"left": pair[0], "right": pair[1]})
		if err != nil {
			return err
		}
		if err := check(get(sum, "result"), pair[0]+pair[1]); err != nil {
			return err
		}
	}
	turn := method("mapped.proto", "Mapped", "turn")
	pair := message(turn.Input().Fields().ByName("pair").Message(), fields{"left": int32(1), "right": int32(2)})
	turned, err := p.call(turn, how{}, fields{"pair": pair.ProtoReflect()})
	if err != nil {
		return err
	}
	want := message(pair.Descriptor(), fields{"left": int32(2), "right": int32(1)})
	result := turned.Get(turn.Output().Fields().ByName("result")).Message().Interface()
	if !proto.Equal(result, want) {
		return fmt.Errorf("got %v, want %v", result, want)
	}
	_, err = p.call(method("mapped.proto", "Mapped", "nothing"), how{}, nil)
	return err
}

func exceptions(p peer) error {
	fails := method("mapped.proto", "Mapped", "fail")
	_, err := p.call(fails, how{}, fields{"how": "refused"})
	var failed *connect.Error
	if !errors.As(err, &failed) || len(failed.Details()) != 1 {
		return fmt.Errorf("no detail in %v", err)
	}
	detail := failed.Details()[0]
	if err := check(detail.Type(), "mapped.Refused"); err != nil {
		return err
	}
	refused := dynamicpb.NewMessage(files["mapped.proto"].Messages().ByName("Refused"))
	if err := proto.Unmarshal(detail.Bytes(), refused); err != nil {
		return err
	}
	if get(refused, "why") == "" {
		return errors.New("the exception is empty")
	}
	_, err = p.call(fails, how{}, fields{"how": "internal"})
	if err := check(connect.CodeOf(err), connect.CodeInternal); err != nil {
		return err
	}
	result, err := p.call(fails, how{}, nil)
	if err != nil {
		return err
	}
	return check(get(result, "result"), 42)
}

// Calls with streams go by both protocols, with gzip and without.
var waysToStream = []how{
	{},
	{options: []connect.ClientOption{connect.WithSendGzip()}},
	{options: []connect.ClientOption{connect.WithGRPCWeb()}},
	{options: []connect.ClientOption{connect.WithGRPCWeb(), connect.WithSendGzip()}},
}

func grpcWeb(p peer) error {
	for _, with := range waysToStream[2:] {
		if err := echoed(p, with); err != nil {
			return err
		}
		_, err := calls(p, "Fail", with, fields{"code": int32(5), "message": "100% gone"})
		var failed *connect.Error
		if !errors.As(err, &failed) {
			return errors.New("no failure")
		}
		if err := check(failed.Code().String()+failed.Message(), "not_found100% gone"); err != nil {
			return err
		}
	}
	return nil
}

func serverStream(p peer) error {
	many := method("calls.proto", "Calls", "MakeMany")
	for _, with := range waysToStream {
		for _, row := range []struct {
			count, size int64
			code        int32
		}{{0, 1, 0}, {1, 0, 0}, {500, 10, 0}, {20, 100_000, 0}, {3, 2000, 10}} {
			wanted := message(many.Input(), fields{"count": row.count, "size": row.size, "code": row.code})
			stream, err := p.client(many, with).CallServerStream(context.Background(), connect.NewRequest(wanted))
			if err != nil {
				return err
			}
			count := int64(0)
			for ; stream.Receive(); count++ {
				if !bytes.Equal(get(stream.Msg(), "blob").([]byte), pattern(int(row.size))) {
					return fmt.Errorf("item %d of %d bytes is another", count, row.size)
				}
			}
			code := connect.Code(0)
			if stream.Err() != nil {
				code = connect.CodeOf(stream.Err())
			}
			if err := check([]int64{count, int64(code)}, []int64{row.count, int64(row.code)}); err != nil {
				return err
			}
			stream.Close()
		}
	}
	return nil
}

func clientStream(p peer) error {
	sum := method("calls.proto", "Calls", "Sum")
	for _, with := range waysToStream {
		for _, count := range []int64{0, 1, 1000} {
			stream := p.client(sum, with).CallClientStream(context.Background())
			for number := int64(0); number < count; number++ {
				if err := stream.Send(message(sum.Input(), fields{"number": number})); err != nil {
					return err
				}
			}
			answer, err := stream.CloseAndReceive()
			if err != nil {
				return err
			}
			if err := check(get(answer.Msg, "number"), count*(count-1)/2); err != nil {
				return err
			}
		}
	}
	return nil
}

// Methods of a service that is a trait of Rust.
func derived(p peer) error {
	greeting, err := p.call(method("second.proto", "Second", "greet"), how{}, fields{"name": "Ada"})
	if err != nil {
		return err
	}
	if err := check(get(greeting, "result"), "hello, Ada"); err != nil {
		return err
	}
	echoed, err := p.call(method("second.proto", "Second", "echo_i32"), how{}, fields{"value": int32(-5)})
	if err != nil {
		return err
	}
	return check(get(echoed, "result"), 995)
}
