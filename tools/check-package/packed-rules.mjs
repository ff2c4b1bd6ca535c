/** @typedef {import('../shared/workspace.mjs').Manifest} Manifest */

const expectedFiles = [
  /^package\.json$/,
  /^README\.md$/,
  /^LICENSE$/,
  /^CHANGELOG\.md$/,
  /^bin\/[^/]+\.js$/,
  /^src\/.+\.ts$/,
  // Golden vectors of a format are for whoever implements it again.
  /^vectors\/.+\.(json|bin|py)$/,
  /^dist\/.+\.(js|js\.map|d\.ts|d\.ts\.map)$/,
];

/**
 * Checks the list of files and the manifest of a packed package.
 * @param {string} name
 * @param {readonly string[]} files
 * @param {Manifest & Record<string, unknown>} manifest As packed.
 * @returns {string[]}
 */
export function checkPacked(name, files, manifest) {
  /** @type {string[]} */
  const problems = [];
  const present = new Set(files);
  for (const file of ['package.json', 'README.md', 'LICENSE']) {
    if (!present.has(file)) problems.push(`${name}: ${file} is missing`);
  }
  for (const file of files) {
    if (!expectedFiles.some((pattern) => pattern.test(file)) || file.includes('.test.')) {
      problems.push(`${name}: ${file} does not belong into a package`);
    }
    const built = /^dist\/(.+?)(?:\.d\.ts|\.js)(?:\.map)?$/.exec(file);
    if (built !== null && !present.has(`src/${built[1]}.ts`)) {
      problems.push(`${name}: ${file} has no source any more: remove packages/*/dist and build again`);
    }
  }
  for (const target of targetsOf({
    exports: manifest.exports,
    imports: manifest.imports,
    bin: manifest.bin,
  })) {
    if (!present.has(target.replace(/^\.\//, '')))
      problems.push(`${name}: ${target} is named and not packed`);
  }
  const text = JSON.stringify(manifest);
  if (text.includes('workspace:')) problems.push(`${name}: a workspace range is left in the packed manifest`);
  if (text.includes('@holdfast/source'))
    problems.push(`${name}: the source condition is left in the packed manifest`);
  for (const field of ['preinstall', 'install', 'postinstall', 'prepare']) {
    if (manifest.scripts?.[field] !== undefined)
      problems.push(`${name}: script ${field} would run at the user's`);
  }
  return problems;
}

/**
 * Every relative path that a manifest field names.
 * @param {unknown} value
 * @returns {string[]}
 */
function targetsOf(value) {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(targetsOf);
}
