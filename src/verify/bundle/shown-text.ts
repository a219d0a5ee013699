/** @module Text that comes from outside, as a terminal may have it. */
import type { Header } from '../../../schemas/header.ts'

/** Controls, marks that turn or hide letters, separators of lines, private and unassigned code points. */
const HIDDEN = /[\p{C}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu
/** Text that comes from outside, without anything that a terminal would obey. */
export const plain = (text: string): string =>
  text.replace(HIDDEN, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
export const shown = (text: unknown): string => plain(JSON.stringify(String(text).slice(0, 100)))
export const place = ({ stream, revision, type }: Pick<Header, 'stream' | 'revision' | 'type'>): string =>
  `${shown(stream)} @ ${Number(revision)} (${shown(type)})`

export const jsonText = (value: unknown): string =>
  JSON.stringify(value).replace(HIDDEN, (found) =>
    [...Array(found.length).keys()].map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )
