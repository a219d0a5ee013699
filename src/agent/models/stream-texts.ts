/** @module The texts that a stream gives piece by piece: joined to be counted, and to be redacted as a whole. */
import { isJsonObject, type Json } from '../../../schemas/json.ts'
import { leavesOf, withLeaf } from './packed-chunks.ts'

/** Members that providers append to: OpenAI, Anthropic, Ollama, the AI SDK and those who follow them. */
const APPENDED: ReadonlySet<string> = new Set([
  'content',
  'text',
  'delta',
  'response',
  'thinking',
  'reasoning',
  'reasoning_content',
  'refusal',
  'arguments',
  'args',
  'partial_json',
])
/** Members that say which of several texts a piece belongs to. */
const POSITION_MEMBERS: ReadonlySet<string> = new Set([
  'index',
  'content_index',
  'output_index',
  'summary_index',
  'item_id',
  'id',
])

interface Piece {
  readonly chunk: number
  readonly path: readonly string[]
  readonly text: string
}

/** All pieces in order: the model's output so far. */
export function textIn(chunks: readonly Json[]): string {
  return chunks.flatMap((chunk, i) => piecesOf(chunk, i).map(({ text }) => text)).join('')
}

/**
 * Each text is redacted as a whole, since what must go may lie across pieces: where it changes, its first piece holds it all and the
 * others are empty. Then each chunk as it is.
 */
export function redactChunks(chunks: readonly Json[], redact: (value: Json) => Json): Json[] {
  return mergedTexts(chunks, (whole) => {
    const current = redact(whole)
    return current === whole ? undefined : current
  }).map(redact)
}

/** Each text whole in its first piece, the others empty. */
export function joinTexts(chunks: readonly Json[]): Json[] {
  return mergedTexts(chunks, (whole) => whole)
}

/** `merged`: what takes the place of a text; undefined where it stays in its pieces. */
function mergedTexts(chunks: readonly Json[], merged: (whole: string) => Json | undefined): Json[] {
  const changed = structuredClone(chunks) as Json[]
  for (const pieces of textsOf(chunks)) {
    const current = merged(pieces.map(({ text }) => text).join(''))
    if (current === undefined) continue
    for (const [i, { chunk, path }] of pieces.entries()) {
      changed[chunk] = withLeaf(changed[chunk] ?? null, path, i === 0 ? current : '')
    }
  }
  return changed
}

function textsOf(chunks: readonly Json[]): Iterable<Piece[]> {
  const texts = new Map<string, Piece[]>()
  for (const [i, chunk] of chunks.entries()) {
    for (const piece of piecesOf(chunk, i)) {
      const name = nameOf(chunk, piece.path)
      const pieces = texts.get(name) ?? []
      texts.set(name, pieces)
      pieces.push(piece)
    }
  }
  return texts.values()
}

function piecesOf(chunk: Json, i: number): Piece[] {
  return leavesOf(chunk).flatMap(({ path, value }) =>
    typeof value === 'string' && APPENDED.has(path.at(-1) ?? '') ? [{ chunk: i, path, text: value }] : [],
  )
}

/** The path, with what the objects along it say of their place. */
function nameOf(chunk: Json, path: readonly string[]): string {
  const marks: string[] = []
  let value: Json = chunk
  for (const part of path) {
    const members: readonly [string, Json][] = isJsonObject(value) ? Object.entries(value) : []
    marks.push(
      ...members.flatMap(([name, mark]) => (POSITION_MEMBERS.has(name) ? [`${name}=${JSON.stringify(mark)}`] : [])),
    )
    value = (value as { [name: string]: Json })[part] ?? null
  }
  return `${path.join('/')} ${marks.join()}`
}
