package main

import (
	"math"

	"dovetail.test/peer/gen/interop"
	"dovetail.test/peer/gen/shared"
)

// The values that the cases send and the server knows, made by hand.
var (
	bools          = []bool{true, false}
	int8s          = []int8{-128, -1, 0, 1, 127}
	int16s         = []int16{-32768, -1, 0, 1, 32767}
	int32s         = []int32{-2147483648, -1, 0, 1, 2147483647}
	int64s         = []int64{-9223372036854775808, -1, 0, 1, 9223372036854775807}
	tickets        = []interop.Ticket{-9223372036854775808, -1, 0, 1, 9223372036854775807}
	doubles        = []float64{0, 1.5, -1.5, 0.1, 5e-324, 1.7976931348623157e308}
	specialDoubles = []float64{math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN()}
	strs           = []string{"", "plain", "Grüße, 世界 🚀"}
	specialStrings = []string{"a\x00b", "\"\\/\b\f\n\r\t\x01\x1f\x7f\u0080\u2028"}
	binaries       = [][]byte{{}, {0, 0xff, 0x80, 0x7f}, pattern(256)}
	colours        = []interop.Colour{interop.Colour_INFRARED, interop.Colour_RED, interop.Colour_GREEN,
		interop.Colour_BLUE, interop.Colour_ULTRAVIOLET}
	everythings = []*interop.Everything{interop.EVERYTHING_MIN, interop.EVERYTHING_MAX}
	containers  = []*interop.Containers{interop.CONTAINERS_EMPTY, interop.CONTAINERS_FULL}
	origin      = &shared.Origin{Host: "desk", Port: 1}
	choices     = []*interop.Choice{
		{Number: ptr(int32(7))},
		{Text: ptr("seven")},
		{Truth: ptr(true)},
		{Everything: interop.EVERYTHING_MAX},
		{Numbers: []int32{7}},
		{Real: ptr(7.5)},
	}
	presenceMost = &interop.Presence{
		May: ptr(int32(0)), MayText: ptr(""), MayTruth: ptr(false), MayList: []int32{},
		MayEmpty: &interop.Empty{}, MayWeight: ptr(shared.Weight_NONE),
	}
	keyed = &interop.Keyed{
		ByKey: map[*interop.Key]string{
			{Number: 1, Word: "one"}: "first",
			{Number: 2, Word: "two"}: "second",
		},
		Keys: []*interop.Key{{Number: 3, Word: "three"}, {Number: 4, Word: ""}},
	}
	newer = &interop.Newer_{
		First: 1, Truth: ptr(true), Tiny: ptr(int8(3)), Small: ptr(int16(4)), Medium: ptr(int32(5)),
		Large: ptr(int64(6)), Real: ptr(7.5), Text: ptr("eight"), Everything: interop.EVERYTHING_MAX,
		Truths: bools, Many: map[string][]*interop.Everything{"one": {interop.EVERYTHING_MIN}},
		Numbers: []int32{12}, Nothing: map[int32]int32{}, Choice: &interop.Choice{Number: ptr(int32(14))},
		Last: "end",
	}
)

func presenceLeast() *interop.Presence {
	value := interop.NewPresence()
	value.Must, value.Plain = 1, 3
	return value
}

// chain returns a tree that deep, with a leaf beside each branch.
func chain(depth int32) *interop.Tree {
	tree := &interop.Tree{Children: []*interop.Tree{}}
	for level := int32(1); level < depth; level++ {
		leaf := &interop.Tree{Value: -level, Children: []*interop.Tree{}}
		tree = &interop.Tree{Value: level, Children: []*interop.Tree{tree, leaf}}
	}
	return tree
}

// pattern returns that many bytes, each the low byte of its place.
func pattern(count int) []byte {
	out := make([]byte, count)
	for place := range out {
		out[place] = byte(place)
	}
	return out
}

func ptr[T any](value T) *T { return &value }
