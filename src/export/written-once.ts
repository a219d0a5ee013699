/** @module Texts that many lines have in common, such as those of a run or an actor: each is written once, while it keeps coming. */

/** Beyond them all are forgotten: what comes again is written again. */
const TEXTS_MAX = 1_000
/** A name that is longer is not remembered: what a body says may be of any length. */
const NAME_MAX_CHARS = 256

/** `write`, which is not called again for a name that is remembered. */
export function writtenOnce<T>(write: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>()
  return (name) => {
    const found = known.get(name)
    if (found !== undefined) return found
    const made = write(name)
    if (name.length > NAME_MAX_CHARS) return made
    if (known.size >= TEXTS_MAX) known.clear()
    known.set(name, made)
    return made
  }
}

/** JSON of a text that needs no escape, such as an id or a digest of an event whose seal fits: its form was checked with it. */
export function inQuotes(text: string): string {
  return `"${text}"`
}
