/** @module Length check for the paths of scopes in a run's code. */
import { SCOPE_MAX_CHARS } from '../../../schemas/value-forms.ts'
import { AgentError } from '../errors.ts'

/** The path grows with each nested step, fork and scope. Throws `invalid-option`. */
export function checkPlace(scope: string | undefined): void {
  if (scope === undefined || scope.length <= SCOPE_MAX_CHARS) return
  const message = `the path of a place in a run has at most ${SCOPE_MAX_CHARS} characters, and this one has ${scope.length}: nest less deep, or name scopes, steps and branches shorter`
  throw new AgentError('invalid-option', message, { scope: scope.slice(0, SCOPE_MAX_CHARS) })
}
