/** @module The declaration offered with the finding on a refused or suspect place, as an entry for `moves` (JUD-46). */
import type { Finding } from '../../../../schemas/finding.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { formatPointer, type Token, valueAt } from '../../../../schemas/json-pointer.ts'
import type { Move } from '../../../../schemas/place-policy.ts'
import type { Change } from '../established/changes.ts'
import { isLater } from '../established/moves.ts'
import { type DeclarationRights, declarationFault } from './declarations.ts'
import { hasLikeMembers } from './learn.ts'

/** The entry for all similar members if the agent may declare that, else for this place alone; undefined if the agent may declare neither. */
export function offerFor(
  { kind, place, before, after }: Change,
  rights: DeclarationRights,
  known: Map<string, boolean>,
): Finding['declare'] {
  const isOffered = (path: string, as: Move['as']): boolean => {
    const name = `${as} ${path}`
    const isPermitted = known.get(name) ?? declarationFault({ path, as, reason: 'offered' }, rights) === undefined
    known.set(name, isPermitted)
    return isPermitted
  }
  if (kind !== 'changed' || after === undefined) return undefined
  const paths = [...new Set([generalPath(rights.before, place), formatPointer(place)])]
  for (const as of kindsOf(before, after)) {
    const path = paths.find((each) => isOffered(each, as))
    if (path !== undefined) return { path, as, reason: '' }
  }
  return undefined
}

/** The kinds that the change fits, the narrowest first. */
function kindsOf(before: Json, after: Json): readonly Move['as'][] {
  if (before === false && after === true) return ['done']
  if (typeof before === 'number' && typeof after === 'number')
    return after > before ? ['counter', 'gauge', 'cursor'] : ['gauge', 'cursor']
  if (typeof before === 'string' && typeof after === 'string')
    return isLater(before, after) ? ['clock', 'cursor'] : ['cursor']
  return typeof before === 'object' || typeof after === 'object' ? [] : ['cursor']
}

/** The path with `*` for a member of a list, or of a map whose members all have the same keys. */
function generalPath(document: JsonObject, place: readonly Token[]): string {
  let value: Json | undefined = document
  const tokens = place.map((token, depth) => {
    const holder = value
    value = holder === undefined ? undefined : valueAt(holder, [`${token}`])
    return depth > 0 && depth < place.length - 1 && isCollection(holder) ? '*' : token
  })
  return formatPointer(tokens)
}

function isCollection(holder: Json | undefined): boolean {
  return Array.isArray(holder) || (holder !== undefined && isJsonObject(holder) && hasLikeMembers(holder))
}
