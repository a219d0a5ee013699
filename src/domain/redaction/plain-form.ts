/** @module The visible form of a text: without invisible characters, and with look-alike characters replaced by their plain equivalents. */
import { normalForm } from '../../../schemas/normal-form.ts'
import type { Yielding } from '../yielding.ts'
import { BLOCK_CHARS, type TextSteps } from './text-steps.ts'

const PLAIN = /^[\x20-\x7e\s]*$/
/** Characters that may combine with the one before: marks, later parts of Hangul and of Kirat Rai letters, half-width forms, low surrogates. */
const COMBINES = /^[\p{M}\u1160-\u11ff\u3131-\u318e\uff9e-\uffdc\u{16d63}-\u{16d6a}\udc00-\udfff]/u
const NOT_SEEN = /[\p{Cf}\p{Cc}]/gu
/** Cost of normalising one character, in characters read. */
const NORMAL_CHARS = 8

/** The text in NFKC (for example full-width digits as digits) without invisible characters; undefined if that changes nothing or exceeds `maxChars`. */
export function* plainForm(text: string, maxChars: number, steps: TextSteps): Yielding<string | undefined> {
  if (yield* isPlain(text, steps)) return undefined
  const blocks: string[] = []
  let chars = 0
  for (let from = 0; from < text.length; ) {
    const to = blockEnd(text, from)
    const block = normalForm('NFKC', text.slice(from, to)).replaceAll(NOT_SEEN, '')
    chars += block.length
    if (chars > maxChars) return undefined
    blocks.push(block)
    steps.read((to - from) * NORMAL_CHARS)
    from = to
    if (steps.due()) yield
  }
  const plain = blocks.join('')
  return plain === text ? undefined : plain
}

function* isPlain(text: string, steps: TextSteps): Yielding<boolean> {
  for (let at = 0; at < text.length; at += BLOCK_CHARS) {
    const block = text.slice(at, at + BLOCK_CHARS)
    if (!PLAIN.test(block)) return false
    steps.read(block.length)
    if (steps.due()) yield
  }
  return true
}

/** An end position for a block, such that the block normalises to the same text alone as within the whole text. */
export function blockEnd(text: string, from: number): number {
  const end = from + BLOCK_CHARS
  if (end >= text.length) return text.length
  for (let at = end; at > from + BLOCK_CHARS / 2; at -= 1) {
    if (!COMBINES.test(text.slice(at, at + 2))) return at
  }
  const code = text.charCodeAt(end)
  return code >= 0xdc00 && code <= 0xdfff ? end - 1 : end
}
