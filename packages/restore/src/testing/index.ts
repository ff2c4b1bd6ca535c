export { type DefinedNode, type DefineOptions, MemorySource } from './memory-source.js';
