/** @module Scopes by name. */
import { type ExecutionContext, joined } from './execution-context.ts'

/** The same name again is another place: counted when it is requested. */
export function scopeBelow(execution: ExecutionContext, name: string): string {
  const path = joined(execution.scope, name)
  const count = execution.session.occurrence(execution.scope, `scope ${name}`)
  return count === 0 ? path : `${path}#${count + 1}`
}
