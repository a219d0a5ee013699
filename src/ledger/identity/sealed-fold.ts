/**
 * @module Saves folds in the views under a MAC of the key ring, because a file that others can write must not decide anything. A lost fold costs only
 * time.
 */
import { createHmac } from 'node:crypto'
import { sameText } from '../../signing/same-text.ts'
import type { FoldRow, ViewStore } from '../../store/view-store.ts'
import type { Sealer } from './sealer.ts'

export interface SealedFolds {
  readonly sealer: Sealer
  /** Absent if nothing is saved. */
  readonly views?: Pick<ViewStore, 'loadFold' | 'saveFold'> | undefined
}

export interface FoldPlace {
  readonly tenant: string
  readonly stream: string
  readonly projection: string
  /** Text that the MAC covers before the fold; it identifies the kind of fold. */
  readonly prefix: string
}

/** The parsed fold; undefined if there is none that is intact, has a valid MAC of the ring, and is accepted by `parse`. */
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

/** False if there is no key for the MAC. If the views cannot save the fold, only the next load takes longer. */
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
