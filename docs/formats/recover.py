#!/usr/bin/env python3
"""Recovers a tree from a store directory with nothing but Python: recover.py STORE REF DEST

STORE is a directory of the embedded store, or any directory with copies of its archives whose file names end in the archives'
names. Every object is checked against its key. Frames compressed with zstd or brotli need the Python modules of those names.
"""
import gzip, hashlib, io, json, os, struct, sys, tarfile

KINDS = {1: b"root", 2: b"tree", 3: b"file", 4: b"chunklist", 5: b"chunk"}


def key_of(kind, data):
    return hashlib.sha256(b"ws/1 " + kind + b"\0" + data).digest()


def expand(codec, data):
    if codec == 0:
        return data
    if codec == 1:
        return gzip.decompress(data)
    if codec == 2:
        import zstandard
        return zstandard.decompress(data)
    import brotli
    return brotli.decompress(data)


class Store:
    def __init__(self, folder):
        self.places = {}
        for parent, _, names in os.walk(folder):
            for name in names:
                self.add(os.path.join(parent, name), name[-64:])

    def add(self, path, archive_name):
        data = open(path, "rb").read() if len(archive_name) == 64 else b""
        if hashlib.sha256(data).hexdigest() != archive_name:
            return
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            index = archive.extractfile("index").read()
        frames, rows = struct.unpack_from(">II", index, 8)
        table = [struct.unpack_from(">IIIB", index, 16 + 13 * i) for i in range(frames)]
        for i in range(rows):
            key, kind, frame, offset, length = struct.unpack_from(">32sBIII", index, 16 + 13 * frames + 45 * i)
            self.places.setdefault((KINDS[kind], key), []).append((path, table[frame], offset, length))

    def pieces(self, kind, key):
        for path, (start, stored, _, codec), offset, length in self.places.get((kind, key), []):
            with open(path, "rb") as file:
                file.seek(start)
                yield expand(codec, file.read(stored))[offset:offset + length]

    def get(self, kind, key):
        if key == key_of(kind, b""):
            return b""
        for data in self.pieces(kind, key):
            if key_of(kind, data) == key:
                return data
        for data in self.pieces(b"chunklist", key):
            count, = struct.unpack_from(">I", data, 9)
            whole = b"".join(self.get(b"chunk", data[13 + 36 * i:45 + 36 * i]) for i in range(count))
            if key_of(kind, whole) == key:
                return whole
        raise SystemExit("missing or damaged: %s %s" % (kind.decode(), key.hex()))


def build(store, key, path):
    data, at = store.get(b"tree", key), 0
    while at < len(data):
        kind, mode, length = struct.unpack_from(">BHH", data, at)
        name, at = os.path.join(path, data[at + 5:at + 5 + length]), at + 5 + length
        if kind == 1:
            os.mkdir(name)
            build(store, data[at:at + 32], name)
            at += 32
            os.chmod(name, mode)
        elif kind == 2:
            with open(name, "xb") as file:
                file.write(store.get(b"file", data[at + 8:at + 40]))
            at += 40
            os.chmod(name, mode)
        else:
            size, = struct.unpack_from(">H", data, at)
            os.symlink(data[at + 2:at + 2 + size], name)
            at += 2 + size


if __name__ == "__main__":
    folder, ref, dest = sys.argv[1:]
    store = Store(folder)
    root = store.get(b"root", bytes.fromhex(ref.rsplit(":", 1)[1]))
    os.mkdir(dest)
    build(store, root[:32], os.fsencode(dest))
    os.chmod(dest, struct.unpack_from(">H", root, 32)[0])
    left_out, at = struct.unpack_from(">I", root, 34)[0], 38
    for _ in range(left_out):
        length, = struct.unpack_from(">I", root, at + 1)
        print("not in the snapshot:", root[at + 5:at + 5 + length])
        at += 5 + length
