/** @module Folds saved in the views, under a mac of the ring: a file that anybody can write must not decide anything. Losing one loses nothing. */
import { createHmac } from 'node:crypto'
import { sameText } from '../../signing/same-text.ts'
import type { FoldRow, ViewStore } from '../../store/view-store.ts'
import type { Sealer } from './sealer.ts'

export interface SealedFolds {
  readonly sealer: Sealer
  /** Absent where nothing is saved. */
  readonly views?: Pick<ViewStore, 'loadFold' | 'saveFold'> | undefined
}

export interface FoldPlace {
  readonly tenant: string
  readonly stream: string
  readonly projection: string
  /** What the mac is over, before the text: says what kind of fold it is. */
  readonly prefix: string
}

/** What `parse` makes of the fold; undefined where there is none that is whole, a key of the ring vouches for, and `parse` takes. */
export function loadSealedFold<T>(
  { sealer, views }: SealedFolds,
  place: FoldPlace,
  parse: (row: FoldRow) => T | undefined,
): T | undefined {
  return orNothing(() => {
    const row = views?.loadFold(place.stream, place.projection)
    if (row === undefined) return undefined
    const dot = row.mac.lastIndexOf('.')
    const mac = macOf(sealer, place, { kid: row.mac.slice(0, dot), text: row.text })
    return mac !== undefined && sameText(row.mac.slice(dot + 1), mac) ? parse(row) : undefined
  })
}

/** False where no key seals it. Views that cannot take it cost time at the next load, and nothing else. */
export function saveSealedFold(
  { sealer, views }: SealedFolds,
  place: FoldPlace,
  { revision, text }: Pick<FoldRow, 'revision' | 'text'>,
): boolean {
  const { kid } = sealer
  const mac = macOf(sealer, place, { kid, text })
  if (mac === undefined) return false
  const { stream, projection } = place
  orNothing(() => views?.saveFold({ stream, revision, projection, text, mac: `${kid}.${mac}` }))
  return true
}

function macOf(
  sealer: Sealer,
  { tenant, stream, prefix }: FoldPlace,
  { kid, text }: { readonly kid: string; readonly text: string },
): string | undefined {
  const key = sealer.keyOf(kid, tenant, stream)
  return key && createHmac('sha256', key).update(prefix).update(text).digest('base64url')
}

function orNothing<T>(use: () => T): T | undefined {
  try {
    return use()
  } catch {
    return undefined
  }
}
