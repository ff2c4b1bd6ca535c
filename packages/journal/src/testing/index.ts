export { memorySessionParts } from './session-parts.js';
