"""How gdb shows Eve.

Values are shown as the program means them, back traces without the scheduler, and steps go over
the runtime.

Programs of `eve build -g` carry this file in their section .debug_gdb_scripts.
"""

import re
import struct

import gdb
import gdb.printing
from gdb.FrameDecorator import FrameDecorator


def head(value, limit=200):
    """The first elements of a long list are enough."""
    return min(int(value), limit)


def bytes_of(pointer, size):
    return (
        gdb.selected_inferior().read_memory(int(pointer), size).tobytes()
        if size > 0
        else b""
    )


def plain(type):
    return type.strip_typedefs().unqualified()


def arguments(type):
    """The types between the brackets of a template."""
    i = 0
    while True:
        try:
            argument = type.template_argument(i)
        except RuntimeError:
            return
        yield argument
        i += 1


nesting = 0


def shown(value):
    """A part of a value as text. Handles may go in circles, so parts of parts end somewhere."""
    global nesting
    if nesting >= 4:
        return "..."
    nesting += 1
    try:
        return value.format_string()
    finally:
        nesting -= 1


class String:
    """Up to 15 bytes inline, the size in the last one; else a pointer and the size (string.hpp)."""

    def __init__(self, value):
        self.words = [int(value["word_"][i]) for i in range(2)]

    def to_string(self):
        tag = self.words[1] >> 56
        if tag <= 15:
            raw = b"".join(w.to_bytes(8, "little") for w in self.words)[:tag]
        elif tag <= 18:
            size = self.words[1] & ((1 << 28) - 1 if tag == 18 else (1 << 56) - 1)
            raw = bytes_of(self.words[0], head(size, 2000))
        else:
            return "none"
        return raw.decode("utf-8", "backslashreplace")

    def display_hint(self):
        return "string"


class Sequence:
    """vector and slice: a pointer and a size; array: the elements themselves."""

    def __init__(self, value):
        kind = plain(value.type)
        self.name = str(kind).split("<")[0].removeprefix("eve::")
        self.element = kind.template_argument(0)
        if self.name == "array":
            self.items, self.size = (
                value["held_"]["items_"],
                int(kind.template_argument(1)),
            )
        else:
            self.items, self.size = (
                value["items_"].cast(self.element.pointer()),
                int(value["size_"]),
            )

    def is_text(self):
        kind = self.element.strip_typedefs()
        return (
            kind.code == gdb.TYPE_CODE_INT and kind.sizeof == 1 and self.name != "array"
        )

    def to_string(self):
        if self.is_text():
            return bytes_of(self.items, head(self.size)).decode(
                "utf-8", "backslashreplace"
            )
        return "%s of %d" % (self.name, self.size)

    def children(self):
        if self.is_text():
            return
        for i in range(head(self.size)):
            yield str(i), self.items[i]

    def display_hint(self):
        return "string" if self.is_text() else "array"


class Ref:
    """A handle: the object that it names, where the program says what that is made of."""

    def __init__(self, value):
        self.object = value["object_"]
        self.type = value.type.strip_typedefs().unqualified().template_argument(0)

    def to_string(self):
        if int(self.object) == 0:
            return "moved"
        return "@0x%x" % int(self.object)

    def children(self):
        known = plain(self.type)
        if int(self.object) != 0 and (
            known.code != gdb.TYPE_CODE_STRUCT or known.fields()
        ):
            box = gdb.lookup_type("eve::box<%s>" % self.type)
            yield "value", self.object.cast(box.pointer()).dereference()["value"]


class Built:
    """An object that this body has built."""

    def __init__(self, value):
        self.handle = value["handle_"]

    def to_string(self):
        return shown(self.handle)


class Tuple:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        parts, rest = [], self.value
        while True:
            names = [f.name for f in plain(rest.type).fields()]
            if "head" in names:
                parts.append(shown(rest["head"]))
            if "tail" not in names:
                return "(%s)" % ", ".join(parts)
            rest = rest["tail"]


class Option:
    """none or the value; a type with a bit pattern to spare has no flag (option.hpp)."""

    def __init__(self, value):
        self.held = value["held_"]

    def to_string(self):
        held = plain(self.held.type)
        if str(held).startswith("eve::detail::niche_option"):
            inner = self.held["value_"]
            if str(plain(inner.type)) == "eve::string":
                some = int(inner["word_"][1]) >> 56 != 255
            else:
                some = int(inner["held_"]) != 0
        else:
            some = bool(self.held["some_"])
        return "some(%s)" % shown(self.held["value_"]) if some else "none"


class Error:
    """Code, text and cause lie behind a pointer, of which gdb knows no more (result.cpp)."""

    def __init__(self, value):
        self.type = value.type
        self.parts = int(value["held_"])

    def to_string(self):
        if self.parts == 0:
            return "none"
        code, *words, cause = struct.unpack("<8xqQQQ", bytes_of(self.parts, 40))
        text = String({"word_": words}).to_string()
        if cause == 0:
            return 'error(%d, "%s")' % (code, text)
        return 'error(%d, "%s", %s)' % (
            code,
            text,
            shown(gdb.Value(self.parts + 32).cast(self.type.pointer()).dereference()),
        )


class Result:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        if int(self.value["why_"]["held_"]) != 0:
            return shown(self.value["why_"])
        if "void" in str(plain(self.value.type)).split("<")[1][:4]:
            return "ok"
        return "ok(%s)" % shown(self.value["value_"])


class Choice:
    """A union: the struct of its case lies in its bytes."""

    def __init__(self, value):
        kinds = list(arguments(plain(value.type)))
        tag = int(value["tag_"])
        self.case = kinds[tag] if 0 <= tag < len(kinds) else None
        self.value = value

    def to_string(self):
        if self.case is None:
            return "not a value yet"
        case = self.value["bytes_"].address.cast(self.case.pointer()).dereference()
        parts = [
            shown(case[f]) for f in plain(self.case).fields() if not f.is_base_class
        ]
        name = ".".join(str(self.case).split("__")[-2:])
        return name + ("(%s)" % ", ".join(parts) if parts else "")


class Table:
    """map and set: entries in the order of insertion; a removed one has the mark 0 (table.hpp)."""

    def __init__(self, value):
        self.value = value
        kind = plain(value.type)
        self.is_map = str(kind).startswith("eve::map<")
        self.entry = kind.template_argument(0)
        if self.is_map:
            parts = (kind.template_argument(0), kind.template_argument(1))
            self.entry = gdb.lookup_type("eve::tuple<%s, %s>" % parts)

    def to_string(self):
        return "%s of %d" % ("map" if self.is_map else "set", int(self.value["live_"]))

    def children(self):
        entries = self.value["entries_"].cast(self.entry.pointer())
        for i in range(head(self.value["used_"])):
            if int(self.value["marks_"][i]) == 0:
                continue
            if self.is_map:
                yield "key%d" % i, entries[i]["head"]
                yield "value%d" % i, entries[i]["tail"]["head"]
            else:
                yield str(i), entries[i]

    def display_hint(self):
        return "map" if self.is_map else "array"


class Duration:
    def __init__(self, value):
        self.ns = int(value)

    def to_string(self):
        return "%gs" % (self.ns / 1e9)


class Inner:
    """What generated code has of its own."""

    def __init__(self, value):
        self.name = str(plain(value.type)).split("<")[0].removeprefix("eve::")

    def to_string(self):
        return "(%s of the runtime)" % self.name


PRINTERS = {
    "string": String,
    "vector": Sequence,
    "slice": Sequence,
    "array": Sequence,
    "map": Table,
    "set": Table,
    "tuple": Tuple,
    "option": Option,
    "result": Result,
    "error": Error,
    "choice": Choice,
    "ref": Ref,
    "built": Built,
    "formatter": Inner,
    "iteration": Inner,
    "scope": Inner,
    "joiner": Inner,
    "outlived": Inner,
}


def printer_of(value):
    if value.type.code == gdb.TYPE_CODE_REF:
        value = value.referenced_value()
    if value.type.code == gdb.TYPE_CODE_TYPEDEF and value.type.name == "eve::duration":
        return Duration(value)
    kind = plain(value.type)
    if kind.code != gdb.TYPE_CODE_STRUCT:
        return None
    fields = kind.fields()
    if (
        fields
        and fields[0].is_base_class
        and (fields[0].name or "").startswith("eve::choice<")
    ):
        return Choice(value.cast(fields[0].type))
    found = re.match(r"eve::(\w+)(<.*>)?$", kind.name or "")
    printer = PRINTERS.get(found.group(1)) if found else None
    return printer(value) if printer else None


def name_of(frame):
    """The function without its parameters."""
    return (frame.name() or "").split("(")[0]


class EveFrame(FrameDecorator):
    """A call in the words of the program: module.function, without what generated code hands on."""

    def function(self):
        name = name_of(self.inferior_frame())
        return (
            "closure"
            if name == "operator"
            else name.removesuffix("::operator").replace("__", ".")
        )

    def frame_args(self):
        args = super().frame_args() or []
        return [
            a
            for a in args
            if str(a.symbol()) not in ("w_", "top_", "__closure", "this", "frame_")
        ]


def of_program(frame):
    """Whether a frame is code of an Eve text, and not what the compiler put around it."""
    table = frame.find_sal().symtab
    if table is None or not table.filename.endswith(".eve"):
        return False
    starter = frame.older()  # of the closure that calls main
    return name_of(frame) != "start_" and not (
        starter and (starter.name() or "").startswith("eve::task_of<start_(")
    )


class EveFrames:
    """Leaves out the runtime's frames below the innermost one. `bt -no-filters` has them all."""

    def __init__(self):
        self.name, self.priority, self.enabled = "eve", 100, True

    def filter(self, frames):
        frames = list(frames)
        if not any(of_program(f.inferior_frame()) for f in frames):
            return iter(frames)
        kept = []
        for f in frames:
            if of_program(f.inferior_frame()):
                kept.append(EveFrame(f))
            elif not any(isinstance(k, EveFrame) for k in kept):
                kept.append(f)
        return iter(kept)


place = gdb.current_objfile() or gdb
frames = EveFrames()
place.frame_filters[frames.name] = frames
place.pretty_printers.append(printer_of)
if "^eve::" not in gdb.execute("info skip", to_string=True):
    gdb.execute("skip -rfu ^eve::", to_string=True)
    gdb.execute("skip -rfu ::~", to_string=True)
    gdb.execute(
        "skip -rfu ^[A-Za-z0-9_]*::[A-Za-z0-9_]*__", to_string=True
    )  # constructors of generated structs
