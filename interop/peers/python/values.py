"""The values that the cases send and the servers know, made by hand."""

from interop import constants
from interop.ttypes import Choice, Colour, Key, Keyed, Newer, Older, Presence, Tree
from interop_shared.ttypes import Origin, Weight

BOOLS = [True, False]
BYTES = [-128, -1, 0, 1, 127]
I16S = [-32768, -1, 0, 1, 32767]
I32S = [-2147483648, -1, 0, 1, 2147483647]
I64S = [-9223372036854775808, -1, 0, 1, 9223372036854775807]
DOUBLES = [0.0, 1.5, -1.5, 0.1, 5e-324, 1.7976931348623157e308]
SPECIAL_DOUBLES = [-0.0, float("inf"), float("-inf"), float("nan")]
STRINGS = ["", "plain", "Grüße, 世界 🚀"]
SPECIAL_STRINGS = ["a\0b", "\"\\/\b\f\n\r\t\x01\x1f\x7f\u0080\u2028"]
BINARIES = [b"", b"\x00\xff\x80\x7f", bytes(range(256))]
COLOURS = [Colour.INFRARED, Colour.RED, Colour.GREEN, Colour.BLUE, Colour.ULTRAVIOLET]

EVERYTHINGS = [constants.EVERYTHING_MIN, constants.EVERYTHING_MAX]
CONTAINERS = [constants.CONTAINERS_EMPTY, constants.CONTAINERS_FULL]

ORIGIN = Origin(host="desk", port=1)

CHOICES = [
    Choice(number=7),
    Choice(text="seven"),
    Choice(truth=True),
    Choice(everything=constants.EVERYTHING_MAX),
    Choice(numbers=[7]),
    Choice(real=7.5),
]

PRESENCE_LEAST = Presence(must=1, plain=3)
PRESENCE_MOST = Presence(
    must=0, may=0, plain=0, must_default=0, may_default=0, plain_default="", may_text="",
    may_truth=False, may_list=[], may_empty=constants.WIDE_FULL.f10, may_weight=Weight.NONE)

KEYED = Keyed(
    by_key={Key(1, "one"): "first", Key(2, "two"): "second"},
    keys={Key(3, "three"), Key(4, "")})

NEWER = Newer(
    first=1, truth=True, tiny=3, small=4, medium=5, large=6, real=7.5, text="eight",
    everything=constants.EVERYTHING_MAX, truths=[True, False],
    many={"one": [constants.EVERYTHING_MIN]}, numbers={12}, nothing={}, choice=Choice(number=14),
    last="end")
OLDER = Older(first=1, last="end")


def chain(depth):
    """A tree that deep, with a leaf beside each branch."""
    tree = Tree(0, [])
    for level in range(1, depth):
        tree = Tree(level, [tree, Tree(-level, [])])
    return tree


def pattern(count):
    """That many bytes, each the low byte of its place."""
    return bytes(range(256)) * (count // 256) + bytes(range(count % 256))
