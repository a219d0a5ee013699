/** @module The identity of a call, computed synchronously when a tool is called (RUN-1 to RUN-4). */
import type { Json } from '../../../schemas/json.ts'
import type { ClaimCall } from '../../../schemas/requests.ts'
import { KEY_MAX_CHARS } from '../../../schemas/value-forms.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { AgentError } from '../errors.ts'
import type { ExecutionContext } from '../runtime/execution-context.ts'
import { notRecordable } from '../too-large.ts'
import { CALL_VALUE, identifying, recordable } from './recordable.ts'
import type { ToolSpec } from './tool-spec.ts'

/** Identifies a call of a run, with its tool and arguments. */
export interface CallIdentity {
  readonly spec: ToolSpec
  /** Recorded tool name: a former name if the record holds the call under it. */
  readonly tool: string
  readonly execution: ExecutionContext
  readonly phase: 'forward' | 'model'
  /** The arguments in recordable form, always complete. */
  readonly args: Json
  /** The arguments as recorded, which may be a shorter form of `args`. */
  readonly recorded: Json
  readonly argsDigest: string
  readonly occurrence: number
  readonly key: string
  /** The arguments as the caller passed them, from which those of the tool are made. */
  readonly input: unknown
}

/** The identity of a call: its recordable arguments, their digest, and its key. Throws `not-recordable` and `recursive-call`. */
export function identifyCall(execution: ExecutionContext, spec: ToolSpec, input: unknown): CallIdentity {
  const args =
    spec.phase === 'model'
      ? recordable(input, undefined, CALL_VALUE)
      : identifying(input, spec.codecs, { ...CALL_VALUE, maxBytes: execution.session.valueMaxBytes })
  if (!args.ok) {
    throw notRecordable(`the arguments of ${spec.name}`, args, {
      tool: spec.name,
      ...(args.path !== undefined && { path: args.path }),
    })
  }
  const argsDigest = jsonDigest(args.value)
  const ancestor = execution.ancestors.find((each) => each.tool === spec.name && each.argsDigest === argsDigest)
  if (ancestor !== undefined) {
    const message = `${spec.name} calls itself with the same arguments: it would wait for itself`
    throw new AgentError('recursive-call', message, { tool: spec.name, callId: ancestor.callId })
  }
  const phase = spec.phase ?? 'forward'
  if (phase === 'model' && execution.step !== undefined) execution.step.modelCalls += 1
  const occurrence = execution.session.occurrence(execution.scope, `call ${spec.name}\n${phase}\n${argsDigest}`)
  const identity = { spec, execution, phase, args: args.value, occurrence } as const
  const own = ownKey(execution, authorsKey(spec, input))
  const keyAs = (tool: string): string => own ?? keyOf({ ...identity, tool })
  const tool = recordedName(identity, keyAs)
  const key = keyAs(tool)
  const known = { ...identity, argsDigest, input, tool, key }
  return { ...known, recorded: recordedArgs(known) }
}

/**
 * A call that is claimed again must have the arguments of its first claim, in full or as they were shortened then: another process may know other requests that
 * they could be shortened by.
 */
function recordedArgs({ spec, execution, phase, args, argsDigest, key }: Omit<CallIdentity, 'recorded'>): Json {
  const { recordedAs } = spec
  if (recordedAs === undefined) return args
  const before = execution.session.history?.claimedAs({ phase, key })
  if (before?.argsDigest === argsDigest) return args
  const isComplete = before !== undefined && jsonDigest(before.args) === before.argsDigest
  return isComplete ? before.args : recordedAs(args)
}

function recordedName(
  { spec, execution, phase }: Pick<CallIdentity, 'spec' | 'execution' | 'phase'>,
  keyAs: (tool: string) => string,
): string {
  if (spec.alias.length === 0) return spec.name
  const { history } = execution.session
  return [spec.name, ...spec.alias].find((tool) => history?.holds({ tool, phase, key: keyAs(tool) })) ?? spec.name
}

/** The key that the tool's `key` option gives for the arguments. Throws `invalid-option`; nothing was claimed yet. */
function authorsKey({ key, name }: ToolSpec, input: unknown): string | undefined {
  if (key === undefined) return undefined
  const given: unknown = key(input)
  if (typeof given === 'string' && given !== '' && given.length <= KEY_MAX_CHARS) return given
  const message = `key of ${name} gives a text of 1 to ${KEY_MAX_CHARS} characters for each call, and gave ${typeof given === 'string' ? `one of ${given.length}` : `no text (${typeof given})`}`
  throw new AgentError('invalid-option', message, { tool: name, option: 'key' })
}

/** The author's key. In a fork branch it includes the scope of the branch, because branches never share results. */
function ownKey({ branch }: ExecutionContext, key: string | undefined): string | undefined {
  return key === undefined || branch === undefined ? key : jsonDigest({ key, scope: branch.scope })
}

/** The key is derived from the arguments (and the fork branch), or from arguments and position. */
function keyOf({
  tool,
  spec,
  execution,
  phase,
  args,
  occurrence,
}: Pick<CallIdentity, 'tool' | 'spec' | 'execution' | 'phase' | 'args' | 'occurrence'>): string {
  const call = { tool, phase, args }
  if ((spec.dedupe ?? execution.dedupe) === 'args') {
    return jsonDigest({ ...call, ...(execution.branch !== undefined && { scope: execution.branch.scope }) })
  }
  return jsonDigest({ ...call, occurrence, ...(execution.scope !== undefined && { scope: execution.scope }) })
}

export function claimOf(identity: CallIdentity, reserve?: ClaimCall['reserve']): ClaimCall {
  const { spec, tool, execution, phase, recorded, key, occurrence } = identity
  const parentCall = execution.ancestors.at(-1)?.callId
  const agent = spec.agent ?? execution.step?.agent
  return {
    tool,
    args: recorded,
    phase,
    key,
    occurrence,
    runFence: execution.session.fence,
    onUnknown: spec.onUnknown,
    compensate: 'tool' in spec.compensate ? { tool: spec.compensate.tool } : spec.compensate.kind,
    ...(spec.compensateUnknown && { compensateUnknown: true }),
    ...(spec.effects === 'none' && { effects: spec.effects }),
    ...(spec.compensateFailed === true && { compensateFailed: true }),
    ...(spec.leaseMs !== undefined && { leaseMs: spec.leaseMs }),
    ...(execution.scope !== undefined && { scope: execution.scope }),
    ...(execution.group !== undefined && { group: execution.group }),
    ...(parentCall !== undefined && { parentCall }),
    ...(agent !== undefined && { agent }),
    ...(reserve !== undefined && { reserve }),
    ...(spec.approve !== undefined && { approve: spec.approve }),
  }
}
