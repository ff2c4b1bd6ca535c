/**
 * The name under which an operation prepares a node in the directory where it will stand: `.holdfast-<restoreId>-<n>`.
 * Ours only while an intent with this restoreId exists; ordinary content otherwise.
 */
export function reservedName(restoreId: string, number: number): string {
  return `.holdfast-${restoreId}-${number}`;
}
