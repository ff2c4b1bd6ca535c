/**
 * What messages of the packages call an option, and what the command calls it. A test looks for names of options in the
 * messages of all packages that are not here.
 */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/pass safety: false/g, 'pass --no-safety'],
  [/choose onConflict/g, 'choose --on-conflict overwrite or --on-conflict skip'],
  [/use the option scratch: 'inside' \(--scratch inside\)/g, 'pass --scratch inside'],
  [/capture with onUnreadable "omit"/g, 'pass --on-unreadable omit'],
  [/or pass relocate: true/g, 'or open it from a program that relocates it'],
  [/open it with adopt: true/g, 'open it from a program that adopts it'],
  [/; open with drift "record", "keep" or "discard"/g, '; checkpoint it or restore it'],
  [/paths and force are lists/g, '--paths and --force are lists'],
];

/** Puts a message of a package into the words of the command. */
export function commandWords(message: string): string {
  let words = message;
  for (const [phrase, said] of phrases) words = words.replace(phrase, said);
  return words;
}
