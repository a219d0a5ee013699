/** @module Calls a tool: identifies the call, and delivers its outcome to the caller. */
import { type ExecutionContext, signalAt } from '../runtime/execution-context.ts'
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
  signalAt(execution)?.throwIfAborted()
  let identity: CallIdentity
  try {
    identity = identifyCall(execution, spec, input)
  } catch (error) {
    // If the code is reading a result in parts, this error may make it stop reading, so the parts are recorded first.
    await session.parts.recorded(execution, spec.name)
    throw error
  }
  return outcomeOf(identity, trace, { isEarly: spec.stream || spec.isEarly === true })
}

/** Makes a call that an earlier life left once more, for its record: no code waits for its outcome. */
export async function makeAgain(identity: CallIdentity): Promise<void> {
  await outcomeOf(identity, { attempts: 0 }, { isEarly: true }).catch(() => undefined)
}

/** `isEarly`: no turn of the delivery order is taken. */
function outcomeOf(identity: CallIdentity, trace: CallTrace, { isEarly }: { isEarly: boolean }): Promise<unknown> {
  const { execution, spec } = identity
  const { session } = execution
  const expected = session.expect(identity)
  const after = session.order.given
  const shared = { name: spec.name, abandoned: execution.branch?.abandoned, isEarly }
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
    const how = { isEarly, isAgain: execution.isAgain, isHad: expected?.isHad }
    const start = () =>
      session.order.inOrder(carried, how).catch((error: unknown) => {
        session.handed(error)
        throw error
      })
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
