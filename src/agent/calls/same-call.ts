/** @module A second equal call in a run's body gets the result of the first (RUN-3). Emits one warning per tool unless the author configured this. */
import type { CallIdentity } from './call-identity.ts'

/** Names of tools for which the warning was emitted by this process. */
const warned = new Set<string>()

/** Call this whenever a call returns its result. */
export function warnOfSameCall(identity: CallIdentity): void {
  const { execution, spec, phase, key } = identity
  const { session } = execution
  const { registry, answered } = session
  const isFirst = !answered.has(key)
  answered.add(key)
  const isChosen = (spec.dedupe ?? spec.key) !== undefined || execution.dedupe !== 'args'
  const isTool = phase === 'forward' && registry.get(spec.name) === spec
  if (isFirst || isChosen || !isTool || session.live === undefined || warned.has(spec.name)) return
  warned.add(spec.name)
  process.emitWarning(
    `${spec.name} was called again with equal arguments in the run ${session.runId}, and given the result of the first call: it ran once. ` +
      `Where each call counts (two payments of one amount, a status that changes), say dedupe: 'position' of the tool; where one is meant, dedupe: 'args'.`,
    { code: 'COUNTERSIGN_SAME_CALL' },
  )
}
