import { listTree } from '../../../tools/oracle/oracle.mjs';

/** What the independent judge sees below `root`: paths, kinds, modes, sizes, digests and link targets. */
export function treeRows(root: string) {
  return listTree(root);
}
