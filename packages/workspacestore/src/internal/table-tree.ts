import type { ByteWriter } from './byte-writer.js';
import type { StatTable } from './stat-table.js';
import { writeTreeRow } from './tree-object.js';

/** Writes the tree object of a directory from its rows in a stat table. */
export function encodeTreeRows(writer: ByteWriter, table: StatTable, first: number, count: number): void {
  for (let row = first; row < first + count; row += 1) {
    const kind = table.kind(row);
    writeTreeRow(writer, {
      name: table.name(row),
      kind,
      mode: kind === 'symlink' ? 0 : table.mode(row) & 0o777,
      size: table.size(row),
      value: kind === 'symlink' ? table.target(row) : table.key(row),
    });
  }
}
