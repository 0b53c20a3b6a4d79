package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"strings"
	"time"

	"dovetail.test/peer/gen/interop"
	"dovetail.test/peer/gen/shared"
	"github.com/apache/thrift/lib/go/thrift"
)

type client = interop.InteropClient

// same compares deeply: NaN equals NaN, -0.0 is not 0.0, an absent list is not an empty one, and
// maps with pointers to structs as keys compare by what these point to.
func same(got, want reflect.Value) bool {
	if got.Kind() != want.Kind() {
		return false
	}
	switch want.Kind() {
	case reflect.Pointer:
		if got.IsNil() || want.IsNil() {
			return got.IsNil() && want.IsNil()
		}
		return same(got.Elem(), want.Elem())
	case reflect.Struct:
		for place := 0; place < want.NumField(); place++ {
			if !same(got.Field(place), want.Field(place)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if got.Len() != want.Len() || got.IsNil() != want.IsNil() {
			return false
		}
		for place := 0; place < want.Len(); place++ {
			if !same(got.Index(place), want.Index(place)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if got.Len() != want.Len() || got.IsNil() != want.IsNil() {
			return false
		}
		for _, key := range want.MapKeys() {
			found := false
			for _, other := range got.MapKeys() {
				found = found || same(other, key) && same(got.MapIndex(other), want.MapIndex(key))
			}
			if !found {
				return false
			}
		}
		return true
	case reflect.Float64:
		one, other := got.Float(), want.Float()
		return math.Float64bits(one) == math.Float64bits(other) || math.IsNaN(one) && math.IsNaN(other)
	}
	return got.Equal(want)
}

func check(got, want any) {
	if !same(reflect.ValueOf(got), reflect.ValueOf(want)) {
		panic(fmt.Sprintf("got %.120s, want %.120s", fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want)))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func done(err error) {
	if err != nil {
		panic(err)
	}
}

type call[T any] func(*client, T) (T, error)

func echo[T any](method call[T], sent ...T) func(*connector) string {
	return func(c *connector) string {
		client := c.client()
		for _, value := range sent {
			check(must(method(client, value)), value)
		}
		return ""
	}
}

func known[T any](method func(*client) (T, error), want T) func(*connector) string {
	return func(c *connector) string {
		check(must(method(c.client())), want)
		return ""
	}
}

func thirds(count int) []bool {
	out := make([]bool, count)
	for place := range out {
		out[place] = place%3 == 0
	}
	return out
}

func hundred() (out []*interop.Everything) {
	for range [50]int{} {
		out = append(out, everythings...)
	}
	return
}

func ping(c *connector) string { done(c.client().Ping(ctx)); return "" }

func whoami(c *connector) string { return must(c.client().Whoami(ctx)) }

func echoKeyed(c *connector) string {
	got := must(c.client().EchoKeyed(ctx, keyed))
	if len(got.Keys) == 2 && got.Keys[0].Number == 4 { // a set has no order
		got.Keys[0], got.Keys[1] = got.Keys[1], got.Keys[0]
	}
	check(got, keyed)
	return ""
}

func evolve(c *connector) string {
	got := must(c.future().EchoEvolving(ctx, newer))
	check(got, &interop.Newer_{First: 1, Last: "end"})
	return ""
}

func join(c *connector) string {
	check(must(c.client().Join(ctx, 1, "two", 3, "four")), "1,two,3,four")
	return ""
}

func exceptionNone(c *connector) string {
	check(must(c.client().MayFail(ctx, "none")), int32(interop.ANSWER))
	return ""
}

// thrown returns the error as the type asked for.
func thrown[T error](err error) T {
	var want T
	if !errors.As(err, &want) {
		panic(fmt.Sprintf("got %v, want a %T", err, want))
	}
	return want
}

func exceptionNotFound(c *connector) string {
	client := c.client()
	_, err := client.MayFail(ctx, "not_found")
	check(thrown[*interop.NotFound](err), &interop.NotFound{Subject: "it", Searched: 3})
	check(must(client.EchoI32(ctx, 1)), int32(1))
	return ""
}

func exceptionRefused(c *connector) string {
	_, err := c.client().MayFail(ctx, "refused")
	check(thrown[*interop.Refused](err), &interop.Refused{Reason: "no", Helper: origin})
	return ""
}

func exceptionUndeclared(c *connector) string {
	_, err := c.client().MayFail(ctx, "internal")
	failure := thrown[thrift.TApplicationException](err)
	return fmt.Sprintf("type %d: %s", failure.TypeId(), failure.Error())
}

func afterUndeclared(c *connector) string {
	client := c.client()
	_, err := client.MayFail(ctx, "internal")
	thrown[thrift.TApplicationException](err)
	check(must(client.EchoI32(ctx, 1)), int32(1))
	return ""
}

func exceptionVoid(c *connector) string {
	client := c.client()
	done(client.MayFailVoid(ctx, false))
	check(thrown[*interop.NotFound](client.MayFailVoid(ctx, true)), &interop.NotFound{Subject: "nothing"})
	return ""
}

func unknownMethod(c *connector) string {
	client := c.future()
	_, err := client.NotYet(ctx, 1)
	failure := thrown[thrift.TApplicationException](err)
	check(failure.TypeId(), int32(thrift.UNKNOWN_METHOD))
	return failure.Error()
}

func afterUnknownMethod(c *connector) string {
	client := c.future()
	_, err := client.NotYet(ctx, 1)
	thrown[thrift.TApplicationException](err)
	check(must(client.EchoEvolving(ctx, newer)).Last, "end")
	return ""
}

func oneway(c *connector) string {
	client := c.client()
	token := interop.Token(rand.New(rand.NewSource(time.Now().UnixNano())).Int63())
	check(must(client.WasNotified(ctx, token)), false)
	done(client.Notify(ctx, token))
	for range [100]int{} {
		if must(client.WasNotified(ctx, token)) {
			return ""
		}
		time.Sleep(20 * time.Millisecond)
	}
	panic("the token never arrived")
}

func secondService(c *connector) string {
	if !c.Multiplexed {
		panic(skip("needs --multiplexed"))
	}
	protocol := c.protocol()
	// One sequence of numbers per connection is the caller's affair: each client has its own here.
	first := interop.NewInteropClient(c.named(protocol, "Interop"))
	second := interop.NewSecondClient(c.named(protocol, "Second"))
	check(must(second.Greet(ctx, "you")), "hello, you")
	check(must(second.EchoI32(ctx, 1)), int32(1001))
	check(must(first.EchoI32(ctx, 1)), int32(1))
	return ""
}

func unknownService(c *connector) string {
	if !c.Multiplexed {
		panic(skip("needs --multiplexed"))
	}
	_, err := interop.NewSecondClient(c.named(c.protocol(), "Nowhere")).Greet(ctx, "you")
	if err == nil {
		panic("an unknown service answered")
	}
	return fmt.Sprintf("%T: %v", err, err)
}

func slow(c *connector) string {
	check(must(c.client().Slow(ctx, 50)), int32(50))
	return ""
}

func bigBinary(c *connector) string {
	client := c.client()
	for _, size := range []int{65535, 65536, 100000} {
		check(must(client.EchoBinary(ctx, pattern(size))), pattern(size))
	}
	check(must(client.MakeBytes(ctx, 300000)), pattern(300000))
	return ""
}

func bigList(c *connector) string {
	value := *interop.CONTAINERS_EMPTY
	for number := int32(0); number < 20000; number++ {
		value.Numbers = append(value.Numbers, number)
	}
	check(must(c.client().EchoContainers(ctx, &value)), &value)
	return ""
}

func manyCalls(c *connector) string {
	client := c.client()
	for number := int32(0); number < 500; number++ {
		check(must(client.EchoI32(ctx, number)), number)
	}
	return ""
}

func pipelined(c *connector) string {
	if c.Transport == "http" {
		panic(skip("one HTTP exchange carries one call"))
	}
	protocol := c.protocol()
	client := c.named(protocol, "Interop").(*thrift.TStandardClient)
	out := protocol
	if c.Multiplexed {
		out = thrift.NewTMultiplexedProtocol(protocol, "Interop")
	}
	for number := int32(0); number < 50; number++ {
		done(client.Send(ctx, out, number, "echo_i32", &interop.InteropEchoI32Args{Value: number}))
	}
	for number := int32(0); number < 50; number++ {
		var result interop.InteropEchoI32Result
		done(client.Recv(ctx, protocol, number, "echo_i32", &result))
		check(result.GetSuccess(), number)
	}
	return ""
}

func connections(c *connector) string {
	var clients [8]*client
	for place := range clients {
		clients[place] = c.client()
	}
	for turn := 0; turn < 3; turn++ {
		for place, client := range clients {
			check(must(client.EchoI32(ctx, int32(place+turn))), int32(place+turn))
		}
	}
	return ""
}

var bigText = strings.Repeat("0123456789abcdef", 10*1024*64)

var cases = []struct {
	name string
	run  func(*connector) string
}{
	{"ping", ping},
	{"whoami", whoami},
	{"echo_bool", echo(func(c *client, v bool) (bool, error) { return c.EchoBool(ctx, v) }, bools...)},
	{"echo_byte", echo(func(c *client, v int8) (int8, error) { return c.EchoByte(ctx, v) }, int8s...)},
	{"echo_i16", echo(func(c *client, v int16) (int16, error) { return c.EchoI16(ctx, v) }, int16s...)},
	{"echo_i32", echo(func(c *client, v int32) (int32, error) { return c.EchoI32(ctx, v) }, int32s...)},
	{"echo_i64", echo(func(c *client, v int64) (int64, error) { return c.EchoI64(ctx, v) }, int64s...)},
	{"echo_double", echo(func(c *client, v float64) (float64, error) { return c.EchoDouble(ctx, v) }, doubles...)},
	{"echo_special_double", echo(func(c *client, v float64) (float64, error) { return c.EchoDouble(ctx, v) }, specialDoubles...)},
	{"echo_string", echo(func(c *client, v string) (string, error) { return c.EchoString(ctx, v) }, strs...)},
	{"echo_special_string", echo(func(c *client, v string) (string, error) { return c.EchoString(ctx, v) }, specialStrings...)},
	{"echo_binary", echo(func(c *client, v []byte) ([]byte, error) { return c.EchoBinary(ctx, v) }, binaries...)},
	{"echo_enum", echo(func(c *client, v interop.Colour) (interop.Colour, error) { return c.EchoEnum(ctx, v) }, colours...)},
	{"echo_typedef", echo(func(c *client, v interop.Ticket) (interop.Ticket, error) { return c.EchoTypedef(ctx, v) }, tickets...)},
	{"echo_empty", echo(func(c *client, v *interop.Empty) (*interop.Empty, error) { return c.EchoEmpty(ctx, v) }, &interop.Empty{})},
	{"echo_everything", echo(func(c *client, v *interop.Everything) (*interop.Everything, error) { return c.EchoEverything(ctx, v) }, everythings...)},
	{"echo_presence", echo(func(c *client, v *interop.Presence) (*interop.Presence, error) { return c.EchoPresence(ctx, v) }, presenceLeast(), presenceMost)},
	{"echo_containers", echo(func(c *client, v *interop.Containers) (*interop.Containers, error) { return c.EchoContainers(ctx, v) }, containers...)},
	{"echo_nested", echo(func(c *client, v *interop.Nested) (*interop.Nested, error) { return c.EchoNested(ctx, v) }, interop.NESTED_FULL)},
	{"echo_keyed", echoKeyed},
	{"echo_tree", echo(func(c *client, v *interop.Tree) (*interop.Tree, error) { return c.EchoTree(ctx, v) }, chain(1), chain(25))},
	{"echo_choice", echo(func(c *client, v *interop.Choice) (*interop.Choice, error) { return c.EchoChoice(ctx, v) }, choices...)},
	{"echo_wide", echo(func(c *client, v *interop.Wide) (*interop.Wide, error) { return c.EchoWide(ctx, v) }, &interop.Wide{}, interop.WIDE_FULL)},
	{"echo_included", echo(func(c *client, v *shared.Origin) (*shared.Origin, error) { return c.EchoIncluded(ctx, v) }, origin)},
	{"echo_bools", echo(func(c *client, v []bool) ([]bool, error) { return c.EchoBools(ctx, v) }, []bool{}, thirds(200))},
	{"echo_list", echo(func(c *client, v []*interop.Everything) ([]*interop.Everything, error) { return c.EchoList(ctx, v) }, []*interop.Everything{}, hundred())},
	{"echo_map", echo(func(c *client, v map[string][]map[int32]string) (map[string][]map[int32]string, error) {
		return c.EchoMap(ctx, v)
	}, map[string][]map[int32]string{}, interop.NESTED_FULL.Book)},
	{"evolve", evolve},
	{"known_bools", known(func(c *client) ([]bool, error) { return c.KnownBools(ctx) }, bools)},
	{"known_bytes", known(func(c *client) ([]int8, error) { return c.KnownBytes(ctx) }, int8s)},
	{"known_i16s", known(func(c *client) ([]int16, error) { return c.KnownI16s(ctx) }, int16s)},
	{"known_i32s", known(func(c *client) ([]int32, error) { return c.KnownI32s(ctx) }, int32s)},
	{"known_i64s", known(func(c *client) ([]int64, error) { return c.KnownI64s(ctx) }, int64s)},
	{"known_doubles", known(func(c *client) ([]float64, error) { return c.KnownDoubles(ctx) }, doubles)},
	{"known_special_doubles", known(func(c *client) ([]float64, error) { return c.KnownSpecialDoubles(ctx) }, specialDoubles)},
	{"known_strings", known(func(c *client) ([]string, error) { return c.KnownStrings(ctx) }, strs)},
	{"known_special_strings", known(func(c *client) ([]string, error) { return c.KnownSpecialStrings(ctx) }, specialStrings)},
	{"known_binaries", known(func(c *client) ([][]byte, error) { return c.KnownBinaries(ctx) }, binaries)},
	{"known_everythings", known(func(c *client) ([]*interop.Everything, error) { return c.KnownEverythings(ctx) }, everythings)},
	{"known_containers", known(func(c *client) ([]*interop.Containers, error) { return c.KnownContainers(ctx) }, containers)},
	{"known_nested", known(func(c *client) (*interop.Nested, error) { return c.KnownNested(ctx) }, interop.NESTED_FULL)},
	{"known_wide", known(func(c *client) (*interop.Wide, error) { return c.KnownWide(ctx) }, interop.WIDE_FULL)},
	{"known_choices", known(func(c *client) ([]*interop.Choice, error) { return c.KnownChoices(ctx) }, choices)},
	{"known_presence", known(func(c *client) (*interop.Presence, error) { return c.KnownPresence(ctx) }, presenceLeast())},
	{"join", join},
	{"exception_none", exceptionNone},
	{"exception_not_found", exceptionNotFound},
	{"exception_refused", exceptionRefused},
	{"exception_undeclared", exceptionUndeclared},
	{"after_undeclared", afterUndeclared},
	{"exception_void", exceptionVoid},
	{"unknown_method", unknownMethod},
	{"after_unknown_method", afterUnknownMethod},
	{"oneway", oneway},
	{"second_service", secondService},
	{"unknown_service", unknownService},
	{"slow", slow},
	{"big_binary", bigBinary},
	{"big_list", bigList},
	{"big_string", echo(func(c *client, v string) (string, error) { return c.EchoString(ctx, v) }, bigText)},
	{"many_calls", manyCalls},
	{"pipelined", pipelined},
	{"connections", connections},
}
