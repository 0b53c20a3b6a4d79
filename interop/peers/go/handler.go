package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dovetail.test/peer/gen/interop"
	"dovetail.test/peer/gen/shared"
)

// handler is what the server answers.
type handler struct {
	notified sync.Map
}

func (h *handler) Ping(context.Context) error { return nil }

func (h *handler) Whoami(context.Context) (string, error) { return "go", nil }

func (h *handler) EchoBool(_ context.Context, value bool) (bool, error) {
	return value, nil
}

func (h *handler) EchoByte(_ context.Context, value int8) (int8, error) {
	return value, nil
}

func (h *handler) EchoI16(_ context.Context, value int16) (int16, error) {
	return value, nil
}

func (h *handler) EchoI32(_ context.Context, value int32) (int32, error) {
	return value, nil
}

func (h *handler) EchoI64(_ context.Context, value int64) (int64, error) {
	return value, nil
}

func (h *handler) EchoDouble(_ context.Context, value float64) (float64, error) {
	return value, nil
}

func (h *handler) EchoString(_ context.Context, value string) (string, error) {
	return value, nil
}

func (h *handler) EchoBinary(_ context.Context, value []byte) ([]byte, error) {
	return value, nil
}

func (h *handler) EchoEnum(_ context.Context, value interop.Colour) (interop.Colour, error) {
	return value, nil
}

func (h *handler) EchoTypedef(_ context.Context, value interop.Ticket) (interop.Ticket, error) {
	return value, nil
}

func (h *handler) EchoEmpty(_ context.Context, value *interop.Empty) (*interop.Empty, error) {
	return value, nil
}

func (h *handler) EchoEverything(_ context.Context, value *interop.Everything) (*interop.Everything, error) {
	return value, nil
}

func (h *handler) EchoPresence(_ context.Context, value *interop.Presence) (*interop.Presence, error) {
	return value, nil
}

func (h *handler) EchoContainers(_ context.Context, value *interop.Containers) (*interop.Containers, error) {
	return value, nil
}

func (h *handler) EchoNested(_ context.Context, value *interop.Nested) (*interop.Nested, error) {
	return value, nil
}

func (h *handler) EchoKeyed(_ context.Context, value *interop.Keyed) (*interop.Keyed, error) {
	return value, nil
}

func (h *handler) EchoTree(_ context.Context, value *interop.Tree) (*interop.Tree, error) {
	return value, nil
}

func (h *handler) EchoChoice(_ context.Context, value *interop.Choice) (*interop.Choice, error) {
	return value, nil
}

func (h *handler) EchoWide(_ context.Context, value *interop.Wide) (*interop.Wide, error) {
	return value, nil
}

func (h *handler) EchoIncluded(_ context.Context, value *shared.Origin) (*shared.Origin, error) {
	return value, nil
}

func (h *handler) EchoBools(_ context.Context, value []bool) ([]bool, error) {
	return value, nil
}

func (h *handler) EchoList(_ context.Context, value []*interop.Everything) ([]*interop.Everything, error) {
	return value, nil
}

func (h *handler) EchoMap(_ context.Context, value map[string][]map[int32]string) (map[string][]map[int32]string, error) {
	return value, nil
}

func (h *handler) EchoEvolving(_ context.Context, value *interop.Older) (*interop.Older, error) {
	return value, nil
}

func (h *handler) KnownBools(context.Context) ([]bool, error) { return bools, nil }

func (h *handler) KnownBytes(context.Context) ([]int8, error) { return int8s, nil }

func (h *handler) KnownI16s(context.Context) ([]int16, error) { return int16s, nil }

func (h *handler) KnownI32s(context.Context) ([]int32, error) { return int32s, nil }

func (h *handler) KnownI64s(context.Context) ([]int64, error) { return int64s, nil }

func (h *handler) KnownDoubles(context.Context) ([]float64, error) { return doubles, nil }

func (h *handler) KnownSpecialDoubles(context.Context) ([]float64, error) { return specialDoubles, nil }

func (h *handler) KnownStrings(context.Context) ([]string, error) { return strs, nil }

func (h *handler) KnownSpecialStrings(context.Context) ([]string, error) { return specialStrings, nil }

func (h *handler) KnownBinaries(context.Context) ([][]byte, error) { return binaries, nil }

func (h *handler) KnownEverythings(context.Context) ([]*interop.Everything, error) {
	return everythings, nil
}

func (h *handler) KnownContainers(context.Context) ([]*interop.Containers, error) {
	return containers, nil
}

func (h *handler) KnownNested(context.Context) (*interop.Nested, error) {
	return interop.NESTED_FULL, nil
}

func (h *handler) KnownWide(context.Context) (*interop.Wide, error) { return interop.WIDE_FULL, nil }

func (h *handler) KnownChoices(context.Context) ([]*interop.Choice, error) { return choices, nil }

func (h *handler) KnownPresence(context.Context) (*interop.Presence, error) {
	return presenceLeast(), nil
}

func (h *handler) Join(_ context.Context, first int32, second string, third int64, fourth string) (string, error) {
	return fmt.Sprintf("%d,%s,%d,%s", first, second, third, fourth), nil
}

func (h *handler) MayFail(_ context.Context, how string) (int32, error) {
	switch how {
	case "not_found":
		return 0, &interop.NotFound{Subject: "it", Searched: 3}
	case "refused":
		return 0, &interop.Refused{Reason: "no", Helper: origin}
	case "internal":
		return 0, errors.New("undeclared failure")
	}
	return interop.ANSWER, nil
}

func (h *handler) MayFailVoid(_ context.Context, fails bool) error {
	if fails {
		return &interop.NotFound{Subject: "nothing"}
	}
	return nil
}

func (h *handler) Notify(_ context.Context, token interop.Token) error {
	h.notified.Store(token, true)
	return nil
}

func (h *handler) WasNotified(_ context.Context, token interop.Token) (bool, error) {
	_, found := h.notified.Load(token)
	return found, nil
}

func (h *handler) Slow(_ context.Context, milliseconds int32) (int32, error) {
	time.Sleep(time.Duration(milliseconds) * time.Millisecond)
	return milliseconds, nil
}

func (h *handler) MakeBytes(_ context.Context, count int32) ([]byte, error) {
	return pattern(int(count)), nil
}

type second struct{}

func (second) Greet(_ context.Context, name string) (string, error) { return "hello, " + name, nil }

func (second) EchoI32(_ context.Context, value int32) (int32, error) { return value + 1000, nil }
