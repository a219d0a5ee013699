/** @module Parses a regular expression (ECMAScript, flag `u`) into a tree; character classes are delegated to the engine. */
import { spend, type Work } from './work.ts'

/** Whether the atom matches one code point. */
export type Atom = (codePoint: number) => boolean

export type PatternNode =
  | { readonly kind: 'atom'; readonly atom: Atom }
  | { readonly kind: 'assert'; readonly assertion: '^' | '$' | '\\b' | '\\B' }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'either'; readonly options: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly body: PatternNode; readonly min: number; readonly max: number }

/** Maximum length of a pattern, in UTF-16 code units. */
const PATTERN_MAX_CHARS = 4096
/** Steps for compiling a class in the engine, and for each property (`\\p{...}`) in it. */
const CLASS_STEPS = 2_000
const PROPERTY_STEPS = 30_000
/** Maximum nesting of groups; the parser recurses once per group. */
const GROUPS_MAX_DEPTH = 100

/** Atoms by their source text, shared by patterns that are compiled together. */
export type Atoms = Map<string, Atom>

interface Making {
  readonly work: Work
  readonly atoms: Atoms
}

interface Reader extends Making {
  readonly source: string
  at: number
  depth: number
}

/** Throws `SyntaxError`, with a message for the author of the pattern, and `WorkExhausted`. */
export function parsePattern(source: string, making: Making): PatternNode {
  if (source.length > PATTERN_MAX_CHARS) throw new SyntaxError(`a pattern has at most ${PATTERN_MAX_CHARS} characters`)
  // The engine checks the syntax first, so the parser below reads only well-formed patterns.
  new RegExp(source, 'u')
  spend(making.work, source.length)
  return readOptions({ ...making, source, at: 0, depth: 0 })
}

function readOptions(reader: Reader): PatternNode {
  const options = [readSequence(reader)]
  while (reader.source[reader.at] === '|') {
    reader.at += 1
    options.push(readSequence(reader))
  }
  return options.length === 1 ? (options[0] as PatternNode) : { kind: 'either', options }
}

function readSequence(reader: Reader): PatternNode {
  const parts: PatternNode[] = []
  for (let next = reader.source[reader.at]; next !== undefined && next !== '|' && next !== ')'; ) {
    parts.push(readQuantifier(reader, readTerm(reader, next)))
    next = reader.source[reader.at]
  }
  return { kind: 'sequence', parts }
}

function readTerm(reader: Reader, next: string): PatternNode {
  if (next === '(') return readGroup(reader)
  if (next === '^' || next === '$') {
    reader.at += 1
    return { kind: 'assert', assertion: next }
  }
  const text = take(
    reader,
    /\[(?:\\.|[^\]\\])*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|x..|c.|k<|.)|./suy,
  )
  if (text === '\\b' || text === '\\B') return { kind: 'assert', assertion: text }
  if (/^\\(?:[1-9]|k<)/.test(text)) throw new SyntaxError('back-references are not taken in a pattern')
  return { kind: 'atom', atom: atomOf(text, reader) }
}

function readGroup(reader: Reader): PatternNode {
  const opening = take(reader, /\((?:\?(?:<?[=!]|<[^>]*>|:|.))?/suy)
  if (!/^\((?:\?:|\?<[^=!]|$)/u.test(opening)) throw new SyntaxError('look-around and flags are not taken in a pattern')
  reader.depth += 1
  if (reader.depth > GROUPS_MAX_DEPTH) throw new SyntaxError(`a pattern nests at most ${GROUPS_MAX_DEPTH} groups`)
  const group = readOptions(reader)
  reader.depth -= 1
  reader.at += 1
  return group
}

const BOUNDS: Readonly<Record<string, readonly [min: number, max: number]>> = {
  '*': [0, Number.POSITIVE_INFINITY],
  '+': [1, Number.POSITIVE_INFINITY],
  '?': [0, 1],
}

/** A lazy quantifier is read as a greedy one; the difference does not matter for whether a pattern occurs. */
function readQuantifier(reader: Reader, body: PatternNode): PatternNode {
  const match = matchAt(reader, /(?:([*+?])|\{(\d+)(,(\d*))?\})\??/suy)
  if (match === null) return body
  reader.at += match[0].length
  const [min, max] = BOUNDS[match[1] ?? ''] ?? boundsOf(match)
  return { kind: 'repeat', body, min, max }
}

function boundsOf([, , least, more, most]: RegExpExecArray): readonly [min: number, max: number] {
  const min = Number(least)
  if (more === undefined) return [min, min]
  return [min, most === undefined || most === '' ? Number.POSITIVE_INFINITY : Number(most)]
}

function atomOf(text: string, { work, atoms }: Making): Atom {
  const known = atoms.get(text)
  if (known !== undefined) return known
  const isLiteral = !/^[\\[.]/.test(text)
  const atom = isLiteral ? literal(text) : engineClass(text, work)
  atoms.set(text, atom)
  return atom
}

function literal(text: string): Atom {
  const only = text.codePointAt(0)
  return (code) => code === only
}

/** A single-character match in the engine takes constant time; the results for ASCII are precomputed. */
function engineClass(text: string, work: Work): Atom {
  spend(work, CLASS_STEPS + text.length + PROPERTY_STEPS * (text.match(/\\p\{/gi)?.length ?? 0))
  const one = new RegExp(`^(?:${text})$`, 'u')
  const ascii = Array.from({ length: 128 }, (_, code) => one.test(String.fromCharCode(code)))
  return (code) => (code < 128 ? ascii[code] === true : one.test(String.fromCodePoint(code)))
}

function take(reader: Reader, what: RegExp): string {
  const text = matchAt(reader, what)?.[0] ?? ''
  if (text === '') throw new SyntaxError('the pattern cannot be read')
  reader.at += text.length
  return text
}

function matchAt(reader: Reader, what: RegExp): RegExpExecArray | null {
  what.lastIndex = reader.at
  return what.exec(reader.source)
}
