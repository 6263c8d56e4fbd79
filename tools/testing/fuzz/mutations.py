# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations of files: each breaks a file in one way that has broken readers of files

A mutation is a function of a random generator and a Mutant, which it changes. The
same generator and the same file always give the same mutant.
"""

from layout import CLASS, IDENT_SIZE, ORDER, Layout

# A name as a process or a file may have it: it must not reach a terminal unchanged.
HOSTILE_NAMES = (b"\x1b]0;title\x07", b"\x1b[2J", b"a\nb", b"\r\b\x7f", b"\xff\xfe",
                 b'"\\', b"\xe2\x80\xae", b"\xc2\x9b31m", b"%s%n", b"x" * 300, b"")
HOLES = (4096, 3 << 20, 6 << 30, 1 << 40)


class Mutant:
    """A file: its bytes, and the size of a hole that follows them."""

    def __init__(self, data):
        self.data = bytearray(data)
        self.hole = 0

    def layout(self):
        return Layout(self.data)

    def set(self, field, value):
        value &= (1 << 8 * field.width) - 1
        self.data[field.at:field.at + field.width] = \
            value.to_bytes(field.width, field.order)

    def size(self):
        return len(self.data) + self.hole


def some_field(rng, layout):
    """Each kind of record is as likely as any other, however many records there are."""
    if not layout.records:
        return None
    kind = rng.choice(sorted(layout.records))
    return rng.choice(list(rng.choice(layout.records[kind]).values()))


def some_range(rng, data, longest=64):
    at = rng.randrange(len(data) or 1)
    return at, min(at + rng.randint(1, longest), len(data))


def boundary(rng, old, bits, size):
    """Returns a value next to which arithmetic goes wrong."""
    top = 1 << bits
    return rng.choice((
        0, 1, 2, top - 1, top - 2, top // 2, top // 2 - 1, old + 1, old - 1, old * 2,
        -old, old ^ 1 << rng.randrange(bits), size, size - 1, size + 1, size - old,
        size - old + 1, top - old, top - size, 4096, 0xff00, 0xffff, 1 << 31, 1 << 32,
        1 << 63, rng.getrandbits(bits), rng.getrandbits(rng.randint(1, bits))))


# ---- fields ------------------------------------------------------------------------

def set_field(rng, mutant):
    layout = mutant.layout()
    if field := some_field(rng, layout):
        mutant.set(field, boundary(rng, layout.get(field), 8 * field.width,
                                   mutant.size()))


def copy_field(rng, mutant):
    """Two tables overlap, two names are the same, a size becomes an offset."""
    layout = mutant.layout()
    if field := some_field(rng, layout):
        mutant.set(field, layout.get(some_field(rng, layout)) + rng.choice((0, 0, 1, -1)))


def turn_field(rng, mutant):
    """Writes a field in the other byte order."""
    layout = mutant.layout()
    if field := some_field(rng, layout):
        mutant.data[field.at:field.at + field.width] = \
            mutant.data[field.at:field.at + field.width][::-1]


def set_ident(rng, mutant):
    at = rng.randrange(IDENT_SIZE)
    if at < len(mutant.data):
        mutant.data[at] = rng.choice((0, 1, 2, 3, 0x7f, 0xff, rng.getrandbits(8)))


def translate(rng, mutant):
    """Writes all headers again, for the other byte order, the other class, or both."""
    old = mutant.layout()
    if not {"file header"} <= old.records.keys():
        return
    values = {kind: [{name: old.get(field) for name, field in record.items()}
                     for record in old.records[kind]]
              for kind in ("segment", "section", "file header")
              if kind in old.records}
    for place in rng.choice(((CLASS,), (ORDER,), (CLASS, ORDER))):
        mutant.data[place] = 3 - mutant.data[place] & 3
    header = values["file header"][0]
    for kind, key in (("section", "shoff"), ("segment", "phoff")):
        # Wider records would lie over other data: move the table to the end.
        if kind in values:
            header[key] = len(mutant.data)
            mutant.data += bytes(64 * len(values[kind]))
    for kind, records in (("file header", [header]), *values.items()):
        new = mutant.layout().records.get(kind, [])
        for record, fields in zip(records, new):
            for name, value in record.items():
                mutant.set(fields[name], value)


def set_names(rng, mutant):
    tables = mutant.layout().strings
    if not tables:
        return
    at, size = rng.choice(tables)
    name = rng.choice(HOSTILE_NAMES)[:size]
    at += rng.randint(0, size - len(name))
    mutant.data[at:at + len(name)] = name


def set_rows(rng, mutant):
    """Bytes of rows: control words, offsets, V3's attributes."""
    places = mutant.layout().sframe
    if not places:
        return
    at, size = rng.choice(places)
    for _ in range(rng.randint(1, 4)):
        mutant.data[at + rng.randrange(size)] = rng.choice((0, 0x7f, 0x80, 0xff,
                                                            rng.getrandbits(8)))


def set_relocation(rng, mutant):
    """A relocation of the SFrame data, which makes a reader write to its copy of the data."""
    layout = mutant.layout()
    if relocations := layout.records.get("sframe relocation"):
        field = rng.choice(list(rng.choice(relocations).values()))
        mutant.set(field, boundary(rng, layout.get(field), 8 * field.width,
                                   mutant.size()))


# ---- sections ----------------------------------------------------------------------

def overlap(rng, mutant):
    """Puts one table or section over another, or over the headers."""
    layout = mutant.layout()
    sections = layout.records.get("section")
    if not sections:
        return
    victim, other = rng.choice(sections), rng.choice(sections)
    header = layout.records["file header"][0]
    field = rng.choice((victim["offset"], victim["offset"], header["shoff"],
                        header["phoff"]))
    mutant.set(field, rng.choice((0, layout.get(header["shoff"]),
                                  layout.get(header["phoff"]),
                                  layout.get(other["offset"]))) + rng.choice((0, 0, 1, 8)))
    if rng.random() < 0.5:
        mutant.set(victim["size"], layout.get(other["size"]) + rng.choice((0, 1, 64)))


def move_sframe(rng, mutant):
    """Gives the section and the segment of the SFrame data another place or size."""
    layout = mutant.layout()
    for header in layout.records.get("carrier", ()):
        for name in ("offset", "size", "filesz"):
            if name in header and rng.random() < 0.5:
                old = layout.get(header[name])
                mutant.set(header[name], boundary(rng, old, 8 * header[name].width,
                                                  mutant.size()))


def swap_sections(rng, mutant):
    sections = mutant.layout().records.get("section")
    if not sections:
        return
    one, two = (rng.choice(sections) for _ in "12")
    first, second = one["name"].at, two["name"].at
    size = one["entsize"].at + one["entsize"].width - first
    mutant.data[first:first + size], mutant.data[second:second + size] = \
        mutant.data[second:second + size], mutant.data[first:first + size]


# ---- bytes -------------------------------------------------------------------------

def cut(rng, mutant):
    del mutant.data[rng.randint(0, len(mutant.data)):]


def extend(rng, mutant):
    mutant.data += rng.choice((bytes, rng.randbytes))(rng.randint(1, 4096))


def set_bytes(rng, mutant):
    first, last = some_range(rng, mutant.data)
    mutant.data[first:last] = rng.choice((bytes(last - first), b"\xff" * (last - first),
                                          rng.randbytes(last - first)))


def turn_bits(rng, mutant):
    for _ in range(rng.randint(1, 8)):
        if mutant.data:
            mutant.data[rng.randrange(len(mutant.data))] ^= 1 << rng.randrange(8)


def delete_bytes(rng, mutant):
    first, last = some_range(rng, mutant.data)
    del mutant.data[first:last]


def copy_bytes(rng, mutant):
    """Inserts a copy of some bytes, or writes them over others."""
    first, last = some_range(rng, mutant.data, 256)
    at = rng.randrange(len(mutant.data) or 1)
    copy = mutant.data[first:last]
    mutant.data[at:at + rng.choice((0, len(copy)))] = copy


def dig_hole(rng, mutant):
    """Makes the file sparse. The SFrame data, or another section, may reach into the hole."""
    mutant.hole = rng.choice(HOLES)
    records = mutant.layout().records
    kind = rng.choice(("section", "segment"))
    size = {"section": "size", "segment": "filesz"}[kind]
    if kind in records and rng.random() < 0.8:
        for record in rng.sample(records[kind], rng.randint(1, len(records[kind]))):
            mutant.set(record[size], mutant.hole)


def many_sections(rng, mutant):
    """Makes a table of sections that reaches into a hole. Section 0 has their number."""
    layout = mutant.layout()
    if "section" in layout.records:
        mutant.set(layout.records["file header"][0]["shnum"], 0)
        mutant.set(layout.records["section"][0]["size"],
                   rng.choice((100, 1 << 12, 1 << 14, 1 << 16, 1 << 16, 1 << 20,
                               1 << 32, 1 << 63)))
        mutant.hole = 1 << 40


FILE_MUTATIONS = (set_field, set_field, set_field, copy_field, turn_field, set_ident,
                  translate, set_names, set_rows, set_relocation, overlap, move_sframe,
                  swap_sections, many_sections, cut, extend, set_bytes, turn_bits,
                  delete_bytes, copy_bytes, dig_hole)


# ---- counter files -----------------------------------------------------------------

NUMBERS = (b"0", b"-1", b"18446744073709551615", b"18446744073709551616", b"1e3", b"",
           b"0x10", b"+5", b" 7", b"9" * 400, b"\xc2\xb2", b"nan", b"1.5")


def counter_lines(change):
    """Makes a mutation of a function that changes the list of lines."""
    def mutation(rng, mutant):
        lines = mutant.data.split(b"\n")
        change(rng, lines, rng.randrange(len(lines)))
        mutant.data[:] = b"\n".join(lines)
    mutation.__name__ = change.__name__
    return mutation


@counter_lines
def repeat_line(rng, lines, at):
    lines.insert(rng.randint(0, len(lines)), lines[at])


@counter_lines
def many_lines(rng, lines, at):
    lines[at:at] = [b"%s%d 1" % (lines[at].split(b" ")[0], i)
                    for i in range(rng.choice((10, 1000)))]


@counter_lines
def set_number(rng, lines, at):
    lines[at] = lines[at].split(b" ")[0] + b" " + rng.choice(NUMBERS)


@counter_lines
def set_counter(rng, lines, at):
    lines[at] = rng.choice(HOSTILE_NAMES + (b"stop.", b".", b"..", b"cache.x")) + b" 3"


@counter_lines
def drop_line(_, lines, at):
    del lines[at]


def hole_after(rng, mutant):
    mutant.hole = rng.choice(HOLES)


COUNTER_MUTATIONS = (repeat_line, many_lines, set_number, set_counter, drop_line, cut,
                     extend, set_bytes, turn_bits, delete_bytes, copy_bytes, hole_after)


def mutate(rng, data, counters):
    """Returns a mutant of a file or, if COUNTERS, of a file of counters. It differs from the file."""
    mutant = Mutant(data)
    left = rng.choice((1, 1, 1, 2, 2, 3, 5))
    # A mutation of sections leaves a file without sections as it was.
    while left > 0 or (mutant.data == data and not mutant.hole):
        rng.choice(COUNTER_MUTATIONS if counters else FILE_MUTATIONS)(rng, mutant)
        left -= 1
    return mutant
