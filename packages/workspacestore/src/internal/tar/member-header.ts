const blockBytes = 512;
const checksumAt = 148;

/** What ends a tar file. */
export const tarEnd: Uint8Array = new Uint8Array(2 * blockBytes);

/**
 * The header of a member that is a plain file with a short name: its bytes depend on name and size only. Our own archives
 * have nothing else; what people export goes through a whole tar library.
 */
export function memberHeader(name: string, size: number): Uint8Array {
  const block = new Uint8Array(blockBytes);
  const write = (at: number, text: string): void => {
    block.set(Buffer.from(text, 'latin1'), at);
  };
  write(0, name);
  write(100, '000644 ');
  write(108, '000000 ');
  write(116, '000000 ');
  write(124, `${size.toString(8).padStart(11, '0')} `);
  write(136, '00000000000 ');
  write(checksumAt, ' '.repeat(8));
  write(156, '0');
  write(257, 'ustar\x0000');
  write(329, '000000 ');
  write(337, '000000 ');
  const sum = block.reduce((total, byte) => total + byte, 0);
  write(checksumAt, `${sum.toString(8).padStart(6, '0')} \0`);
  return block;
}

/** What fills the last block of a member. */
export function memberPadding(size: number): Uint8Array {
  return new Uint8Array((blockBytes - (size % blockBytes)) % blockBytes);
}
