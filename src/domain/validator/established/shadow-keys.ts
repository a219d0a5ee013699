/** @module Keys that a reader could confuse: `Allergies` and `allergies`, `auto-renewal` and `auto_renewal`, or a Cyrillic letter in a Latin word. */
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { placeKind } from '../meaning/place-kind.ts'
import { isSameScalar } from '../meaning/scalars.ts'
import { type Signatures, signatureOf } from '../meaning/signature.ts'

const KEY_MAX_CHARS = 256
const PLAIN = /^[a-z]*$/
const WORDS = /^[a-z_]*$/
/** Letters that look like Latin ones; the Latin letters follow in the same order. */
const LOOKALIKES = 'аеорсухіјѕһӏԁԛԝкмнтвзгαοερντικχυ'
const LATIN = 'aeopcyxijshldqwkmhtb3raoepvtikxu'
const CONFUSABLE: ReadonlyMap<string, string> = new Map([...LOOKALIKES].map((letter, i) => [letter, LATIN.charAt(i)]))

export interface Shadow {
  readonly key: string
  readonly gainedKey: string
}

/** New keys of `b` that fold to the same text as a key of `a`, but have another value. */
export function shadowedBy(
  a: JsonObject,
  b: JsonObject,
  gained: readonly string[],
  known: Signatures,
): readonly Shadow[] {
  const names = new Map<string, string>()
  for (const key of Object.keys(a)) names.set(foldKey(key), key)
  const shadows: Shadow[] = []
  for (const gainedKey of gained) {
    const key = names.get(foldKey(gainedKey))
    if (key !== undefined && a[key] !== null && saysElse([a[key] as Json, b[gainedKey] as Json], key, known)) {
      shadows.push({ key, gainedKey })
    }
  }
  return shadows
}

function saysElse([a, b]: readonly [Json, Json], key: string, known: Signatures): boolean {
  const kind = placeKind(key, false)
  if (typeof a !== 'object' && typeof b !== 'object') return !isSameScalar(a, b, kind)
  return signatureOf(a, kind, known) !== signatureOf(b, kind, known)
}

/** NFKC, lower case, without white space, `_`, `-` and invisible characters. A separator between digits is kept as `/`: `2024-1-12` is not `2024-11-2`. */
export function foldKey(key: string): string {
  if (PLAIN.test(key) || key.length > KEY_MAX_CHARS) return key
  if (WORDS.test(key)) return key.replaceAll('_', '')
  const folded = key
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\p{Cf}/gu, '')
    .replace(/(\d)[\s_-]+(?=\d)/g, '$1/')
    .replace(/[\s_-]+/g, '')
  return folded.replace(/[\u0370-\u052f]/g, (letter) => CONFUSABLE.get(letter) ?? letter)
}
