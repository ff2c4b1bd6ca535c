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
  [/is not in this store$/, 'is not in this home; --home or HOLDFAST_HOME names another one'],
  [
    /a ref is "v1:sha256:" and 64 lower-case hex digits$/,
    'a ref is "v1:sha256:" and 64 lower-case hex digits, and its first 8 digits or more will do',
  ],
  [/: create it, or list the sessions there are$/, ': holdfast session list shows the sessions of this home'],
  [
    /is not 8 to 64 characters of a-z, 0-9 and "-" that begin with a letter or digit$/,
    '$&; holdfast session list shows ids, and the first 8 characters or more of one will do',
  ],
  [/; give more characters$/, '; give more characters, holdfast session list shows them all'],
  [/it names no ended turn and no event with files$/, '$&; holdfast session log shows turns and events'],
  [
    /(\(session "([^"]+)".*): end that session, or use another root$/,
    '$1: holdfast session checkpoint $2, and session restore $2 REF, ask that session; or end it, or use another root',
  ],
  [/: end that session, or use another root$/, ': wait for that process or end it, or use another root'],
];

/** Puts a message of a package into the words of the command. */
export function commandWords(message: string): string {
  let words = message;
  for (const [phrase, said] of phrases) words = words.replace(phrase, said);
  return words;
}
