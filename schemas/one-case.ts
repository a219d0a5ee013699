/** @module Case-insensitive matching of parts of names, in lists of runs, audit queries and other searches. */

/** A text in NFKC and lower case, so that `ﬁ` is found by `FI`. */
export function inOneCase(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

/** Whether a text contains the part, ignoring case. The part is literal: `%`, `_` and `*` have no special meaning. */
export function hasPart(text: string, part: string): boolean {
  return inOneCase(text).includes(inOneCase(part))
}
