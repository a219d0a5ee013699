/**
 * @module Text from a record as parts that are safe to display: characters that hide, reorder or break text are shown by name instead of taking effect. HTML
 * is escaped by the renderer; this module is about the displayed text.
 */

export type TextPart = { readonly kind: 'text' | 'mark'; readonly text: string; readonly title?: string }

const NAMES: Readonly<Record<number, string>> = {
  0: 'NUL',
  8: 'BACKSPACE',
  13: 'CARRIAGE RETURN',
  27: 'ESCAPE',
  127: 'DELETE',
  173: 'SOFT HYPHEN',
  1564: 'ARABIC LETTER MARK',
  8203: 'ZERO WIDTH SPACE',
  8204: 'ZERO WIDTH NON-JOINER',
  8205: 'ZERO WIDTH JOINER',
  8206: 'LEFT-TO-RIGHT MARK',
  8207: 'RIGHT-TO-LEFT MARK',
  8232: 'LINE SEPARATOR',
  8233: 'PARAGRAPH SEPARATOR',
  8234: 'LEFT-TO-RIGHT EMBEDDING',
  8235: 'RIGHT-TO-LEFT EMBEDDING',
  8236: 'POP DIRECTIONAL FORMATTING',
  8237: 'LEFT-TO-RIGHT OVERRIDE',
  8238: 'RIGHT-TO-LEFT OVERRIDE',
  8288: 'WORD JOINER',
  8294: 'LEFT-TO-RIGHT ISOLATE',
  8295: 'RIGHT-TO-LEFT ISOLATE',
  8296: 'FIRST STRONG ISOLATE',
  8297: 'POP DIRECTIONAL ISOLATE',
  65279: 'BYTE ORDER MARK',
}

/** Control characters except line feed and tab, format characters (bidi, zero width, tags), and separators that break a line. */
const HIDDEN = /[^\P{Cc}\n\t]|\p{Cf}|[\u2028\u2029\u115f\u1160\u3164\uffa0]|\p{Co}|[\ufe00-\ufe0e]/gu

export function visibleParts(text: string): readonly TextPart[] {
  const parts: TextPart[] = []
  let end = 0
  for (const { 0: found, index } of text.matchAll(HIDDEN)) {
    if (index > end) parts.push({ kind: 'text', text: text.slice(end, index) })
    parts.push(mark(found.codePointAt(0) ?? 0))
    end = index + found.length
  }
  if (end < text.length) parts.push({ kind: 'text', text: text.slice(end) })
  return parts
}

function mark(code: number): TextPart {
  const point = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  return { kind: 'mark', text: point, title: NAMES[code] ?? 'invisible character' }
}

/** The text with invisible characters named in brackets, as plain text for attributes. */
export function visibleText(text: string): string {
  return visibleParts(text)
    .map((part) => (part.kind === 'text' ? part.text : `[${part.text}]`))
    .join('')
}

/** At most `max` characters; a longer text ends in an ellipsis. */
export function clipped(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}\u2026`
}
