#!/usr/bin/env python3
"""Writes the golden vectors of encrypted objects from the format page alone, sharing no code with the package.

Needs nothing but Python: AES and GCM are written out below, straight from their standards, and slow. Run `reference.py`
to write the file beside it, `reference.py --check` to compare. Vectors are added, never changed.
"""
import hashlib, hmac, json, os, struct, sys

HERE = os.path.dirname(os.path.abspath(__file__))


# --- AES-256 (FIPS 197) and GCM (SP 800-38D) -------------------------------------------------------------------------

def _sbox():
    box, p, q = [0] * 256, 1, 1
    while True:
        p = p ^ ((p << 1) & 0xFF) ^ (0x1B if p & 0x80 else 0)
        q ^= q << 1
        q ^= q << 2
        q ^= q << 4
        q &= 0xFF
        if q & 0x80:
            q ^= 0x09
        rot = lambda n: ((q << n) | (q >> (8 - n))) & 0xFF
        box[p] = q ^ rot(1) ^ rot(2) ^ rot(3) ^ rot(4) ^ 0x63
        if p == 1:
            break
    box[0] = 0x63
    return box


SBOX = _sbox()
XTIME = [((x << 1) ^ (0x1B if x & 0x80 else 0)) & 0xFF for x in range(256)]


def expand(key):
    words = [list(key[i:i + 4]) for i in range(0, 32, 4)]
    rcon = 1
    for i in range(8, 60):
        word = list(words[-1])
        if i % 8 == 0:
            word = [SBOX[b] for b in word[1:] + word[:1]]
            word[0] ^= rcon
            rcon = XTIME[rcon]
        elif i % 8 == 4:
            word = [SBOX[b] for b in word]
        words.append([a ^ b for a, b in zip(words[i - 8], word)])
    return [sum(words[i:i + 4], []) for i in range(0, 60, 4)]


def aes(round_keys, block):
    state = [a ^ b for a, b in zip(block, round_keys[0])]
    for number, round_key in enumerate(round_keys[1:], 1):
        state = [SBOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16)]
        if number < 14:
            mixed = []
            for c in range(0, 16, 4):
                a = state[c:c + 4]
                every = a[0] ^ a[1] ^ a[2] ^ a[3]
                mixed += [a[i] ^ every ^ XTIME[a[i] ^ a[(i + 1) % 4]] for i in range(4)]
            state = mixed
        state = [a ^ b for a, b in zip(state, round_key)]
    return bytes(state)


def ghash_table(h):
    table, v = [], h
    for _ in range(128):
        table.append(v)
        v = (v >> 1) ^ (0xE1 << 120 if v & 1 else 0)
    return table


def ghash(table, data):
    y = 0
    for i in range(0, len(data), 16):
        x, y = y ^ int.from_bytes(data[i:i + 16].ljust(16, b"\0"), "big"), 0
        for bit in range(128):
            if x >> (127 - bit) & 1:
                y ^= table[bit]
    return y


def pad(data):
    return data + b"\0" * (-len(data) % 16)


def gcm(key, nonce, plain, context):
    round_keys = expand(key)
    table = ghash_table(int.from_bytes(aes(round_keys, bytes(16)), "big"))
    stream = b"".join(aes(round_keys, nonce + struct.pack(">I", 2 + i)) for i in range((len(plain) + 15) // 16))
    sealed = bytes(a ^ b for a, b in zip(plain, stream))
    lengths = struct.pack(">QQ", 8 * len(context), 8 * len(sealed))
    tag = ghash(table, pad(context) + pad(sealed) + lengths)
    mask = int.from_bytes(aes(round_keys, nonce + struct.pack(">I", 1)), "big")
    return sealed + (tag ^ mask).to_bytes(16, "big")


# --- The format ------------------------------------------------------------------------------------------------------

SEGMENT = 65536
PURPOSE = b"holdfast/blob-encryption/1 "


def hkdf(key, salt, purpose, length):
    seed = hmac.new(salt or bytes(32), key, hashlib.sha256).digest()
    return hmac.new(seed, PURPOSE + purpose + b"\1", hashlib.sha256).digest()[:length]


def seal(key_id, key, name, content):
    segments = [content[i:i + SEGMENT] for i in range(0, len(content), SEGMENT)] or [b""]
    digests = b"".join(hashlib.sha256(segment).digest() for segment in segments)
    named = struct.pack(">HQ", len(name), len(content)) + name.encode("ascii") + digests
    identity = hmac.new(hkdf(key, b"", b"content", 32), named, hashlib.sha256).digest()
    header = b"HFCRYPT1" + struct.pack(">Q", len(content)) + identity + hkdf(key, b"", b"check", 16)
    header += key_id.encode("ascii").ljust(64, b"\0")
    object_key = hkdf(key, identity, b"object", 32)
    context = header + name.encode("ascii")
    return header + b"".join(
        gcm(object_key, i.to_bytes(12, "big"), segment, context) for i, segment in enumerate(segments))


def hide(name_key, segment):
    key = hkdf(name_key, b"", b"names", 32)
    data = bytes.fromhex(segment)
    half = len(data) // 2
    left, right = bytearray(data[:half]), bytearray(data[half:])
    for number in range(8):
        target, other = (left, right) if number % 2 == 0 else (right, left)
        mask = hmac.new(key, bytes([number, len(data)]) + other, hashlib.sha256).digest()
        for i in range(len(target)):
            target[i] ^= mask[i]
    return (left + right).hex()


# --- Vectors ---------------------------------------------------------------------------------------------------------

def content_of(size):
    """Bytes that are easy to make anywhere: the low byte of i * i + 7 * (i >> 8)."""
    return bytes((i * i + 7 * (i >> 8)) & 0xFF for i in range(size))


def vectors():
    keys = {"2026-a": hashlib.sha256(b"first").digest(), "b": hashlib.sha256(b"second").digest()}
    name_key = hashlib.sha256(b"names").digest()
    cases = [("2026-a", "a", 0), ("2026-a", "a", 1), ("b", "a", 1), ("b", "a/b.c", 1), ("2026-a", "s/" + "0f" * 32, 1000),
             ("2026-a", "a", SEGMENT), ("2026-a", "a", SEGMENT + 1), ("b", "x" * 512, 3)]
    objects = []
    for key_id, name, size in cases:
        sealed = seal(key_id, keys[key_id], name, content_of(size))
        entry = {"keyId": key_id, "name": name, "size": size, "sealedSize": len(sealed),
                 "sha256": hashlib.sha256(sealed).hexdigest(), "header": sealed[:128].hex()}
        if size <= 1000:
            entry["sealed"] = sealed.hex()
        objects.append(entry)
    hidden = [(text, hide(name_key, text)) for text in ["00" * 32, "0123456789abcdef" * 4, "ff" * 16, "5a" * 17, "a1" * 64]]
    return {"keys": {i: k.hex() for i, k in keys.items()}, "nameKey": name_key.hex(), "objects": objects,
            "names": [{"shown": shown, "hidden": text} for shown, text in hidden]}


def self_test():
    # FIPS 197 C.3 and two cases of the GCM submission (13: nothing; 16: text and context).
    key = bytes(range(32))
    assert aes(expand(key), bytes.fromhex("00112233445566778899aabbccddeeff")).hex() == "8ea2b7ca516745bfeafc49904b496089"
    assert gcm(bytes(32), bytes(12), b"", b"").hex() == "530f8afbc74536b9a963b4f1c4cb738b"
    assert gcm(
        bytes.fromhex("feffe9928665731c6d6a8f9467308308" * 2), bytes.fromhex("cafebabefacedbaddecaf888"),
        bytes.fromhex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
                      "b16aedf5aa0de657ba637b39"),
        bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2"),
    ).hex().endswith("76fc6ece0f4e1768cddf8853bb2d551b")


self_test()
text = json.dumps(vectors(), indent=1) + "\n"
file = os.path.join(HERE, "encryption.json")
if "--check" in sys.argv:
    if open(file).read() != text:
        sys.exit("encryption.json is not what this program writes")
else:
    open(file, "w").write(text)
