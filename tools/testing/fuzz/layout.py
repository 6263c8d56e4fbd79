# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the fields of an ELF file, and of the SFrame data in it, are

Nothing is checked: the file may have been mutated before.
"""

from collections import namedtuple

# Fields of a header: name and bytes. A is an address, of 4 or 8 bytes.
A = 0
FILE_HEADER = (("type", 2), ("machine", 2), ("version", 4), ("entry", A),
               ("phoff", A), ("shoff", A), ("flags", 4), ("ehsize", 2),
               ("phentsize", 2), ("phnum", 2), ("shentsize", 2), ("shnum", 2),
               ("shstrndx", 2))
SECTION = (("name", 4), ("type", 4), ("flags", A), ("addr", A), ("offset", A),
           ("size", A), ("link", 4), ("info", 4), ("align", A), ("entsize", A))
SEGMENT = {4: (("type", 4), ("offset", A), ("vaddr", A), ("paddr", A),
               ("filesz", A), ("memsz", A), ("flags", 4), ("align", A)),
           8: (("type", 4), ("flags", 4), ("offset", A), ("vaddr", A),
               ("paddr", A), ("filesz", A), ("memsz", A), ("align", A))}
SYMBOL = {4: (("name", 4), ("value", A), ("size", A), ("info", 1),
              ("other", 1), ("shndx", 2)),
          8: (("name", 4), ("info", 1), ("other", 1), ("shndx", 2),
              ("value", A), ("size", A))}
RELOCATION = (("offset", A), ("info", A), ("addend", A))
SFRAME = (("magic", 2), ("version", 1), ("flags", 1), ("abi", 1), ("fp", 1),
          ("ra", 1), ("auxhdr_len", 1), ("num_fdes", 4), ("num_fres", 4),
          ("fre_len", 4), ("fdeoff", 4), ("freoff", 4))
FDE = {1: (("start", 4), ("size", 4), ("fre_off", 4), ("num_fres", 4),
           ("info", 1)),
       2: (("start", 4), ("size", 4), ("fre_off", 4), ("num_fres", 4),
           ("info", 1), ("rep_size", 1), ("padding", 2)),
       3: (("start", 8), ("size", 4), ("fre_off", 4))}
MAGICS = {b"\xe2\xde": "little", b"\xde\xe2": "big"}

IDENT_SIZE = 16
CLASS, ORDER = 4, 5		# offsets in the identification
SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_DYNSYM = 2, 3, 4, 11
MOST_RECORDS = 64		# of each table

Field = namedtuple("Field", "name at width order")


def record_size(fields, address):
    return sum(width or address for _, width in fields)


def record(fields, at, address, order, limit):
    """Returns the fields of a record at offset AT, by name, if it ends before LIMIT."""
    if at + record_size(fields, address) > limit:
        return {}
    result = {}
    for name, width in fields:
        width = width or address
        result[name] = Field(name, at, width, order)
        at += width
    return result


def table(fields, at, number, address, order, limit):
    """Returns the records of a table that lie before LIMIT, MOST_RECORDS at most."""
    size = record_size(fields, address)
    records = (record(fields, at + i * size, address, order, limit)
               for i in range(min(number, MOST_RECORDS)))
    return [fields for fields in records if fields]


class Layout:
    """The records of a file. .records has a list of records for each kind that it has."""

    def __init__(self, data):
        self.data = data
        self.records = {}
        self.relocations = {}		# records, by the index of the section that they change
        self.strings = []		# offset and size of each table of names
        self.sframe = []		# the same for the SFrame data
        if data[:4] == b"\x7fELF" and len(data) > IDENT_SIZE:
            self.address = 4 if data[CLASS] == 1 else 8
            self.order = "big" if data[ORDER] == 2 else "little"
            self.read_elf()
        self.read_sframe()

    def get(self, field):
        return int.from_bytes(self.data[field.at:field.at + field.width], field.order)

    def add(self, kind, fields, at, number=1):
        records = table(fields, at, number, self.address, self.order, len(self.data))
        if records:
            self.records.setdefault(kind, []).extend(records)
        return records

    def read_elf(self):
        header = self.add("file header", FILE_HEADER, IDENT_SIZE)
        if not header:
            return
        value = {name: self.get(field) for name, field in header[0].items()}
        self.add("segment", SEGMENT[self.address], value["phoff"], value["phnum"])
        for section in self.add("section", SECTION, value["shoff"], value["shnum"]):
            self.read_section(section)

    def read_section(self, section):
        kind, at, size = (self.get(section[name]) for name in ("type", "offset", "size"))
        if kind in (SHT_SYMTAB, SHT_DYNSYM):
            fields = SYMBOL[self.address]
            self.add("symbol", fields, at, size // record_size(fields, self.address))
        elif kind == SHT_RELA:
            self.relocations[self.get(section["info"])] = \
                self.add("relocation", RELOCATION, at, size // (3 * self.address))
        elif kind == SHT_STRTAB and 0 < size <= len(self.data) - at:
            self.strings.append((at, size))

    def add_carriers(self, at):
        """The headers of SFrame data, and its relocations, are kinds of their own: few others are read."""
        for kind in ("section", "segment"):
            for index, record in enumerate(self.records.get(kind, ())):
                if self.get(record["offset"]) != at:
                    continue
                self.records.setdefault("carrier", []).append(record)
                if kind == "section" and self.relocations.get(index):
                    self.records["sframe relocation"] = self.relocations[index]

    def read_sframe(self):
        """Finds SFrame data by its magic number, wherever it is."""
        for magic, order in MAGICS.items():
            at = self.data.find(magic)
            while at >= 0:
                if self.data[at + 2:at + 3] in (b"\1", b"\2", b"\3"):
                    self.read_blob(at, order)
                at = self.data.find(magic, at + 2)

    def read_blob(self, at, order):
        limit = len(self.data)
        header = record(SFRAME, at, 0, order, limit)
        if not header:
            return
        value = {name: self.get(field) for name, field in header.items()}
        first = at + record_size(SFRAME, 0) + value["auxhdr_len"]
        fdes = table(FDE[value["version"]], first + value["fdeoff"],
                     value["num_fdes"], 0, order, limit)
        self.records.setdefault("sframe", []).append(header)
        self.add_carriers(at)
        if fdes:
            self.records.setdefault("fde", []).extend(fdes)
        rows = first + value["freoff"]
        if 0 < value["fre_len"] <= limit - rows:
            self.sframe.append((rows, value["fre_len"]))
