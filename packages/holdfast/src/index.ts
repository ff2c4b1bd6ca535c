export { type Local, type OpenLocalOptions, openLocal } from './open-local.js';
