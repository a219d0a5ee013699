/** @module Whether a text that is written anew still says the values of its context, and denies no more and no less (kind `text` of JUD-44). */
import type { Json, JsonObject } from '../../../../schemas/json.ts'

/** Values of a context that are looked for in a text. */
const VALUES_MAX = 20_000
/** Of a value that says something by itself: an id, a name, a number of two digits. */
const VALUE_MIN_CHARS = 2

const NEGATION = /(?:^|[^\p{L}])(?:not|no|never|none|neither|nor|cannot|without|\p{L}+n[’']t)(?![\p{L}])/giu
const WORD = /[\p{L}\p{N}]+/gu
const WORD_PART = /[\p{L}\p{N}]/u

interface Value {
  readonly text: string
  readonly firstWord: string
}

const known = new WeakMap<JsonObject, readonly Value[]>()

/** `context`: the established one, in which the text stands as well. */
export function keepsProse(before: string, after: string, context: JsonObject): boolean {
  if ((before.match(NEGATION)?.length ?? 0) !== (after.match(NEGATION)?.length ?? 0)) return false
  const words = new Set(before.match(WORD))
  const values = known.get(context) ?? valuesIn(context)
  known.set(context, values)
  return values.every(
    ({ text, firstWord }) => !words.has(firstWord) || text === before || !says(before, text) || says(after, text),
  )
}

/** Numbers and texts of a context, each once. */
function valuesIn(context: JsonObject): readonly Value[] {
  const texts = new Set<string>()
  const waiting: Json[] = [context]
  for (let value = waiting.pop(); value !== undefined && texts.size < VALUES_MAX; value = waiting.pop()) {
    if (typeof value === 'object' && value !== null)
      for (const member of Object.values(value)) waiting.push(member as Json)
    else if (typeof value === 'string' || typeof value === 'number') texts.add(`${value}`)
  }
  return [...texts].flatMap((text) => {
    const firstWord = text.length < VALUE_MIN_CHARS ? undefined : text.match(WORD)?.[0]
    return firstWord === undefined ? [] : [{ text, firstWord }]
  })
}

/** As whole words. */
function says(prose: string, value: string): boolean {
  for (let at = prose.indexOf(value); at >= 0; at = prose.indexOf(value, at + 1)) {
    if (!WORD_PART.test(prose[at - 1] ?? ' ') && !WORD_PART.test(prose[at + value.length] ?? ' ')) return true
  }
  return false
}
