/** @module Since which event each value of the context stands: a tree that holds the places that have changed, and nothing else. */
import { isEqual } from '../../../../projections/json-equality.ts'
import type { Json } from '../../../../schemas/json.ts'
import type { Token } from '../../../../schemas/json-pointer.ts'

export interface Since {
  readonly revision: number
  readonly below?: { readonly [key: string]: Since }
}

export const SINCE_START: Since = { revision: -1 }

/** The tree after a change of the context at an event. */
export function sinceAfter(since: Since, [before, after]: readonly [Json, Json], revision: number): Since {
  if (isEqual(before, after)) return since
  if (!isContainer(before) || !isContainer(after) || Array.isArray(before) !== Array.isArray(after)) return { revision }
  const below: { [key: string]: Since } = Object.create(null)
  for (const key of Object.keys(after)) {
    const known = childOf(since, key) ?? { revision: since.revision }
    const now = Object.hasOwn(before, key)
      ? sinceAfter(known, [before[key] as Json, after[key] as Json], revision)
      : { revision }
    if (now.revision !== since.revision || now.below !== undefined) below[key] = now
  }
  return { revision: since.revision, below }
}

export function sinceAt(since: Since, place: readonly Token[]): number {
  let here = since
  for (const token of place) {
    const next = childOf(here, `${token}`)
    if (next === undefined) break
    here = next
  }
  return here.revision
}

function isContainer(value: Json): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null
}

/** Of a tree that was loaded, too: a key may be called as a member that every object has. */
function childOf({ below }: Since, key: string): Since | undefined {
  return below !== undefined && Object.hasOwn(below, key) ? below[key] : undefined
}
