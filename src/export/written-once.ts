/** @module A cache of texts that many lines have in common, such as those of a run or an actor. */

/** Limit of the cache; when it is reached, all texts are dropped. */
const TEXTS_MAX = 1_000
/** Longer names are not cached: a name from a body may have any length. */
const NAME_MAX_CHARS = 256

/** `write`, cached by name. */
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

/** JSON of a text that needs no escape, such as an id or a digest of an event with a valid seal, whose format was checked. */
export function inQuotes(text: string): string {
  return `"${text}"`
}
