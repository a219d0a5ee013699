/** @module Calls a tool: identifies the call, and delivers its outcome to the caller. */
import type { ExecutionContext } from '../runtime/execution-context.ts'
import type { Turn } from '../runtime/outcome-order.ts'
import { type PartStream, receivedBefore, servedParts } from '../streams/part-stream.ts'
import { inCallSpan } from '../tracing/call-span.ts'
import { type CallIdentity, identifyCall } from './call-identity.ts'
import type { CallTrace } from './call-trace.ts'
import { OneCall } from './one-call.ts'
import { warnOfSameCall } from './same-call.ts'
import type { ToolSpec } from './tool-spec.ts'

/** Calls a tool at a place in a run. Identity, divergence and recursion are checked synchronously, before the promise is returned. */
export async function callTool(
  execution: ExecutionContext,
  spec: ToolSpec,
  input: unknown,
  trace: CallTrace = { attempts: 0 },
): Promise<unknown> {
  return execution.session.workAt(execution, () => outcomeAt(execution, spec, input, trace))
}

async function outcomeAt(
  execution: ExecutionContext,
  spec: ToolSpec,
  input: unknown,
  trace: CallTrace,
): Promise<unknown> {
  const { session } = execution
  session.mustBeActive()
  execution.branch?.signal.throwIfAborted()
  let identity: CallIdentity
  try {
    identity = identifyCall(execution, spec, input)
  } catch (error) {
    // If the code is reading a result in parts, this error may make it stop reading, so the parts are recorded first.
    await session.parts.recorded(execution, spec.name)
    throw error
  }
  const isEarly = spec.stream || spec.isEarly === true
  return outcomeOf(identity, trace, { isEarly, abandoned: execution.branch?.abandoned })
}

/** Repeats a call that an earlier process left open, only to record its outcome: no code waits for it. */
export async function makeAgain(identity: CallIdentity): Promise<void> {
  // A failure of it is none of the run's.
  await outcomeOf(identity, { attempts: 0 }, { isEarly: true, abandoned: AbortSignal.abort() }).catch(() => undefined)
}

interface Delivery {
  /** The outcome is delivered without a turn in the delivery order. */
  readonly isEarly: boolean
  /** Aborted when nothing waits for the call any more. */
  readonly abandoned?: AbortSignal | undefined
}

/** The outcome of the call. */
function outcomeOf(identity: CallIdentity, trace: CallTrace, { isEarly, abandoned }: Delivery): Promise<unknown> {
  const { execution, spec } = identity
  const { session } = execution
  const expected = session.expect(identity)
  const after = session.order.given
  const shared = { name: spec.name, abandoned, isEarly }
  return new Promise((resolve, reject) => {
    // A result in parts is returned with its first part; the call is settled when the last one has arrived.
    const open = ({ feed }: PartStream): void => {
      feed.endWith(call)
      session.parts.opened(execution, spec.name, call)
      resolve(feed)
    }
    const carried = (turn: Turn) =>
      session.leaving.during((going) =>
        inCallSpan(identity, trace, (at) => new OneCall(at, { trace, turn, open, expected, after, going }).value()),
      )
    const start = () => session.order.inOrder(carried, { isEarly, isAgain: execution.isAgain, isHad: expected?.isHad })
    // An author-defined key may belong to another active call: the ledger must refuse that one, so it is not joined.
    const same = spec.key === undefined ? '' : ` ${identity.argsDigest} ${spec.name}`
    const call = session.joined(`${identity.phase} ${identity.key}${same}`, shared, start)
    call
      .then((opened) => {
        warnOfSameCall(identity)
        resolve(opened())
      })
      .catch((error: unknown) => {
        const received = spec.stream ? receivedBefore(error).map((part) => spec.codecs.decode(part)) : []
        if (received.length === 0) reject(error)
        else resolve(servedParts(received, { error }))
      })
  })
}
