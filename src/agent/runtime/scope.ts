/** @module Paths of named scopes. */
import { type ExecutionContext, joined } from './execution-context.ts'

/** A repeated name is a different scope: it gets a number, counted when the scope is requested. */
export function scopeBelow(execution: ExecutionContext, name: string): string {
  const path = joined(execution.scope, name)
  const count = execution.session.occurrence(execution.scope, `scope ${name}`)
  return count === 0 ? path : `${path}#${count + 1}`
}
