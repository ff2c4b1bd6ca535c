/**
 * Ready-made ignore rules in gitignore syntax; none apply unless passed to `ignore`. A rule that is part of a snapshot
 * also protects what it matches: a restore of that snapshot never touches it.
 */
export const ignorePresets: {
  readonly dependencies: readonly string[];
  readonly caches: readonly string[];
  readonly secrets: readonly string[];
} = Object.freeze({
  /** Folders that package managers fill and can fill again. */
  dependencies: Object.freeze(['node_modules/', '.venv/', 'venv/', 'vendor/bundle/', '.gradle/', 'Pods/']),
  /** Results of builds and tools. */
  caches: Object.freeze([
    '.cache/',
    '.turbo/',
    '.next/cache/',
    '__pycache__/',
    '*.py[cod]',
    '.pytest_cache/',
    '.mypy_cache/',
    '.ruff_cache/',
    '.parcel-cache/',
    'target/debug/',
    'target/release/',
  ]),
  /** Files that usually hold credentials. */
  secrets: Object.freeze([
    '.env',
    '.env.*',
    '!.env.example',
    '*.pem',
    '*.key',
    'id_rsa',
    'id_ed25519',
    '.netrc',
  ]),
});
