/** @module Counts tokens: with the author's counter, otherwise with `gpt-tokenizer` if it is installed, otherwise with a named estimate. */
import { AgentError } from '../errors.ts'

/** Returns the number of tokens of a text: a whole number from 0, otherwise `invalid-token-count` is thrown. */
export type CountTokens = (text: string) => number

export interface TokenCounter {
  /** Reported with every count: `custom`, `gpt-tokenizer o200k_base`, or `UTF-8 bytes / 4`. */
  readonly name: string
  readonly count: CountTokens
}

/** English prose and JSON have about four bytes per token. */
const BYTES_PER_TOKEN = 4

/** Loaded at the first count, because the tables of `gpt-tokenizer` take a quarter of a second. */
export function tokenCounter(own?: CountTokens): () => Promise<TokenCounter> {
  let loaded: Promise<TokenCounter> | undefined
  return () => {
    loaded ??= own === undefined ? loadGptTokenizer() : Promise.resolve({ name: 'custom', count: checked(own) })
    return loaded
  }
}

async function loadGptTokenizer(): Promise<TokenCounter> {
  try {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
    if (typeof countTokens !== 'function') return bytesCounter()
    // An agent's output is plain text, even if it looks like a control token.
    const asText = { disallowedSpecial: new Set<string>() }
    const count = (text: string): number => piecesOf(text).reduce((sum, piece) => sum + countTokens(piece, asText), 0)
    return { name: 'gpt-tokenizer o200k_base', count }
  } catch {
    return bytesCounter()
  }
}

export function bytesCounter(): TokenCounter {
  const count = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
  return { name: 'UTF-8 bytes / 4', count }
}

/** Longer runs without a boundary are cut, because merging one takes quadratic time (measured: 80,000 letters, 13 s). */
const RUN_CHARS = 400
const LONG_RUN = new RegExp(`\\S{${RUN_CHARS}}|\\s{${RUN_CHARS}}`, 'gu')

function piecesOf(text: string): string[] {
  const pieces: string[] = []
  let from = 0
  for (const { index, 0: run } of text.matchAll(LONG_RUN)) {
    pieces.push(text.slice(from, index + run.length))
    from = index + run.length
  }
  return [...pieces, text.slice(from)]
}

function checked(own: CountTokens): CountTokens {
  return (text) => {
    const tokens = own(text)
    if (Number.isSafeInteger(tokens) && tokens >= 0) return tokens
    throw new AgentError('invalid-token-count', `the token counter gave ${tokens}: a whole number from 0 is needed`)
  }
}
