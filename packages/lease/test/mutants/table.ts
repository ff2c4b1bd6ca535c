import { holdingMutants } from './holding.js';
import type { MutantRow } from './reference.js';
import { sharingMutants } from './sharing.js';

/** Deliberately wrong adapters. Every clause of the contract must be the killer of at least one of them. */
export const mutants: readonly MutantRow[] = [...holdingMutants, ...sharingMutants];
