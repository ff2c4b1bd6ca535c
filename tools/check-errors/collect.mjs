import { readFileSync } from 'node:fs';
import path from 'node:path';

import ts from 'typescript';

import { listFiles } from '../shared/workspace.mjs';

/**
 * @typedef {object} ErrorField
 * @property {string} name
 * @property {string} type As written, with aliases of literal unions expanded.
 * @property {string} doc
 */

/**
 * @typedef {object} ErrorClassInfo
 * @property {string} package Directory name of the package.
 * @property {string} file Path below the package.
 * @property {string} className
 * @property {string} code
 * @property {string} doc The documentation comment as one paragraph.
 * @property {ErrorField[]} fields
 */

/**
 * Reads the error classes of a package from its sources: every class with a non-empty static `code`.
 * @param {import('../shared/workspace.mjs').WorkspacePackage} item
 * @returns {ErrorClassInfo[]}
 */
export function collectErrorClasses(item) {
  const files = listFiles(path.join(item.path, 'src'), (file) => file.endsWith('.ts'));
  const sources = files.map((file) => {
    const name = `src/${file}`;
    return ts.createSourceFile(
      name,
      readFileSync(path.join(item.path, name), 'utf8'),
      ts.ScriptTarget.ES2023,
      true,
    );
  });
  const aliases = collectLiteralAliases(sources);
  return sources.flatMap((source) => {
    /** @type {ErrorClassInfo[]} */
    const found = [];
    for (const statement of source.statements) {
      if (!ts.isClassDeclaration(statement) || statement.name === undefined) continue;
      const code = staticCode(statement);
      if (code === undefined || code === '') continue;
      found.push({
        package: item.directory,
        file: source.fileName,
        className: statement.name.text,
        code,
        doc: documentation(statement),
        fields: declaredFields(statement, source, aliases),
      });
    }
    return found;
  });
}

/**
 * @param {ts.ClassDeclaration} declaration
 * @returns {string | undefined}
 */
function staticCode(declaration) {
  for (const member of declaration.members) {
    if (!ts.isPropertyDeclaration(member) || member.name.getText() !== 'code') continue;
    const isStatic =
      member.modifiers?.some((modifier) => modifier.kind === ts.SyntaxKind.StaticKeyword) ?? false;
    let value = member.initializer;
    if (value !== undefined && ts.isAsExpression(value)) value = value.expression;
    if (isStatic && value !== undefined && ts.isStringLiteral(value)) return value.text;
  }
  return undefined;
}

/**
 * @param {ts.Node} node
 * @returns {string}
 */
function documentation(node) {
  const comments = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  const text = ts.getTextOfJSDocComment(comments.at(-1)?.comment) ?? '';
  return text.replace(/\s+/g, ' ').trim();
}

/**
 * @param {ts.ClassDeclaration} declaration
 * @param {ts.SourceFile} source
 * @param {Map<string, string>} aliases
 * @returns {ErrorField[]}
 */
function declaredFields(declaration, source, aliases) {
  return declaration.members.filter(ts.isPropertyDeclaration).flatMap((member) => {
    const name = member.name.getText(source);
    const isDeclared =
      member.modifiers?.some((modifier) => modifier.kind === ts.SyntaxKind.DeclareKeyword) ?? false;
    if (!isDeclared || name === 'code' || name === 'cause' || member.type === undefined) return [];
    const written = member.type.getText(source).replace(/\s+/g, ' ').replace(/^\| /, '');
    const type = written.replaceAll(/[A-Za-z_$][\w$]*/g, (word) => aliases.get(word) ?? word);
    return [{ name, type, doc: documentation(member) }];
  });
}

/**
 * Aliases of unions of string literals in the package, so that the reader sees the values of a `kind`.
 * @param {ts.SourceFile[]} sources
 * @returns {Map<string, string>}
 */
function collectLiteralAliases(sources) {
  /** @type {Map<string, string>} */
  const aliases = new Map();
  for (const source of sources) {
    for (const statement of source.statements) {
      if (!ts.isTypeAliasDeclaration(statement)) continue;
      const members = ts.isUnionTypeNode(statement.type) ? statement.type.types : [statement.type];
      if (!members.every((member) => ts.isLiteralTypeNode(member) && ts.isStringLiteral(member.literal)))
        continue;
      aliases.set(statement.name.text, members.map((member) => member.getText(source)).join(' | '));
    }
  }
  return aliases;
}
