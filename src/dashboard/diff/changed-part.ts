/** @module The difference between two texts: the common beginning and end are split off, at word boundaries. */

/** The text, split into common beginning, changed part and common end. */
export function changedPart(text: string, other: string): readonly [start: string, changed: string, end: string] {
  if (text === other) return [text, '', '']
  const shorter = Math.min(text.length, other.length)
  let start = 0
  while (start < shorter && text[start] === other[start]) start += 1
  let end = 0
  while (end < shorter - start && text[text.length - 1 - end] === other[other.length - 1 - end]) end += 1
  start = wordStart(text, start)
  const from = wordEnd(text, text.length - end)
  return [text.slice(0, start), text.slice(start, from), text.slice(from)]
}

const isWord = (char: string | undefined): boolean => char !== undefined && /[\p{L}\p{N}.]/u.test(char)

function wordStart(text: string, at: number): number {
  let start = at
  while (start > 0 && isWord(text[start - 1]) && (isWord(text[start]) || start === text.length)) start -= 1
  return start
}

function wordEnd(text: string, at: number): number {
  let end = at
  while (end < text.length && isWord(text[end]) && isWord(text[end - 1])) end += 1
  return end
}
