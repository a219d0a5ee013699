/** @module Which call is this? Settled synchronously, at the moment a tool is called (RUN-1 to RUN-4). */
import type { Json } from '../../../schemas/json.ts'
import type { ClaimCall } from '../../../schemas/requests.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { AgentError } from '../errors.ts'
import type { Place } from '../runtime/place.ts'
import { recordable } from './recordable.ts'
import type { ToolSpec } from './tool-spec.ts'

/** A call as it was asked for. */
export interface Asked {
  readonly spec: ToolSpec
  readonly place: Place
  readonly phase: 'forward' | 'model'
  /** As the record keeps them. */
  readonly args: Json
  readonly argsDigest: string
  readonly occurrence: number
  readonly key: string
  /** As they were given: what the tool gets. */
  readonly given: unknown
}

/** Throws `not-recordable` and `recursive-call`. */
export function askedAt(place: Place, spec: ToolSpec, given: unknown): Asked {
  const args = recordable(given)
  if (!args.ok) {
    throw new AgentError('not-recordable', `the arguments of ${spec.name} cannot be recorded: ${args.reason}`, {
      tool: spec.name,
    })
  }
  const argsDigest = jsonDigest(args.value)
  const ancestor = place.ancestors.find((each) => each.tool === spec.name && each.argsDigest === argsDigest)
  if (ancestor !== undefined) {
    const message = `${spec.name} calls itself with the same arguments: it would wait for itself`
    throw new AgentError('recursive-call', message, { tool: spec.name, callId: ancestor.callId })
  }
  const phase = spec.phase ?? 'forward'
  if (phase === 'model' && place.step !== undefined) place.step.modelCalls += 1
  const occurrence = place.session.occurrence(place.scope, `call ${spec.name}\n${phase}\n${argsDigest}`)
  const identity = { spec, place, phase, args: args.value, occurrence } as const
  return { ...identity, argsDigest, given, key: ownKey(place, spec.key?.(given)) ?? keyOf(identity) }
}

/** The author's key. Branches never share results: in one, it is the branch's own. */
function ownKey({ branch }: Place, key: string | undefined): string | undefined {
  return key === undefined || branch === undefined ? key : jsonDigest({ key, scope: branch.scope })
}

/** By arguments alone (and the fork branch), or by arguments and position. */
function keyOf({
  spec,
  place,
  phase,
  args,
  occurrence,
}: Pick<Asked, 'spec' | 'place' | 'phase' | 'args' | 'occurrence'>): string {
  const call = { tool: spec.name, phase, args }
  if ((spec.dedupe ?? place.dedupe) === 'args') {
    return jsonDigest({ ...call, ...(place.branch !== undefined && { scope: place.branch.scope }) })
  }
  return jsonDigest({ ...call, occurrence, ...(place.scope !== undefined && { scope: place.scope }) })
}

export function claimOf(asked: Asked, reserve?: ClaimCall['reserve']): ClaimCall {
  const { spec, place, phase, args, key, occurrence } = asked
  const parentCall = place.ancestors.at(-1)?.callId
  const agent = spec.agent ?? place.step?.agent
  return {
    tool: spec.name,
    args,
    phase,
    key,
    occurrence,
    runFence: place.session.fence,
    onUnknown: spec.onUnknown,
    compensate: 'tool' in spec.compensate ? { tool: spec.compensate.tool } : spec.compensate.kind,
    ...(spec.compensateUnknown && { compensateUnknown: true }),
    ...(spec.leaseMs !== undefined && { leaseMs: spec.leaseMs }),
    ...(place.scope !== undefined && { scope: place.scope }),
    ...(place.group !== undefined && { group: place.group }),
    ...(parentCall !== undefined && { parentCall }),
    ...(agent !== undefined && { agent }),
    ...(reserve !== undefined && { reserve }),
  }
}
