"""A folder that survives being killed: whole shards or none.

    OUT/plan.json           what is measured; never changes
    OUT/rows/00.parquet     the rows of document 0, written aside and renamed
    OUT/rows.parquet        all of them, when all are there

Shards carry how they came to be (seconds, machine) in their metadata; the merged
file leaves that out, so that equal plans give equal bytes.
"""

import json
import os
from dataclasses import asdict, fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


class PlanError(ValueError):
    """Something cannot be measured as asked; the message is one sentence that says why."""


_PROVENANCE = b"kvteach"


class JsonPlan:
    """What a frozen dataclass of tuples and plain values needs to be a folder's plan.

    ``noun``: what its field ``texts`` lists, in messages.
    """

    noun = "documents"

    def to_json(self):
        """The plan as text."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text):
        """The plan that `to_json` wrote."""
        data = json.loads(text)
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})

    def difference(self, other):
        """The first field in which two plans differ, as words; "" when none does."""
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine != theirs:
                if field.name == "texts":
                    return self.other_texts(theirs)
                return f"{field.name} {theirs!r}, asked for {mine!r}"
        return ""

    def other_texts(self, theirs):
        """Words for texts that differ."""
        return f"other {self.noun}"


def open_folder(folder, plan, noun):
    """Write the plan into ``folder``, or check that it already holds this one.

    plan: a `JsonPlan`. noun: what a folder of such
    a plan is called in messages. Raises PlanError when the folder holds another plan, or
    other files.
    """
    folder = Path(folder)
    path = folder / "plan.json"
    if path.is_file():
        difference = plan.difference(type(plan).from_json(path.read_text()))
        if difference:
            raise PlanError(
                f"{folder} holds another {noun}: {difference}; choose another folder, or "
                "ask for the same again to complete it"
            )
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlanError(
            f"{folder} exists and holds no {noun}; choose a new or an empty folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, plan.to_json().encode())


def write_whole(path, data):
    """Write bytes beside ``path`` and rename, so that no half file has its name."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_bytes(data)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


class Shards:
    """Numbered tables of one kind under a folder."""

    def __init__(self, folder, kind, count):
        self.folder, self.kind, self.count = Path(folder), kind, count

    def path(self, index):
        return self.folder / self.kind / f"{index:02}.parquet"

    def missing(self):
        """Indices that have no shard yet, ascending."""
        return [i for i in range(self.count) if not self.path(i).exists()]

    def write(self, index, table, provenance):
        """Store one shard, with ``provenance`` (a dict) in its metadata."""
        self.path(index).parent.mkdir(exist_ok=True)
        for leftover in self.path(index).parent.glob(f".{self.path(index).name}.*"):
            leftover.unlink()
        noted = table.replace_schema_metadata({_PROVENANCE: json.dumps(provenance)})
        write_whole(self.path(index), as_bytes(noted))

    def provenance(self):
        """What was noted with each shard, in order."""
        schemas = [pq.read_schema(self.path(i)) for i in range(self.count)]
        return [json.loads(schema.metadata[_PROVENANCE]) for schema in schemas]

    def read(self, index):
        """The table of one shard, without what was noted."""
        return pq.read_table(self.path(index)).replace_schema_metadata()

    def merge(self):
        """Write all shards into one file beside their folder; return its table."""
        table = pa.concat_tables([self.read(i) for i in range(self.count)])
        write_whole(self.folder / f"{self.kind}.parquet", as_bytes(table))
        return table


def as_bytes(table):
    """The table as a Parquet file in memory."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes()
