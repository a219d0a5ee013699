/** @module The texts that a stream delivers in pieces, joined for counting and for redaction as a whole. */
import { isJsonObject, type Json } from '../../../schemas/json.ts'
import { leavesOf, withLeaf } from './packed-chunks.ts'

/** Members that providers stream in pieces: OpenAI, Anthropic, Ollama, the AI SDK and compatible ones. */
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
/** Members that identify which of several texts a piece belongs to. */
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
 * Redacts each text as a whole, because sensitive data may span several pieces: a changed text is put into its first piece, and its other pieces become empty.
 * Then each chunk is redacted.
 */
export function redactChunks(chunks: readonly Json[], redact: (value: Json) => Json): Json[] {
  return mergedTexts(chunks, (whole) => {
    const current = redact(whole)
    return current === whole ? undefined : current
  }).map(redact)
}

/** Moves each text into its first piece; its other pieces become empty. */
export function joinTexts(chunks: readonly Json[]): Json[] {
  return mergedTexts(chunks, (whole) => whole)
}

/** `merged` returns the replacement of a text, or undefined to leave it in its pieces. */
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

/** The path, with the position members of the objects along it. */
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
