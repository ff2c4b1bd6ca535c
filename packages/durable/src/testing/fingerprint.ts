/** A 106-bit fingerprint of text: two independent 53-bit mixes. Not for anything an adversary chooses. */
export function fingerprint(text: string): string {
  return `${mix(text, 0x9e3779b9)}:${mix(text, 0x85ebca6b)}`;
}

function mix(text: string, seed: number): number {
  let low = 0xdeadbeef ^ seed;
  let high = 0x41c6ce57 ^ seed;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 2_654_435_761);
    high = Math.imul(high ^ unit, 1_597_334_677);
  }
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & high) + (low >>> 0);
}
