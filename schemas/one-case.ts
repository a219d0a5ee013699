/** @module What is compared by a part of it, in any case: names in lists of runs and in audit queries, and whatever else is found by what somebody remembers of it. */

/** One form of a character, and one case of it: `ﬁ` is found by `FI`. */
export function inOneCase(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

/** Whether a text has the part in it, in any case. Nothing in the part has a meaning of its own: `%`, `_` and `*` are characters like others. */
export function hasPart(text: string, part: string): boolean {
  return inOneCase(text).includes(inOneCase(part))
}
