/** @module Scopes by name. */
import { joined, type Place } from './place.ts'

/** The same name again is another place: counted when it is asked for. */
export function scopeBelow(place: Place, name: string): string {
  const path = joined(place.scope, name)
  const count = place.session.occurrence(place.scope, `scope ${name}`)
  return count === 0 ? path : `${path}#${count + 1}`
}
