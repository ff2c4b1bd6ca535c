#!/usr/bin/env python3
"""Writes the golden vectors from the format pages alone, sharing no code with the packages.

Run `reference.py` to write the files beside it, `reference.py --check` to compare. Vectors are added, never changed.
"""
import gzip, hashlib, json, os, struct, sys

HERE = os.path.dirname(os.path.abspath(__file__))


def sha(data):
    return hashlib.sha256(data).digest()


def key_of(kind, data):
    return sha(b"ws/1 " + kind.encode() + b"\0" + data)


# --- objects ---------------------------------------------------------------------------------------------------------

def file_bytes(spec):
    if "repeat" in spec:
        unit = bytes.fromhex(spec["repeat"])
        return (unit * (spec["size"] // len(unit) + 1))[:spec["size"]]
    return bytes.fromhex(spec.get("content", ""))


def tree_bytes(children):
    out = b""
    for name in sorted(children):
        node = children[name]
        head = struct.pack(">BHH", {"directory": 1, "file": 2, "symlink": 3}[node["kind"]],
                           0 if node["kind"] == "symlink" else int(node["mode"], 8), len(name)) + name
        if node["kind"] == "directory":
            out += head + key_of("tree", tree_bytes(node["children"]))
        elif node["kind"] == "file":
            data = file_bytes(node)
            out += head + struct.pack(">Q", len(data)) + key_of("file", data)
        else:
            target = bytes.fromhex(node["target"])
            out += head + struct.pack(">H", len(target)) + target
    return out


def nest(entries):
    root = {}
    for entry in entries:
        *parents, name = bytes.fromhex(entry["path"]).split(b"/")
        place = root
        for parent in parents:
            place = place[parent]["children"]
        place[name] = dict(entry, children={})
    return root


REASONS = {"special": 1, "unreadable": 2, "limit": 3, "mount": 4, "reserved": 5}


def root_bytes(tree):
    out = key_of("tree", tree_bytes(nest(tree["entries"]))) + struct.pack(">H", int(tree["mode"], 8))
    omitted = sorted((bytes.fromhex(o["path"]), o["reason"]) for o in tree["omitted"])
    out += struct.pack(">I", len(omitted))
    for path, reason in omitted:
        out += struct.pack(">BI", REASONS[reason], len(path)) + path
    out += struct.pack(">I", len(tree["rules"]))
    for rule in tree["rules"]:
        text = rule.encode()
        out += struct.pack(">I", len(text)) + text
    return out


def h(text):
    return (text if isinstance(text, bytes) else text.encode()).hex()


def d(path, mode="755"):
    return {"path": h(path), "kind": "directory", "mode": mode}


def f(path, content=b"", mode="644", **more):
    return {"path": h(path), "kind": "file", "mode": mode, "content": h(content), **more}


def l(path, target):
    return {"path": h(path), "kind": "symlink", "mode": "0", "target": h(target)}


TREES = [
    {"name": "empty", "mode": "755", "entries": [], "omitted": [], "rules": []},
    {"name": "one file", "mode": "755", "entries": [f("hello.txt", "hello\n")], "omitted": [], "rules": []},
    {"name": "root mode counts in the ref only", "mode": "700", "entries": [f("hello.txt", "hello\n")], "omitted": [],
     "rules": []},
    {"name": "modes and empty things", "mode": "755", "entries": [
        d("d", "700"), d("e", "755"), f("none", ""), f("ro", "x", "444"), f("run.sh", "#!/bin/sh\n", "755"),
        f("secret", "s", "600"), f("zero", "z", "0"), l("l", "run.sh"), l("dangling", "missing/\xff".encode("latin1")),
        l("abs", "/etc/passwd")], "omitted": [], "rules": []},
    {"name": "order is by bytes, not by UTF-16", "mode": "755", "entries": [
        f("a", "1"), f("a.b", "2"), d("a-dir"), f("a-dir/x", "3"), f("\uff5e", "halfwidth"), f("\U0001f600", "astral"),
        f(b"bad\xff.bin", "invalid"), f("e\u0301.txt", "decomposed"), f("\u00e9.txt", "composed"), f("Logo", "upper"),
        f("logo", "lower"), f("new\nline", "n"), f(" lead ", "s"), f("-rf", "d"), f("n" * 255, "long")],
     "omitted": [], "rules": []},
    {"name": "omissions and rules", "mode": "755", "entries": [d("a"), f("a/kept", "k")],
     "omitted": [{"path": h("pipe"), "reason": "special"}, {"path": h("a/locked"), "reason": "unreadable"},
                 {"path": h("big.bin"), "reason": "limit"}, {"path": h("mnt"), "reason": "mount"},
                 {"path": h(".holdfast"), "reason": "reserved"}],
     "rules": ["node_modules/", "*.log", "!keep.log", "# \u516c"]},
    {"name": "files around the size of a frame and of a chunk", "mode": "755", "entries": [
        f("a", mode="644", repeat="00", size=262144), f("b", mode="644", repeat="0102", size=262145),
        f("c", mode="644", repeat="616263", size=4194304), f("d", mode="644", repeat="616263", size=4194305)],
     "omitted": [], "rules": []},
    {"name": "deep", "mode": "755", "entries": [d("/".join(["x"] * n)) for n in range(1, 41)] + [
        f("/".join(["x"] * 40) + "/leaf", "end")], "omitted": [], "rules": []},
]


def trees():
    out = []
    for tree in TREES:
        data = root_bytes(tree)
        tree_data = tree_bytes(nest(tree["entries"]))
        out.append(dict(tree, treeObject=tree_data.hex() if len(tree_data) <= 4096 else None,
                        treeKey=key_of("tree", tree_data).hex(), rootObject=data.hex(),
                        ref="v1:sha256:" + key_of("root", data).hex()))
    return out


def keys():
    cases = [(kind, data) for kind in ("root", "tree", "file", "chunklist", "chunk") for data in (b"", b"abc")]
    return [{"kind": kind, "bytes": data.hex(), "key": key_of(kind, data).hex()} for kind, data in cases]


def chunk_list():
    parts = [b"a" * 1000, b"b" * 2000, b"a" * 1000]
    body = struct.pack(">BQI", 3, 4000, 3) + b"".join(key_of("chunk", p) + struct.pack(">I", len(p)) for p in parts)
    return {"kind": "file", "size": 4000, "chunks": [{"key": key_of("chunk", p).hex(), "length": len(p)} for p in parts],
            "bytes": (body + key_of("chunklist", body)).hex(), "key": key_of("file", b"".join(parts)).hex()}


# --- archives --------------------------------------------------------------------------------------------------------

def header(name, size):
    block = bytearray(512)
    block[0:len(name)] = name
    block[100:108] = b"000644 \0"
    block[108:116] = b"000000 \0"
    block[116:124] = b"000000 \0"
    block[124:136] = b"%011o " % size
    block[136:148] = b"00000000000 "
    block[148:156] = b" " * 8
    block[156:157] = b"0"
    block[257:265] = b"ustar\x0000"
    block[329:337] = b"000000 \0"
    block[337:345] = b"000000 \0"
    block[148:156] = b"%06o \0" % sum(block)
    return bytes(block)


def member(name, data):
    return header(name, len(data)) + data + b"\0" * (-len(data) % 512)


def archive(meta, data_frames, tree_frames):
    """Frames are (codec, stored bytes, raw bytes, [(kind, key, offset, length)])."""
    codes = {"root": 1, "tree": 2, "file": 3, "chunklist": 4, "chunk": 5}
    out = member(b"meta", (json.dumps(meta, separators=(",", ":")) + "\n").encode())
    frames, rows, tail = [], [], None
    for name, group in ((b"data", data_frames), (b"trees", tree_frames)):
        if name == b"trees" and group:
            tail = len(out)
        at = len(out) + 512
        for codec, stored, raw, objects in group:
            rows += [(key, codes[kind], len(frames), offset, length) for kind, key, offset, length in objects]
            frames.append((at, len(stored), len(raw), codec))
            at += len(stored)
        if group:
            out += member(name, b"".join(frame[1] for frame in group))
    tail = len(out) if tail is None else tail
    index = b"hfindex1" + struct.pack(">II", len(frames), len(rows))
    index += b"".join(struct.pack(">IIIB", *frame) for frame in frames)
    index += b"".join(struct.pack(">32sBIII", *row) for row in sorted(rows))
    out += member(b"index", index + sha(index)) + b"\0" * 1024
    return {"name": sha(out).hex(), "size": len(out), "tail": tail, "bytes": out.hex()}


def archives():
    tree = next(t for t in TREES if t["name"] == "one file")
    file, tree_data, root = b"hello\n", tree_bytes(nest(tree["entries"])), root_bytes(tree)
    trees_raw = tree_data + root
    tree_rows = [("tree", key_of("tree", tree_data), 0, len(tree_data)),
                 ("root", key_of("root", root), len(tree_data), len(root))]
    meta = {"format": "holdfast-archive/1", "writer": "0123456789abcdef" * 2, "slot": 1, "part": 1}
    stored = archive(meta, [(0, file, file, [("file", key_of("file", file), 0, len(file))])],
                     [(0, trees_raw, trees_raw, tree_rows)])
    packed = gzip.compress(trees_raw, 9, mtime=0)
    zipped = archive(dict(meta, part=2), [(1, gzip.compress(file, 9, mtime=0), file,
                                          [("file", key_of("file", file), 0, len(file))])],
                     [(1, packed, trees_raw, tree_rows)])
    only_root = archive(dict(meta, part=3), [], [(0, root, root, [("root", key_of("root", root), 0, len(root))])])
    ref = "v1:sha256:" + key_of("root", root).hex()
    return [dict(stored, title="stored frames", meta=meta, ref=ref, canonical=True),
            dict(zipped, title="gzip frames", meta=dict(meta, part=2), ref=ref, canonical=False),
            dict(only_root, title="no data", meta=dict(meta, part=3), ref=ref, canonical=True)]


# --- records ---------------------------------------------------------------------------------------------------------

def seal(lines):
    body = "".join(line + "\n" for line in lines)
    return body + "sha256 " + sha(body.encode()).hex() + "\n"


def records():
    w, a = "0123456789abcdef" * 2, {"name": "ab" * 32, "size": 4096, "tail": 1024}
    head = lambda kind, slot: {"format": "holdfast-record/1", "kind": kind, "writer": w, "slot": slot}
    one = lambda value: seal([json.dumps(value, separators=(",", ":"), ensure_ascii=False)])
    ref = "v1:sha256:" + "cd" * 32
    out = [
        ("register", {**head("register", 0), "session": {"id": "s-1", "epoch": 7}, "previous": "f" * 32,
                      "released": [w + "-0000000003"]}),
        ("register without session", {**head("register", 0), "session": None, "previous": None, "released": []}),
        ("commit", {**head("commit", 1), "ref": ref, "archives": [a, {"name": "12" * 32, "size": 8192, "tail": 512}],
                    "stats": {"entries": 3, "files": 2, "bytes": 99, "stored": 8192}, "released": []}),
        ("merge", {**head("merge", 2), "archive": a, "replaces": ["12" * 32, "34" * 32], "released": []}),
        ("retired", {**head("retired", 3), "collection": "9" * 32}),
        ("closed", {**head("closed", 3), "released": [w + "-0000000001", w + "-0000000002"]}),
    ]
    return {
        "records": [{"title": title, "value": value, "text": one(value)} for title, value in out],
        "forward": {"value": a, "text": one({"format": "holdfast-forward/1", **a})},
        "store": {"id": "e" * 32, "text": one({"format": "holdfast-store/1", "id": "e" * 32})},
        "list": {"names": ["archives/ab/" + "ab" * 32, "moved/" + "12" * 32],
                 "text": seal(["holdfast-collection-list/1", "archives/ab/" + "ab" * 32, "moved/" + "12" * 32])},
        "decisions": [{"value": "abort", "text": seal(["holdfast-collection-decision/1", "abort"])},
                      {"value": {"go": "5" * 64}, "text": seal(["holdfast-collection-decision/1", "go " + "5" * 64])}],
    }


FILES = {"keys.json": keys, "trees.json": trees, "chunk-list.json": chunk_list, "archives.json": archives,
         "records.json": records}

if __name__ == "__main__":
    for name, make in FILES.items():
        text, path = json.dumps(make(), indent=1, ensure_ascii=True) + "\n", os.path.join(HERE, name)
        if "--check" not in sys.argv:
            open(path, "w").write(text)
        elif open(path).read() != text:
            sys.exit("%s differs from what the reference writes" % name)
