export { canonicalOrder, type GenerateTreeOptions, generateTree } from './generate-tree.js';
export { type GoldenTree, goldenFile, goldenTrees } from './golden-vectors.js';
export type { TreeNode } from './tree-node.js';
export { type WriteTreeOptions, writeTree } from './write-tree.js';
