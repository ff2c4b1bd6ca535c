import type { FrameObject } from '../archive-writer.js';
import { keyLength, type ObjectKind, objectKindCodes, objectKinds } from '../object-key.js';

const rowBytes = keyLength + 12;

/** Packs the objects of a frame into one byte string, which crosses threads without being copied. */
export function packObjects(objects: readonly FrameObject[]): Uint8Array {
  const packed = new Uint8Array(objects.length * rowBytes);
  const view = new DataView(packed.buffer);
  for (const [position, object] of objects.entries()) {
    const at = position * rowBytes;
    packed.set(object.key, at);
    view.setUint32(at + keyLength, objectKindCodes[object.kind]);
    view.setUint32(at + keyLength + 4, object.offset);
    view.setUint32(at + keyLength + 8, object.length);
  }
  return packed;
}

export function unpackObjects(packed: Uint8Array): FrameObject[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const objects: FrameObject[] = [];
  for (let at = 0; at < packed.length; at += rowBytes) {
    objects.push({
      key: packed.subarray(at, at + keyLength),
      kind: objectKinds[view.getUint32(at + keyLength)] as ObjectKind,
      offset: view.getUint32(at + keyLength + 4),
      length: view.getUint32(at + keyLength + 8),
    });
  }
  return objects;
}
