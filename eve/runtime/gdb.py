"""How gdb shows the values of Eve: text for string, elements for vector, the object behind a handle.

Programs of `eve run` and `eve build -g` name this file in their section .debug_gdb_scripts.
"""
import gdb
import gdb.printing


def head(value, limit=200):
    """The first elements of a long list are enough."""
    return min(int(value), limit)


def bytes_of(pointer, size):
    return gdb.selected_inferior().read_memory(int(pointer), size).tobytes() if size > 0 else b""


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
        return raw.decode("utf-8", "replace")

    def display_hint(self):
        return "string"


class Sequence:
    """vector and slice: a pointer and a size."""

    def __init__(self, value):
        self.value = value
        self.element = value.type.strip_typedefs().unqualified().template_argument(0)
        self.items = value["items_"].cast(self.element.pointer())
        self.size = int(value["size_"])

    def is_text(self):
        return self.element.strip_typedefs().code == gdb.TYPE_CODE_INT and self.element.sizeof == 1

    def to_string(self):
        if self.is_text():
            return repr(bytes_of(self.items, head(self.size)))[1:]
        return "%d elements" % self.size

    def children(self):
        if self.is_text():
            return
        for i in range(head(self.size)):
            yield str(i), self.items[i]

    def display_hint(self):
        return None if self.is_text() else "array"


class Ref:
    """A handle: the object that it names."""

    def __init__(self, value):
        self.object = value["object_"]
        self.type = value.type.strip_typedefs().unqualified().template_argument(0)

    def to_string(self):
        if int(self.object) == 0:
            return "moved"
        return "@0x%x" % int(self.object)

    def children(self):
        if int(self.object) != 0:
            box = gdb.lookup_type("eve::box<%s>" % self.type)
            yield "value", self.object.cast(box.pointer()).dereference()["value"]


class Built:
    """An object that this body has built."""

    def __init__(self, value):
        self.handle = value["handle_"]

    def to_string(self):
        return self.handle


class Option:
    """none or the value; a type with a bit pattern to spare has no flag (option.hpp)."""

    def __init__(self, value):
        self.held = value["held_"]

    def value(self):
        fields = [f.name for f in self.held.type.fields()]
        if "some_" in fields or any(f.is_base_class for f in self.held.type.fields()):
            return self.held["value_"] if bool(self.held["some_"]) else None
        inner = self.held["value_"]
        kind = str(inner.type.strip_typedefs().unqualified())
        if kind == "eve::string":
            return None if int(inner["word_"][1]) >> 56 == 255 else inner
        return inner

    def to_string(self):
        return "none" if self.value() is None else "some"

    def children(self):
        value = self.value()
        if value is not None:
            yield "value", value


class Table:
    """map and set: entries in the order of insertion; the mark of a removed one is 0 (table.hpp)."""

    def __init__(self, value):
        self.value = value
        kind = value.type.strip_typedefs().unqualified()
        self.is_map = str(kind).startswith("eve::map<")
        self.entry = kind.template_argument(0)
        if self.is_map:
            parts = (kind.template_argument(0), kind.template_argument(1))
            self.entry = gdb.lookup_type("eve::tuple<%s, %s>" % parts)

    def to_string(self):
        return "%d entries" % int(self.value["live_"])

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


PATTERNS = [
    ("string", r"^eve::string$", String),
    ("vector", r"^eve::vector<.*>$", Sequence),
    ("slice", r"^eve::slice<.*>$", Sequence),
    ("ref", r"^eve::ref<.*>$", Ref),
    ("built", r"^eve::built<.*>$", Built),
    ("map", r"^eve::map<.*>$", Table),
    ("set", r"^eve::set<.*>$", Table),
    ("option", r"^eve::option<.*>$", Option),
]

printers = gdb.printing.RegexpCollectionPrettyPrinter("eve")
for name, pattern, printer in PATTERNS:
    printers.add_printer(name, pattern, printer)
gdb.printing.register_pretty_printer(gdb.current_objfile(), printers, replace=True)
