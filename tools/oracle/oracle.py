#!/usr/bin/env python3
"""The judge of directory trees a second time, in another language and with another standard library.

    python3 oracle.py list DIR [--facts] [--ignore PATH]...
    python3 oracle.py compare A B [--ignore PATH]...

The output is equal to that of oracle.mjs, so that the two check each other.
"""

import argparse
import hashlib
import json
import os
import stat
import sys

KINDS = (
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "directory"),
    (stat.S_ISLNK, "symlink"),
    (stat.S_ISFIFO, "fifo"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "char-device"),
    (stat.S_ISBLK, "block-device"),
)


def kind_of(mode):
    for test, kind in KINDS:
        if test(mode):
            return kind
    return "other"


def content_of(absolute):
    descriptor = os.open(absolute, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{os.fsdecode(absolute)} changed while it was read")
        digest = hashlib.sha256()
        size = 0
        while block := file.read(1 << 18):
            digest.update(block)
            size += len(block)
    return size, digest.hexdigest()


def describe(absolute, relative, with_facts):
    found = os.lstat(absolute)
    kind = kind_of(found.st_mode)
    entry = {
        "pathHex": relative.hex(),
        "path": relative.decode("utf-8", "replace"),
        "kind": kind,
        "mode": "" if kind == "symlink" else format(stat.S_IMODE(found.st_mode), "04o"),
    }
    if kind == "file":
        entry["size"], entry["sha256"] = content_of(absolute)
    if kind == "symlink":
        entry["targetHex"] = os.readlink(absolute).hex()
    if with_facts:
        entry["facts"] = {
            "ino": str(found.st_ino),
            "mtimeNs": str(found.st_mtime_ns),
            "ctimeNs": str(found.st_ctime_ns),
            "nlink": str(found.st_nlink),
        }
    return entry


def list_tree(root, ignore, with_facts):
    ignored = {os.fsencode(item) for item in ignore}
    start = os.fsencode(root)
    entries = []
    pending = [b""]
    while pending:
        relative = pending.pop()
        for name in os.listdir(start + b"/" + relative if relative else start):
            child = relative + b"/" + name if relative else name
            if child in ignored:
                continue
            entry = describe(start + b"/" + child, child, with_facts)
            entries.append(entry)
            if entry["kind"] == "directory":
                pending.append(child)
    entries.sort(key=lambda entry: entry["pathHex"])
    return entries


def text(value):
    if isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    return "" if value is None else str(value)


def compare_listings(a, b):
    others = {entry["pathHex"]: entry for entry in b}
    own = {entry["pathHex"] for entry in a}
    differences = []
    for entry in a:
        place = {"pathHex": entry["pathHex"], "path": entry["path"]}
        other = others.get(entry["pathHex"])
        if other is None:
            differences.append({**place, "what": "only-in-a"})
            continue
        for what in ("kind", "mode", "size", "sha256", "targetHex", "facts"):
            left, right = text(entry.get(what)), text(other.get(what))
            if left != right:
                differences.append({**place, "what": what, "a": left, "b": right})
    for entry in b:
        if entry["pathHex"] not in own:
            differences.append({"pathHex": entry["pathHex"], "path": entry["path"], "what": "only-in-b"})
    return differences


def main():
    parser = argparse.ArgumentParser(prog="oracle.py")
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list")
    listing.add_argument("directory")
    comparing = commands.add_parser("compare")
    comparing.add_argument("a")
    comparing.add_argument("b")
    for command in (listing, comparing):
        command.add_argument("--facts", action="store_true")
        command.add_argument("--ignore", action="append", default=[])
    options = parser.parse_args()
    if options.command == "list":
        print(json.dumps(list_tree(options.directory, options.ignore, options.facts), indent=1, ensure_ascii=False))
        return 0
    a = list_tree(options.a, options.ignore, options.facts)
    differences = compare_listings(a, list_tree(options.b, options.ignore, options.facts))
    result = {"equal": not differences, "entries": len(a), "differences": differences}
    print(json.dumps(result, indent=1, ensure_ascii=False))
    return 1 if differences else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        print(f"oracle: {error}", file=sys.stderr)
        sys.exit(2)
